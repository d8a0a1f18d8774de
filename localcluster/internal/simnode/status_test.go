package simnode

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var now = time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)

// pod is bound and not started; each change is applied in order.
func pod(changes ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "p", UID: "u", Generation: 3},
		Spec: corev1.PodSpec{
			NodeName: "raygate-node-0",
			InitContainers: []corev1.Container{
				{Name: "init", Image: "i"},
				{Name: "sidecar", Image: "s", RestartPolicy: new(corev1.ContainerRestartPolicyAlways)},
			},
			Containers: []corev1.Container{{Name: "a", Image: "x"}, {Name: "b", Image: "y"}},
		},
		Status: corev1.PodStatus{Phase: corev1.PodPending},
	}
	for _, c := range changes {
		c(p)
	}
	return p
}

func isUp(p *corev1.Pod) {
	p.Status.Phase, p.Status.PodIP = corev1.PodRunning, "10.244.0.9"
	p.Status.StartTime = new(metav1.NewTime(now.Add(-time.Minute)))
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
}

func deleted(p *corev1.Pod) { p.DeletionTimestamp = new(metav1.NewTime(now)) }

func annotated(key, value string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { metav1.SetMetaDataAnnotation(&p.ObjectMeta, key, value) }
}

func gated(p *corev1.Pod) {
	p.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: "example.com/gate"}}
}

func gateOpen(p *corev1.Pod) {
	p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: "example.com/gate", Status: corev1.ConditionTrue})
}

func notReady(p *corev1.Pod) { p.Status.Conditions = nil }

func finished(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }

func TestNext(t *testing.T) {
	tests := map[string]struct {
		pod       *corev1.Pod
		wantPhase corev1.PodPhase // empty: nothing to write
		wantReady corev1.ConditionStatus
		unprobed  bool // its probes fail
	}{
		"new Pod starts":                    {pod: pod(), wantPhase: corev1.PodRunning, wantReady: corev1.ConditionTrue},
		"running Pod stays":                 {pod: pod(isUp)},
		"told to stay pending":              {pod: pod(annotated(annotationStayPending, "true"))},
		"other value of stay pending":       {pod: pod(annotated(annotationStayPending, "no")), wantPhase: corev1.PodRunning, wantReady: corev1.ConditionTrue},
		"starts before it ends":             {pod: pod(annotated(annotationExitCode, "0")), wantPhase: corev1.PodRunning, wantReady: corev1.ConditionTrue},
		"ends well":                         {pod: pod(isUp, annotated(annotationExitCode, "0")), wantPhase: corev1.PodSucceeded, wantReady: corev1.ConditionFalse},
		"ends badly":                        {pod: pod(isUp, annotated(annotationExitCode, "7")), wantPhase: corev1.PodFailed, wantReady: corev1.ConditionFalse},
		"exit code that is no number":       {pod: pod(isUp, annotated(annotationExitCode, "soon"))},
		"deleted while running":             {pod: pod(isUp, deleted), wantPhase: corev1.PodSucceeded, wantReady: corev1.ConditionFalse},
		"deleted before it started":         {pod: pod(deleted), wantPhase: corev1.PodSucceeded, wantReady: corev1.ConditionFalse},
		"finished Pod stays":                {pod: pod(finished)},
		"finished and deleted Pod stays":    {pod: pod(finished, deleted)},
		"closed gate":                       {pod: pod(gated), wantPhase: corev1.PodRunning, wantReady: corev1.ConditionFalse},
		"closed gate, already told":         {pod: pod(isUp, notReady, gated)},
		"gate opens":                        {pod: pod(isUp, notReady, gated, gateOpen), wantPhase: corev1.PodRunning, wantReady: corev1.ConditionTrue},
		"gate closes":                       {pod: pod(isUp, gated), wantPhase: corev1.PodRunning, wantReady: corev1.ConditionFalse},
		"starts, probes fail":               {pod: pod(), unprobed: true, wantPhase: corev1.PodRunning, wantReady: corev1.ConditionFalse},
		"probes fail":                       {pod: pod(isUp), unprobed: true, wantPhase: corev1.PodRunning, wantReady: corev1.ConditionFalse},
		"probes still fail":                 {pod: pod(isUp, notReady), unprobed: true},
		"probes succeed":                    {pod: pod(isUp, notReady), wantPhase: corev1.PodRunning, wantReady: corev1.ConditionTrue},
		"running without address, repaired": {pod: pod(isUp, func(p *corev1.Pod) { p.Status.PodIP = "" }), wantPhase: corev1.PodRunning, wantReady: corev1.ConditionTrue},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			before := tc.pod.DeepCopy()
			got := next(tc.pod, "10.244.0.9", "10.245.0.1", !tc.unprobed, now)
			if diff := cmp.Diff(before, tc.pod); diff != "" {
				t.Errorf("the cached Pod was changed (-before +after):\n%s", diff)
			}
			if got == nil {
				if tc.wantPhase != "" {
					t.Fatalf("want phase %s, got nothing to write", tc.wantPhase)
				}
				return
			}
			if got.Phase != tc.wantPhase {
				t.Errorf("want phase %q, got %q", tc.wantPhase, got.Phase)
			}
			var ready corev1.ConditionStatus
			for _, c := range got.Conditions {
				if c.Type == corev1.PodReady {
					ready = c.Status
				}
				if c.ObservedGeneration != 3 {
					t.Errorf("want observed generation 3 in %s, got %d", c.Type, c.ObservedGeneration)
				}
			}
			if ready != tc.wantReady {
				t.Errorf("want Ready %s, got %q", tc.wantReady, ready)
			}
		})
	}
}

func TestRunningContainers(t *testing.T) {
	s := running(pod(), "10.244.0.9", "10.245.0.1", true, now)
	at := metav1.NewTime(now)
	want := []corev1.ContainerStatus{
		{Name: "a", Image: "x", ImageID: "sim://x", ContainerID: "sim://u/a", Ready: true, Started: new(true), State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at}}},
		{Name: "b", Image: "y", ImageID: "sim://y", ContainerID: "sim://u/b", Ready: true, Started: new(true), State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at}}},
	}
	if diff := cmp.Diff(want, s.ContainerStatuses); diff != "" {
		t.Errorf("containers (-want +got):\n%s", diff)
	}
	if done := s.InitContainerStatuses[0].State.Terminated; done == nil || done.ExitCode != 0 || !s.InitContainerStatuses[0].Ready {
		t.Errorf("want the init container completed, got %+v", s.InitContainerStatuses[0])
	}
	if s.InitContainerStatuses[1].State.Running == nil {
		t.Errorf("want the sidecar running, got %+v", s.InitContainerStatuses[1])
	}
	if s.PodIP != "10.244.0.9" || s.HostIP != "10.245.0.1" || len(s.PodIPs) != 1 || s.PodIPs[0].IP != s.PodIP {
		t.Errorf("addresses are wrong: %+v", s)
	}
}

// TestStripKeepsWhatIsUsed: the decision on the stripped Pod is that on the whole.
func TestStripKeepsWhatIsUsed(t *testing.T) {
	for name, p := range map[string]*corev1.Pod{
		"new": pod(), "running": pod(isUp), "gate": pod(isUp, gated, gateOpen),
		"exit": pod(isUp, annotated(annotationExitCode, "2")), "pending": pod(annotated(annotationStayPending, "true")), "deleted": pod(isUp, deleted),
	} {
		p.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "BIG", Value: "x"}}
		stripped, err := strip(p)
		if err != nil {
			t.Fatal(err)
		}
		s := stripped.(*corev1.Pod)
		if s.Spec.Containers[0].Env != nil {
			t.Errorf("%s: the environment was kept", name)
		}
		if diff := cmp.Diff(next(p, "i", "h", true, now), next(s, "i", "h", true, now)); diff != "" {
			t.Errorf("%s (-whole +stripped):\n%s", name, diff)
		}
	}
	if _, err := strip(&corev1.Node{}); err == nil {
		t.Error("want an error for something that is no Pod")
	}
}
