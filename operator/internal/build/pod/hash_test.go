package pod

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/raytest"
)

func TestSpecHash(t *testing.T) {
	base := func() *rayv1.RayCluster { return raytest.RayCluster("ns/demo", raytest.Workers("cpu", 1)) }
	recreate := rayv1.RayClusterRecreate
	gate := []corev1.PodSchedulingGate{{Name: "g"}}
	same := map[string]func(*rayv1.RayClusterSpec){
		"nothing":  func(*rayv1.RayClusterSpec) {},
		"replicas": func(s *rayv1.RayClusterSpec) { s.WorkerGroupSpecs[0].Replicas = new(int32(7)) },
		"bounds": func(s *rayv1.RayClusterSpec) {
			s.WorkerGroupSpecs[0].MinReplicas, s.WorkerGroupSpecs[0].MaxReplicas = new(int32(1)), nil
		},
		"workersToDelete": func(s *rayv1.RayClusterSpec) { s.WorkerGroupSpecs[0].ScaleStrategy.WorkersToDelete = []string{"a"} },
		"tolerations": func(s *rayv1.RayClusterSpec) {
			s.HeadGroupSpec.Template.Spec.Tolerations = []corev1.Toleration{{Key: "k"}}
		},
		"schedulingGates": func(s *rayv1.RayClusterSpec) { s.WorkerGroupSpecs[0].Template.Spec.SchedulingGates = gate },
		"upgradeStrategy": func(s *rayv1.RayClusterSpec) { s.UpgradeStrategy = &rayv1.RayClusterUpgradeStrategy{Type: &recreate} },
		"empty parameters": func(s *rayv1.RayClusterSpec) {
			s.HeadGroupSpec.RayStartParams, s.WorkerGroupSpecs[0].RayStartParams = map[string]string{}, nil
		},
	}
	// Fields that do not affect Pods.
	others := map[string]func(*rayv1.RayClusterSpec){
		"suspend":        func(s *rayv1.RayClusterSpec) { s.Suspend = new(false) },
		"group suspend":  func(s *rayv1.RayClusterSpec) { s.WorkerGroupSpecs[0].Suspend = new(true) },
		"network policy": func(s *rayv1.RayClusterSpec) { s.NetworkPolicy = &rayv1.NetworkPolicyConfig{} },
		"ingress":        func(s *rayv1.RayClusterSpec) { s.HeadGroupSpec.EnableIngress = new(true) },
		"service annotations": func(s *rayv1.RayClusterSpec) {
			s.HeadServiceAnnotations = map[string]string{"a": "b"}
		},
		"service": func(s *rayv1.RayClusterSpec) {
			s.HeadGroupSpec.HeadService = &corev1.Service{Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort}}
		},
	}
	other := map[string]func(*rayv1.RayClusterSpec){
		"image":      func(s *rayv1.RayClusterSpec) { s.HeadGroupSpec.Template.Spec.Containers[0].Image = "x" },
		"parameters": func(s *rayv1.RayClusterSpec) { s.WorkerGroupSpecs[0].RayStartParams = map[string]string{"a": "b"} },
		"rayVersion": func(s *rayv1.RayClusterSpec) { s.RayVersion = "3" },
		"autoscaler": func(s *rayv1.RayClusterSpec) {
			s.AutoscalerOptions = &rayv1.AutoscalerOptions{IdleTimeoutSeconds: new(int32(1))}
		},
		"name of the service": func(s *rayv1.RayClusterSpec) {
			s.HeadGroupSpec.HeadService = &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "mine"}}
		},
		"hosts": func(s *rayv1.RayClusterSpec) { s.WorkerGroupSpecs[0].NumOfHosts = 2 },
		"new group": func(s *rayv1.RayClusterSpec) {
			s.WorkerGroupSpecs = append(s.WorkerGroupSpecs, rayv1.WorkerGroupSpec{})
		},
	}
	want := SpecHash(&base().Spec)
	if len(want) != 32 {
		t.Errorf("want 32 characters, got %q", want)
	}
	for name, change := range same {
		rc := base()
		change(&rc.Spec)
		if got := SpecHash(&rc.Spec); got != want {
			t.Errorf("%s changed the hash", name)
		}
	}
	build := func(rc *rayv1.RayCluster) []*corev1.Pod {
		return []*corev1.Pod{Head(rc, allOptions), Worker(rc, &rc.Spec.WorkerGroupSpecs[0], allOptions)}
	}
	for name, change := range others {
		rc := base()
		change(&rc.Spec)
		if diff := cmp.Diff(build(base()), build(rc)); diff != "" { // the hash is part of it
			t.Errorf("%s changed Pods (-before +after):\n%s", name, diff)
		}
	}
	for name, change := range other {
		rc := base()
		change(&rc.Spec)
		if got := SpecHash(&rc.Spec); got == want {
			t.Errorf("%s did not change the hash", name)
		}
	}
}

func TestTemplateHashes(t *testing.T) {
	base := func() *rayv1.RayClusterSpec {
		return &raytest.RayCluster("ns/demo", raytest.Workers("cpu", 1), raytest.Workers("gpu", 1)).Spec
	}
	group := func(s *rayv1.RayClusterSpec) *rayv1.WorkerGroupSpec { return &s.WorkerGroupSpecs[0] }
	cases := map[string]struct {
		change func(*rayv1.RayClusterSpec)
		want   []string // groups whose hash changes
	}{
		"replicas":            {change: func(s *rayv1.RayClusterSpec) { group(s).Replicas, group(s).MaxReplicas = new(int32(7)), nil }},
		"tolerations":         {change: func(s *rayv1.RayClusterSpec) { group(s).Template.Spec.Tolerations = []corev1.Toleration{{Key: "k"}} }},
		"token":               {change: func(s *rayv1.RayClusterSpec) { s.AuthOptions = &rayv1.AuthOptions{Mode: rayv1.AuthModeToken} }},
		"Service":             {change: func(s *rayv1.RayClusterSpec) { s.HeadGroupSpec.ServiceType = corev1.ServiceTypeNodePort }},
		"empty fields":        {change: func(s *rayv1.RayClusterSpec) { group(s).RayStartParams, group(s).Labels = nil, map[string]string{} }},
		"unused autoscaler":   {change: func(s *rayv1.RayClusterSpec) { s.AutoscalerOptions = &rayv1.AutoscalerOptions{Image: new("i")} }},
		"autoscaling":         {func(s *rayv1.RayClusterSpec) { s.EnableInTreeAutoscaling = new(true) }, []string{rayv1.HeadGroupName}},
		"image of the head":   {func(s *rayv1.RayClusterSpec) { s.HeadGroupSpec.Template.Spec.Containers[0].Image = "x" }, []string{rayv1.HeadGroupName}},
		"image of a worker":   {func(s *rayv1.RayClusterSpec) { group(s).Template.Spec.Containers[0].Image = "x" }, []string{"cpu"}},
		"start parameters":    {func(s *rayv1.RayClusterSpec) { group(s).RayStartParams = map[string]string{"a": "b"} }, []string{"cpu"}},
		"false, not the same": {func(s *rayv1.RayClusterSpec) { group(s).Template.Spec.AutomountServiceAccountToken = new(false) }, []string{"cpu"}},
	}
	before := TemplateHashes(base())
	for name, tc := range cases {
		s := base()
		tc.change(s)
		var changed []string
		for group, hash := range TemplateHashes(s) {
			if hash == "" || hash != before[group] {
				changed = append(changed, group)
			}
		}
		if diff := cmp.Diff(tc.want, changed); diff != "" {
			t.Errorf("%s: groups with another hash (-want +got):\n%s", name, diff)
		}
	}
	if got := before["cpu"]; got != "da5bcb21a25e6976b4b55a09d29e201b" {
		t.Errorf("another hash replaces the Pods of every user: %s", got)
	}
}
