package podplan

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// unhealthy reports whether the Pod has ended for good, and how: the whole Pod, or the Ray container where nothing
// restarts it. All other trouble is left to the kubelet, as by KubeRay 1.7.
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

// rayTerminated is how the Ray container, the first of the Pod, ended; nil if it did not. The status lists containers in
// an order of its own.
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

// byWorth sorts the Pod that is missed least first: one without a node, then pending, then not ready, then one that costs
// least to delete by the annotation that ReplicaSets heed, then the youngest, which has done the least work and holds the
// fewest objects. Names break ties, so that the same Pods are chosen again.
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

// Ready reports whether the condition of that name is True.
func Ready(pod *corev1.Pod) bool {
	c := Condition(pod, corev1.PodReady)
	return c != nil && c.Status == corev1.ConditionTrue
}

// Condition returns a condition of the Pod, nil if there is none.
func Condition(pod *corev1.Pod, kind corev1.PodConditionType) *corev1.PodCondition {
	i := slices.IndexFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == kind })
	if i < 0 {
		return nil
	}
	return &pod.Status.Conditions[i]
}

// deletionCost is what the user says, zero where he says nothing that can be read.
func deletionCost(pod *corev1.Pod) int64 {
	cost, err := strconv.ParseInt(pod.Annotations[corev1.PodDeletionCost], 10, 32)
	if err != nil {
		return 0
	}
	return cost
}
