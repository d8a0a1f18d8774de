package podplan

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// schedulingTime is how long the scheduler may take to look at a Pod. One that takes longer is down or overwhelmed, which delays Pods
// but does not keep them from being created.
const schedulingTime = 2 * time.Second

// Unscheduled counts the Pods that the scheduler of Kubernetes is about to look at for the first time. Pods of other schedulers, which
// may wait for all Pods of a gang, do not count.
func Unscheduled(pods []*corev1.Pod, now time.Time) int {
	n := 0
	for _, p := range pods {
		inOrder := p.Spec.SchedulerName == "" || p.Spec.SchedulerName == corev1.DefaultSchedulerName
		if inOrder && p.Spec.NodeName == "" && p.DeletionTimestamp == nil && now.Sub(p.CreationTimestamp.Time) < schedulingTime && !considered(p) {
			n++
		}
	}
	return n
}

// considered reports whether the scheduler has looked at the Pod, whatever came of it.
func considered(p *corev1.Pod) bool {
	for i := range p.Status.Conditions {
		if p.Status.Conditions[i].Type == corev1.PodScheduled {
			return true
		}
	}
	return false
}
