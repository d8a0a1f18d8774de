package podplan

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// pods are the Pods of one cluster, each list sorted by name.
type pods struct {
	all     []*corev1.Pod // Pods that are not being deleted, heads first
	heads   []*corev1.Pod
	workers map[string]workers // by group

	leavingHeads []*corev1.Pod // heads that are being deleted
	draining     []*corev1.Pod // workers that Ray drains before their deletion
}

// workers are the Pods of one group, split by whether they are being deleted, or are about to be.
type workers struct{ staying, leaving []*corev1.Pod }

func ownPods(rc *rayv1.RayCluster, observed []*corev1.Pod) pods {
	own := pods{workers: map[string]workers{}}
	mine := slices.DeleteFunc(slices.Clone(observed), func(pod *corev1.Pod) bool { return !rc.Owns(pod) })
	slices.SortFunc(mine, byName)
	for _, pod := range slices.CompactFunc(mine, func(a, b *corev1.Pod) bool { return a.Name == b.Name }) {
		own.add(pod)
	}
	own.all = slices.Clone(own.heads)
	for _, group := range own.groups() {
		own.all = append(own.all, own.workers[group].staying...)
	}
	return own
}

// groups returns the names of the groups that have Pods, sorted.
func (own *pods) groups() []string { return slices.Sorted(maps.Keys(own.workers)) }

func (own *pods) add(pod *corev1.Pod) {
	leaving := !pod.DeletionTimestamp.IsZero()
	switch kind := rayv1.RayNodeType(pod.Labels[rayv1.LabelNodeType]); {
	case kind == rayv1.HeadNode && leaving:
		own.leavingHeads = append(own.leavingHeads, pod)
	case kind == rayv1.HeadNode:
		own.heads = append(own.heads, pod)
	case kind == rayv1.WorkerNode:
		group := pod.Labels[rayv1.LabelGroup]
		w := own.workers[group]
		if _, draining := pod.Annotations[rayv1.AnnotationDrainingSince]; draining && !leaving {
			own.draining, leaving = append(own.draining, pod), true
		}
		if leaving {
			w.leaving = append(w.leaving, pod)
		} else {
			w.staying = append(w.staying, pod)
		}
		own.workers[group] = w
	} // other Pods, such as the Redis cleanup, are not part of the running cluster
}

// byName sorts by name; among Pods of one name, the one that is being deleted comes first.
func byName(a, b *corev1.Pod) int {
	return cmp.Or(strings.Compare(a.Name, b.Name), cmp.Compare(staying(a), staying(b)))
}

func staying(pod *corev1.Pod) int {
	if pod.DeletionTimestamp.IsZero() {
		return 1
	}
	return 0
}
