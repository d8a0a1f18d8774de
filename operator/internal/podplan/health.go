package podplan

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// unhealthy reports whether the Pod has ended for good, and how: the whole Pod, or a Ray container that is not restarted. As in
// KubeRay 1.7, the kubelet handles all other problems.
func unhealthy(pod *corev1.Pod) (why string, bad bool) {
	ended := rayTerminated(pod)
	switch pod.Status.Phase {
	case corev1.PodFailed, corev1.PodSucceeded:
	case corev1.PodRunning:
		if ended == nil || pod.Spec.RestartPolicy != corev1.RestartPolicyNever {
			return "", false
		}
	default:
		return "", false
	}
	why = fmt.Sprintf("its phase is %s with restart policy %s", pod.Status.Phase, cmp.Or(pod.Spec.RestartPolicy, corev1.RestartPolicyAlways))
	if pod.Status.Reason != "" {
		why += fmt.Sprintf(" (%s)", pod.Status.Reason)
	}
	if ended != nil {
		why += fmt.Sprintf("; the Ray container exited with code %d", ended.ExitCode)
		if ended.Reason != "" {
			why += fmt.Sprintf(" (%s)", ended.Reason)
		}
	}
	return why, true
}

// rayTerminated returns the state of the Ray container, the first of the Pod, if it ended; nil otherwise. The status lists
// containers in another order.
func rayTerminated(pod *corev1.Pod) *corev1.ContainerStateTerminated {
	if len(pod.Spec.Containers) == 0 {
		return nil
	}
	for i := range pod.Status.ContainerStatuses {
		if s := &pod.Status.ContainerStatuses[i]; s.Name == pod.Spec.Containers[0].Name {
			return s.State.Terminated
		}
	}
	return nil
}

// byWorth sorts the least valuable Pod first: without a node, then pending, then not ready, then by the deletion cost that
// ReplicaSets use, then the youngest, which has done the least work and holds the fewest objects. Names break ties, so that the
// choice is stable.
func byWorth(a, b *corev1.Pod) int {
	return cmp.Or(
		cmp.Compare(progress(a), progress(b)),
		cmp.Compare(deletionCost(a), deletionCost(b)),
		b.CreationTimestamp.Compare(a.CreationTimestamp.Time),
		strings.Compare(b.Name, a.Name),
	)
}

func progress(pod *corev1.Pod) int {
	switch {
	case pod.Spec.NodeName == "":
		return 0
	case pod.Status.Phase != corev1.PodRunning:
		return 1
	case !Ready(pod):
		return 2
	default:
		return 3
	}
}

// Ready reports whether the condition Ready is True.
func Ready(pod *corev1.Pod) bool {
	c := Condition(pod, corev1.PodReady)
	return c != nil && c.Status == corev1.ConditionTrue
}

// Condition returns a condition of the Pod, or nil if there is none.
func Condition(pod *corev1.Pod, kind corev1.PodConditionType) *corev1.PodCondition {
	i := slices.IndexFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == kind })
	if i < 0 {
		return nil
	}
	return &pod.Status.Conditions[i]
}

// deletionCost returns the value of the annotation; 0 if it is missing or invalid.
func deletionCost(pod *corev1.Pod) int64 {
	cost, err := strconv.ParseInt(pod.Annotations[corev1.PodDeletionCost], 10, 32)
	if err != nil {
		return 0
	}
	return cost
}
