package pod

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/raytest"
	"github.com/raygate/raygate/pkg/devices/claims"
)

func tpuGroup(hosts int32) *rayv1.RayCluster {
	rc := raytest.RayCluster("ns/demo", raytest.Workers("v5e", 1, raytest.Hosts(hosts)))
	rc.Spec.WorkerGroupSpecs[0].Template.Spec.Containers[0].Resources.Limits = corev1.ResourceList{"google.com/tpu": resource.MustParse("4")}
	return rc
}

// tpuVariables are those of the first container about its slice.
func tpuVariables(p *corev1.Pod) map[string]string {
	out := map[string]string{}
	for _, e := range p.Spec.Containers[0].Env {
		if strings.HasPrefix(e.Name, "TPU_") {
			out[e.Name] = e.Value
		}
	}
	return out
}

func TestTPUEnvironment(t *testing.T) {
	on := Options{TPUEnvironment: true}
	host1 := Replica{Index: 3, Name: "v5e-abcde", Host: 1}
	variables := func(id string) map[string]string {
		return map[string]string{"TPU_NAME": "v5e-abcde", "TPU_WORKER_ID": id, "TPU_WORKER_HOSTNAMES": "v5e-abcde-0.demo-headless,v5e-abcde-1.demo-headless"}
	}
	for name, tc := range map[string]struct {
		hosts   int32
		o       Options
		edit    func(*rayv1.RayCluster, *corev1.PodSpec)
		replica Replica
		want    map[string]string
		host    string
	}{
		"the second of two hosts": {hosts: 2, o: on, replica: host1, want: variables("1"), host: "v5e-abcde-1.demo-headless"},
		"one host":                {hosts: 1, o: on, replica: Replica{Index: 3}, want: map[string]string{"TPU_NAME": "v5e-3", "TPU_WORKER_ID": "0", "TPU_WORKER_HOSTNAMES": "localhost"}},
		"off":                     {hosts: 2, replica: host1, want: map[string]string{}},
		"on by annotation": {hosts: 2, replica: host1, want: variables("1"), host: "v5e-abcde-1.demo-headless", edit: func(rc *rayv1.RayCluster, _ *corev1.PodSpec) {
			rc.Annotations = map[string]string{rayv1.AnnotationTPUEnvironment: "true"}
		}},
		"off by annotation": {hosts: 2, o: on, replica: host1, want: map[string]string{}, edit: func(rc *rayv1.RayCluster, _ *corev1.PodSpec) {
			rc.Annotations = map[string]string{rayv1.AnnotationTPUEnvironment: "false"}
		}},
		"no TPUs": {hosts: 2, o: on, replica: host1, want: map[string]string{}, edit: func(_ *rayv1.RayCluster, s *corev1.PodSpec) { s.Containers[0].Resources.Limits = nil }},
		"claimed TPUs": {hosts: 2, o: Options{TPUEnvironment: true, Claims: map[string]*claims.Devices{"v5e": {Ray: claims.Amounts{"TPU": 4}}}}, replica: host1,
			want: variables("1"), host: "v5e-abcde-1.demo-headless", edit: func(_ *rayv1.RayCluster, s *corev1.PodSpec) { s.Containers[0].Resources.Limits = nil }},
		"a variable of the user": {hosts: 2, o: on, replica: host1, host: "v5e-abcde-1.demo-headless",
			want: map[string]string{"TPU_NAME": "mine", "TPU_WORKER_ID": "1", "TPU_WORKER_HOSTNAMES": variables("1")["TPU_WORKER_HOSTNAMES"]},
			edit: func(_ *rayv1.RayCluster, s *corev1.PodSpec) {
				s.Containers[0].Env = append(s.Containers[0].Env, text("TPU_NAME", "mine"))
			}},
		"a subdomain of the user": {hosts: 2, o: on, replica: host1, want: map[string]string{}, host: ".mine", edit: func(_ *rayv1.RayCluster, s *corev1.PodSpec) { s.Subdomain = "mine" }},
	} {
		t.Run(name, func(t *testing.T) {
			rc := tpuGroup(tc.hosts)
			g := &rc.Spec.WorkerGroupSpecs[0]
			if tc.edit != nil {
				tc.edit(rc, &g.Template.Spec)
			}
			model := Worker(rc, g, tc.o)
			p := model.DeepCopy()
			tc.replica.Slice = SliceOf(rc, g, tc.o)
			tc.replica.Label(p)
			if diff := cmp.Diff(tc.want, tpuVariables(p)); diff != "" {
				t.Errorf("variables (-want +got):\n%s", diff)
			}
			if host := strings.TrimSuffix(p.Spec.Hostname+"."+p.Spec.Subdomain, "."); host != tc.host {
				t.Errorf("host %q, want %q", host, tc.host)
			}
			if p.Spec.Affinity != nil {
				t.Errorf("affinity %v without a topology", p.Spec.Affinity)
			}
		})
	}
}

// TestSliceOnGKE: the hosts of a slice are in one pool of nodes, beside the user's terms.
func TestSliceOnGKE(t *testing.T) {
	rc := tpuGroup(2)
	g := &rc.Spec.WorkerGroupSpecs[0]
	g.Template.Spec.NodeSelector = map[string]string{gkeTopology: "2x4"}
	g.Template.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: "zone"}}}}
	o := Options{TPUEnvironment: true}
	model := Worker(rc, g, o)
	p := model.DeepCopy()
	Replica{Name: "v5e-abcde", Host: 1, Slice: SliceOf(rc, g, o)}.Label(p)
	if got := tpuVariables(p)["TPU_TOPOLOGY"]; got != "2x4" {
		t.Errorf("topology %q", got)
	}
	with, without := p.Spec.Affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution, p.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	if len(with) != 2 || with[1].TopologyKey != gkeNodePool || with[1].LabelSelector.MatchExpressions[1].Values[0] != "v5e-abcde" {
		t.Errorf("affinity %+v", with)
	}
	if len(without) != 1 || without[0].LabelSelector.MatchExpressions[1].Operator != "NotIn" {
		t.Errorf("anti-affinity %+v", without)
	}
	if len(model.Spec.Affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution) != 1 {
		t.Error("the model of the Pods was changed")
	}
}

func FuzzHostName(f *testing.F) {
	f.Add("v5e-2x4-abcde")
	f.Add("Big_Group.x-" + strings.Repeat("é", 70) + "-abcde")
	valid := regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`)
	f.Fuzz(func(t *testing.T, name string) {
		if got := hostName(name); got != "" && !valid.MatchString(got) || len(got) > maxHostName {
			t.Errorf("%q becomes %q", name, got)
		}
	})
}
