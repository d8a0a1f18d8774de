package raycluster

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/raytest"
	"github.com/raygate/raygate/operator/internal/build/pod"
)

func TestWhichUpdatesOfPodsMatter(t *testing.T) {
	rc := raytest.RayCluster("ns/demo")
	worker := func() *corev1.Pod {
		p := raytest.WorkerPod(rc, "cpu", "w")
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "ray", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
		return p
	}
	head := func() *corev1.Pod { return raytest.HeadPod(rc, "h") }
	cases := map[string]struct {
		pod    func() *corev1.Pod
		change func(*corev1.Pod)
		want   bool
	}{
		"nothing":      {worker, func(*corev1.Pod) {}, false},
		"a heartbeat":  {worker, func(p *corev1.Pod) { p.ResourceVersion, p.Status.Conditions[1].LastProbeTime = "9", raytest.Epoch }, false},
		"a node":       {worker, func(p *corev1.Pod) { p.Spec.NodeName = "other" }, false},
		"an address":   {worker, func(p *corev1.Pod) { p.Status.PodIP = "10.0.0.9" }, false},
		"one of heads": {head, func(p *corev1.Pod) { p.Status.PodIP = "10.0.0.9" }, true},
		"an image that is being pulled": {worker, func(p *corev1.Pod) {
			p.Status.ContainerStatuses[0].State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}}
		}, false},
		"an image that cannot be pulled": {worker, func(p *corev1.Pod) {
			p.Status.ContainerStatuses[0].State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull"}}
		}, true},
		"a phase":         {worker, raytest.Phase(corev1.PodFailed), true},
		"readiness":       {worker, raytest.NotReady(), true},
		"a deletion":      {worker, raytest.Terminating(), true},
		"an end of Ray":   {worker, raytest.RayExited(1), true},
		"a label":         {worker, raytest.PodLabel(rayv1.LabelCluster, "other"), true},
		"the owner":       {worker, raytest.Orphaned(), true},
		"another Pod":     {worker, func(p *corev1.Pod) { p.UID = "another" }, true},
		"an annotation":   {worker, raytest.PodAnnotation("a", "b"), false},
		"no node is free": {worker, raytest.Unscheduled(), true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			after := tc.pod()
			tc.change(after)
			if got := matters(event.UpdateEvent{ObjectOld: tc.pod(), ObjectNew: after}); got != tc.want {
				t.Errorf("matters: want %t, got %t", tc.want, got)
			}
		})
	}
}

func TestTrimPod(t *testing.T) {
	p := raytest.WorkerPod(raytest.RayCluster("ns/demo"), "cpu", "w", raytest.RayExited(1))
	want := p.DeepCopy()
	want.Spec.Containers[0].Env = []corev1.EnvVar{{Name: pod.EnvAuthToken, Value: "kept"}}

	p.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubelet"}}
	p.Spec.Volumes, p.Spec.InitContainers = []corev1.Volume{{Name: "v"}}, []corev1.Container{{Name: "i"}}
	p.Spec.Affinity, p.Spec.Tolerations = &corev1.Affinity{}, []corev1.Toleration{{}}
	c := &p.Spec.Containers[0]
	c.Args, c.Env = []string{"ray start"}, []corev1.EnvVar{{Name: "A"}, {Name: pod.EnvAuthToken, Value: "kept"}, {Name: "B"}}
	got, err := trimPod(p)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Pod in the cache (-want +got):\n%s", diff)
	}
	if other, err := trimPod("not a Pod"); other != "not a Pod" || err != nil {
		t.Errorf("%v, %v", other, err)
	}
}
