package simnode

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// real is a Pod with a simulated container a and a submitter s.
func real(policy corev1.RestartPolicy, changes ...func(*corev1.Pod)) *corev1.Pod {
	p := pod(func(p *corev1.Pod) {
		p.Spec.RestartPolicy = policy
		p.Spec.InitContainers = nil
		p.Spec.Containers = []corev1.Container{{Name: "a"}, {Name: "s", Args: []string{"ray job submit"}}}
	})
	for _, c := range changes {
		c(p)
	}
	return p
}

func alone(p *corev1.Pod) { p.Spec.Containers = p.Spec.Containers[1:] }

func TestWithProcesses(t *testing.T) {
	run := corev1.ContainerStatus{Name: "s", Ready: true, ContainerID: "x", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(now)}}}
	wait := corev1.ContainerStatus{Name: "s", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "x"}}}
	end := func(code int32) corev1.ContainerStatus {
		return corev1.ContainerStatus{Name: "s", ContainerID: "x", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, FinishedAt: metav1.NewTime(now)}}}
	}
	crash := wait
	crash.LastTerminationState = end(1).State
	tests := map[string]struct {
		pod   *corev1.Pod
		state corev1.ContainerStatus
		phase corev1.PodPhase
		ready corev1.ConditionStatus
	}{
		"not started yet":                     {real("Never", alone), wait, corev1.PodPending, "False"},
		"running":                             {real("Never", alone), run, corev1.PodRunning, "True"},
		"ended well":                          {real("Never", alone), end(0), corev1.PodSucceeded, "False"},
		"ended badly":                         {real("Never", alone), end(2), corev1.PodFailed, "False"},
		"ended badly, to be restarted":        {real("OnFailure", alone), end(2), corev1.PodRunning, "False"},
		"ended well, not to be restarted":     {real("OnFailure", alone), end(0), corev1.PodSucceeded, "False"},
		"ended well, always restarted":        {real("Always", alone), end(0), corev1.PodRunning, "False"},
		"waits for its next start":            {real("OnFailure", alone), crash, corev1.PodRunning, "False"},
		"sidecar ended, the head goes on":     {real("Never"), end(1), corev1.PodRunning, "False"},
		"sidecar not started, head waits too": {real("Never"), wait, corev1.PodPending, "False"},
		"sidecar runs":                        {real("Never"), run, corev1.PodRunning, "True"},
		"closed gate":                         {real("Never", gated), run, corev1.PodRunning, "False"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := withProcesses(tc.pod, "10.244.0.9", "10.245.0.1", map[string]corev1.ContainerStatus{"s": tc.state}, now)
			if got == nil || got.Phase != tc.phase {
				t.Fatalf("want phase %s, got %+v", tc.phase, got)
			}
			for _, c := range got.Conditions {
				if c.Type == corev1.PodReady && c.Status != tc.ready {
					t.Errorf("want Ready %s, got %+v", tc.ready, c)
				}
			}
			// Written once: nothing is left to write.
			tc.pod.Status = *got
			if again := withProcesses(tc.pod, "10.244.0.9", "10.245.0.1", map[string]corev1.ContainerStatus{"s": tc.state}, now.Add(3e9)); again != nil {
				t.Errorf("written again: %+v", again)
			}
		})
	}
}

// TestAnnotationsComeFirst: a Pod with an annotation for its end runs nothing.
func TestAnnotationsComeFirst(t *testing.T) {
	for name, p := range map[string]*corev1.Pod{
		"exit code":    real("Never", annotated(annotationExitCode, "0")),
		"stay pending": real("Never", annotated(annotationStayPending, "true")),
		"no submitter": pod(),
	} {
		if hasReal(p) {
			t.Errorf("%s: it runs", name)
		}
	}
	if !hasReal(real("Never")) {
		t.Error("a submitter does not run")
	}
	stripped, err := strip(real("Never", isUp))
	if err != nil {
		t.Fatal(err)
	}
	if s := stripped.(*corev1.Pod); !hasReal(s) || s.Spec.RestartPolicy != "Never" || s.Status.StartTime == nil {
		t.Errorf("stripped of what is needed: %+v", s)
	}
}
