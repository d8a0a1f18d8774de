package podplan

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// pods are the Pods of one cluster, each list sorted by name.
type pods struct {
	all     []*corev1.Pod // those that are not being deleted, heads first
	heads   []*corev1.Pod
	workers map[string]workers // by group
	groups  []string           // keys of workers, sorted

	leavingHeads []*corev1.Pod // heads that are being deleted
}

// workers are those of one group: the ones that are being deleted and the others.
type workers struct{ staying, leaving []*corev1.Pod }

func ownPods(rc *rayv1.RayCluster, observed []*corev1.Pod) pods {
	own := pods{workers: map[string]workers{}}
	sorted := slices.SortedFunc(slices.Values(observed), byName)
	sameName := func(a, b *corev1.Pod) bool { return a.Namespace == b.Namespace && a.Name == b.Name }
	for _, pod := range slices.CompactFunc(sorted, sameName) {
		if rc.Owns(pod) {
			own.add(pod)
		}
	}
	slices.Sort(own.groups)
	own.all = slices.Clone(own.heads)
	for _, group := range own.groups {
		own.all = append(own.all, own.workers[group].staying...)
	}
	return own
}

func (own *pods) add(pod *corev1.Pod) {
	leaving := !pod.DeletionTimestamp.IsZero()
	switch kind := rayv1.RayNodeType(pod.Labels[rayv1.LabelNodeType]); {
	case kind == rayv1.HeadNode && leaving:
		own.leavingHeads = append(own.leavingHeads, pod)
	case kind == rayv1.HeadNode:
		own.heads = append(own.heads, pod)
	case kind == rayv1.WorkerNode:
		group := pod.Labels[rayv1.LabelGroup]
		w, known := own.workers[group]
		if !known {
			own.groups = append(own.groups, group)
		}
		if leaving {
			w.leaving = append(w.leaving, pod)
		} else {
			w.staying = append(w.staying, pod)
		}
		own.workers[group] = w
	} // others, such as the Pod that cleans up Redis, are not part of the running cluster
}

// byName sorts by namespace and name; of equal ones the Pod that is being deleted comes first.
func byName(a, b *corev1.Pod) int {
	return cmp.Or(
		strings.Compare(a.Namespace, b.Namespace),
		strings.Compare(a.Name, b.Name),
		cmp.Compare(staying(a), staying(b)),
	)
}

func staying(pod *corev1.Pod) int {
	if pod.DeletionTimestamp.IsZero() {
		return 1
	}
	return 0
}
