package service

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/golden"
	"github.com/raygate/raygate/internal/testing/raytest"
)

// TestGolden builds all Services of every input.
func TestGolden(t *testing.T) {
	golden.Run(t, func(rc *rayv1.RayCluster) []*corev1.Service {
		return []*corev1.Service{Head(rc, Options{}), Serve(rc), Headless(rc)}
	})
}

func TestHeadIsHeadless(t *testing.T) {
	serviceType := func(st corev1.ServiceType) raytest.ClusterOption {
		return raytest.Head(func(h *rayv1.HeadGroupSpec) { h.ServiceType = st })
	}
	own := raytest.Head(func(h *rayv1.HeadGroupSpec) { h.HeadService = &corev1.Service{} })
	cases := map[string]struct {
		option raytest.ClusterOption
		o      Options
		want   bool
	}{
		"by default":                         {serviceType(""), Options{}, true},
		"of type ClusterIP":                  {serviceType(corev1.ServiceTypeClusterIP), Options{}, true},
		"not of type NodePort":               {serviceType(corev1.ServiceTypeNodePort), Options{}, false},
		"not when the operator says so":      {serviceType(""), Options{HeadClusterIP: true}, false},
		"not when the user wrote a template": {own, Options{}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			spec := Head(raytest.RayCluster("ns/demo", tc.option), tc.o).Spec
			if got := spec.ClusterIP == corev1.ClusterIPNone; got != tc.want || spec.PublishNotReadyAddresses != tc.want {
				t.Errorf("headless: want %t, got clusterIP %q, publishNotReadyAddresses %t", tc.want, spec.ClusterIP, spec.PublishNotReadyAddresses)
			}
		})
	}
}

func TestSelectorFollowsThePod(t *testing.T) {
	rc := raytest.RayCluster("ns/demo", raytest.Head(func(h *rayv1.HeadGroupSpec) {
		h.Template.Labels = map[string]string{rayv1.LabelCreatedBy: "me", rayv1.LabelCluster: "ignored"}
		h.Labels = map[string]string{rayv1.LabelIdentifier: "other"}
	}))
	svc := Head(rc, Options{})
	want := map[string]string{
		rayv1.LabelCluster: "demo", rayv1.LabelNodeType: "head", rayv1.LabelIdentifier: "other",
		rayv1.LabelAppName: rayv1.AppName, rayv1.LabelCreatedBy: "me",
	}
	if diff := cmp.Diff(want, svc.Spec.Selector); diff != "" {
		t.Errorf("selector (-want +got):\n%s", diff)
	}
	if got := svc.Labels[rayv1.LabelIdentifier]; got != "demo-head" {
		t.Errorf("the operator finds its Service by the identifier demo-head, got %s", got)
	}
}

func TestServe(t *testing.T) {
	rc := raytest.RayCluster("ns/demo", raytest.Annotations(map[string]string{rayv1.AnnotationEnableServeService: "true"}),
		raytest.HeadContainer(func(c *corev1.Container) {
			c.Ports = []corev1.ContainerPort{{Name: "serve-b", ContainerPort: 2}, {Name: "serve", ContainerPort: 1}, {Name: "server", ContainerPort: 3}}
		}))
	want := []corev1.ServicePort{{Name: "serve", Port: 1}, {Name: "serve-b", Port: 2}}
	if diff := cmp.Diff(want, Serve(rc).Spec.Ports); diff != "" {
		t.Errorf("ports (-want +got):\n%s", diff)
	}
	shouting := raytest.RayCluster("ns/demo", raytest.Annotations(map[string]string{rayv1.AnnotationEnableServeService: "True"}))
	if !NeedsServe(rc) || NeedsServe(raytest.RayCluster("ns/demo")) || NeedsServe(shouting) {
		t.Error("want the Service where the annotation is exactly true")
	}
}

func TestHeadless(t *testing.T) {
	if NeedsHeadless(raytest.RayCluster("ns/demo", raytest.Workers("a", 1))) {
		t.Error("one host per replica needs no headless Service")
	}
	rc := raytest.RayCluster("ns/demo", raytest.Workers("a", 1), raytest.Workers("b", 1, raytest.Hosts(2)))
	if !NeedsHeadless(rc) {
		t.Error("hosts of one replica find each other through the headless Service")
	}
}

func TestDashboardPort(t *testing.T) {
	for name, tc := range map[string]struct {
		ports []corev1.ContainerPort
		want  int32
	}{
		"no ports at all":   {nil, 8265},
		"other ports":       {[]corev1.ContainerPort{{Name: "serve", ContainerPort: 1}}, 8265},
		"a port of its own": {[]corev1.ContainerPort{{Name: "serve", ContainerPort: 1}, {Name: "dashboard", ContainerPort: 2}}, 2},
	} {
		rc := raytest.RayCluster("ns/demo", raytest.HeadContainer(func(c *corev1.Container) { c.Ports = tc.ports }))
		if got := DashboardPort(rc); got != tc.want {
			t.Errorf("%s: want %d, got %d", name, tc.want, got)
		}
	}
}

// FuzzBuild builds from whatever can be decoded: no panic, the same twice, and the input left as it was.
func FuzzBuild(f *testing.F) {
	inputs, _ := filepath.Glob("testdata/*.in.yaml")
	for _, input := range inputs {
		text, err := os.ReadFile(input)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte(`{}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		rc := &rayv1.RayCluster{}
		if yaml.Unmarshal(text, rc) != nil {
			return
		}
		before := rc.DeepCopy()
		if diff := cmp.Diff(Head(rc, Options{}), Head(rc, Options{})); diff != "" {
			t.Errorf("two head Services differ:\n%s", diff)
		}
		Serve(rc)
		Headless(rc)
		if diff := cmp.Diff(before, rc); diff != "" {
			t.Errorf("building changed the cluster (-want +got):\n%s", diff)
		}
	})
}
