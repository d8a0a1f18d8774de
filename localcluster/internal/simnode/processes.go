package simnode

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/raygate/raygate/localcluster/internal/podrun"
)

// hasReal reports whether containers of the Pod run as processes. A Pod with annotations for its phases has none.
func hasReal(pod *corev1.Pod) bool {
	if _, ok := exitCode(pod); ok || pod.Annotations[annotationStayPending] == "true" {
		return false
	}
	return slices.ContainsFunc(pod.Spec.Containers, podrun.IsReal)
}

// withProcesses is next for a Pod some of whose containers are real: real has the states of these. It is pure.
func withProcesses(pod *corev1.Pod, ip, hostIP string, real map[string]corev1.ContainerStatus, now time.Time) *corev1.PodStatus {
	s := running(pod, ip, hostIP, true, now)
	if pod.Status.StartTime != nil {
		s.StartTime = pod.Status.StartTime
		for _, list := range [][]corev1.ContainerStatus{s.InitContainerStatuses, s.ContainerStatuses} {
			for i := range list {
				list[i].State = sameSince(list[i].State, *s.StartTime)
			}
		}
	}
	for i, c := range s.ContainerStatuses {
		if st, ok := real[c.Name]; ok {
			s.ContainerStatuses[i] = st
		}
	}
	s.Phase = phase(pod, s.ContainerStatuses)
	if slices.ContainsFunc(s.ContainerStatuses, func(c corev1.ContainerStatus) bool { return !c.Ready }) {
		setNotReady(pod, s, now)
	}
	for i := range s.Conditions {
		for _, old := range pod.Status.Conditions {
			if c := &s.Conditions[i]; old.Type == c.Type && old.Status == c.Status {
				c.LastTransitionTime = old.LastTransitionTime
			}
		}
	}
	if sameStatus(&pod.Status, s) {
		return nil
	}
	return s
}

// setNotReady changes the conditions to those of a Pod whose containers are not all ready.
func setNotReady(pod *corev1.Pod, s *corev1.PodStatus, now time.Time) {
	reason := "ContainersNotReady"
	switch s.Phase {
	case corev1.PodSucceeded:
		reason = "PodCompleted"
	case corev1.PodFailed:
		reason = "PodFailed"
	}
	for i, c := range s.Conditions {
		if c.Type == corev1.ContainersReady || c.Type == corev1.PodReady {
			s.Conditions[i] = condition(pod, c.Type, false, reason, now)
		}
	}
}

// stoppedProcesses is the last status of a Pod that is deleted: its containers have ended, those that are not real at once and well.
func stoppedProcesses(pod *corev1.Pod, real map[string]corev1.ContainerStatus, now time.Time) *corev1.PodStatus {
	s := ended(pod, 0, now)
	for i, c := range s.ContainerStatuses {
		st, ok := real[c.Name]
		if !ok {
			continue
		}
		s.ContainerStatuses[i] = st
		if done := st.State.Terminated; done != nil && done.ExitCode != 0 {
			s.Phase = corev1.PodFailed
		}
	}
	return s
}

// sameSince is the state with the time at which the Pod has started.
func sameSince(s corev1.ContainerState, at metav1.Time) corev1.ContainerState {
	switch {
	case s.Running != nil:
		s.Running.StartedAt = at
	case s.Terminated != nil:
		s.Terminated.StartedAt, s.Terminated.FinishedAt = at, at
	}
	return s
}

// phase follows from the containers as a kubelet sees it.
func phase(pod *corev1.Pod, containers []corev1.ContainerStatus) corev1.PodPhase {
	result := corev1.PodSucceeded
	for _, c := range containers {
		done := c.State.Terminated
		switch {
		case c.State.Waiting != nil && c.LastTerminationState.Terminated == nil:
			return corev1.PodPending // it has never run
		case done == nil, mayRestart(pod, c.Name, done.ExitCode):
			result = corev1.PodRunning
		case done.ExitCode != 0 && result == corev1.PodSucceeded:
			result = corev1.PodFailed
		}
	}
	return result
}

// mayRestart reports whether the container is started again after this exit code.
func mayRestart(pod *corev1.Pod, name string, code int32) bool {
	policy := corev1.ContainerRestartPolicy(pod.Spec.RestartPolicy)
	for _, c := range pod.Spec.Containers {
		if c.Name == name && c.RestartPolicy != nil {
			policy = *c.RestartPolicy
		}
	}
	return policy == corev1.ContainerRestartPolicyAlways || policy == corev1.ContainerRestartPolicyOnFailure && code != 0
}

// sameStatus compares what withProcesses decides.
func sameStatus(have, want *corev1.PodStatus) bool {
	if have.Phase != want.Phase || have.PodIP != want.PodIP || !equality.Semantic.DeepEqual(trim(have.ContainerStatuses), trim(want.ContainerStatuses)) {
		return false
	}
	return !slices.ContainsFunc(want.Conditions, func(w corev1.PodCondition) bool {
		return !slices.ContainsFunc(have.Conditions, func(h corev1.PodCondition) bool {
			return h.Type == w.Type && h.Status == w.Status && h.Reason == w.Reason
		})
	})
}

// trim leaves out what the API server adds, and what it keeps less exactly: times have whole seconds there.
func trim(in []corev1.ContainerStatus) []corev1.ContainerStatus {
	out := make([]corev1.ContainerStatus, 0, len(in))
	for i := range in {
		c := in[i].DeepCopy()
		for _, s := range []*corev1.ContainerState{&c.State, &c.LastTerminationState} {
			switch {
			case s.Running != nil:
				s.Running.StartedAt = metav1.NewTime(s.Running.StartedAt.Truncate(time.Second))
			case s.Terminated != nil:
				s.Terminated.StartedAt = metav1.NewTime(s.Terminated.StartedAt.Truncate(time.Second))
				s.Terminated.FinishedAt = metav1.NewTime(s.Terminated.FinishedAt.Truncate(time.Second))
			}
		}
		out = append(out, corev1.ContainerStatus{
			Name: c.Name, Ready: c.Ready, RestartCount: c.RestartCount, ContainerID: c.ContainerID, State: c.State, LastTerminationState: c.LastTerminationState,
		})
	}
	return out
}
