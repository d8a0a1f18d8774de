package raycluster

import (
	corev1 "k8s.io/api/core/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/podplan"
)

// tally is what counts about the Pods. Pods that are being deleted do not.
type tally struct {
	head    *corev1.Pod // nil if there is none; one that is being deleted if there is no other
	heads   int32
	workers int32 // with running, which are with ready
	running int32
	ready   int32
	all     int32 // of both, including those that are being deleted
	desired podplan.Counts
}

func tallyOf(s *scope) tally {
	t := tally{desired: podplan.CountsOf(s.cluster)}
	for _, p := range s.pods {
		kind := rayv1.RayNodeType(p.Labels[rayv1.LabelNodeType])
		if kind != rayv1.HeadNode && kind != rayv1.WorkerNode {
			continue
		}
		t.all++
		if kind == rayv1.HeadNode && (t.head == nil || p.DeletionTimestamp == nil) {
			t.head = p
		}
		if p.DeletionTimestamp != nil {
			continue
		}
		if kind == rayv1.HeadNode {
			t.heads++
			continue
		}
		t.workers++
		if p.Status.Phase == corev1.PodRunning {
			t.running++
		}
		if podReady(p) {
			t.ready++
		}
	}
	return t
}

// allReady reports whether the cluster is as wanted. Unlike KubeRay 1.7 it compares the count of Pods also for the
// condition, does not take a Pod without a Ready condition for ready, and does not wait for the end of Pods that are leaving.
func (t tally) allReady() bool {
	return t.headReady() && t.heads == 1 && t.workers == t.desired.Desired && t.ready == t.desired.Desired
}

func (t tally) headReady() bool {
	return t.head != nil && t.head.DeletionTimestamp == nil && podReady(t.head)
}

func podReady(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodRunning && podplan.Ready(p) }
