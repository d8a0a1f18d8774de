package podplan

import (
	"math"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/resources"
)

// DesiredReplicas is the number of replicas that the group shall have: replicas kept between the bounds, zero when the
// group is suspended. Unset replicas mean minReplicas, unset bounds none. It is never negative.
func DesiredReplicas(g *rayv1.WorkerGroupSpec) int64 {
	if suspended(g) {
		return 0
	}
	lower, upper := bounds(g)
	if g.Replicas == nil || *g.Replicas < lower {
		return max(int64(lower), 0)
	}
	return max(int64(min(*g.Replicas, upper)), 0)
}

// DesiredPods is the number of Pods that the group shall have.
func DesiredPods(g *rayv1.WorkerGroupSpec) int64 { return DesiredReplicas(g) * hosts(g) }

// MinPods is the number of Pods below which the group never shrinks, zero when the group is suspended.
func MinPods(g *rayv1.WorkerGroupSpec) int64 {
	if suspended(g) {
		return 0
	}
	lower, _ := bounds(g)
	return max(int64(lower), 0) * hosts(g)
}

// Counts are numbers of worker Pods over all groups. What exceeds an int32 is its largest value.
type Counts struct{ Desired, Min, Max int32 }

// CountsOf sums over the groups of the cluster; suspended groups count as nothing.
func CountsOf(rc *rayv1.RayCluster) Counts {
	var desired, lowest, highest int64
	for i := range rc.Spec.WorkerGroupSpecs {
		g := &rc.Spec.WorkerGroupSpecs[i]
		if suspended(g) {
			continue
		}
		_, upper := bounds(g)
		desired = saturate(desired + saturate(DesiredPods(g)))
		lowest = saturate(lowest + saturate(MinPods(g)))
		highest = saturate(highest + saturate(max(int64(upper), 0)*hosts(g)))
	}
	return Counts{Desired: int32(desired), Min: int32(lowest), Max: int32(highest)}
}

func saturate(n int64) int64 { return min(n, math.MaxInt32) }

func bounds(g *rayv1.WorkerGroupSpec) (lower, upper int32) {
	return ptr.Deref(g.MinReplicas, 0), ptr.Deref(g.MaxReplicas, math.MaxInt32)
}

// hosts is the number of Pods per replica. An object that never saw the schema's default of one has zero here.
func hosts(g *rayv1.WorkerGroupSpec) int64 { return max(int64(g.NumOfHosts), 1) }

func suspended(g *rayv1.WorkerGroupSpec) bool { return ptr.Deref(g.Suspend, false) }

// newReplicas are n replicas of one host, with the smallest indices that are not used.
func newReplicas(n int, used map[int]bool) []Replica {
	list := make([]Replica, 0, n)
	for i := 0; len(list) < n; i++ {
		if !used[i] {
			list = append(list, Replica{Index: i})
		}
	}
	return list
}

// indicesOf are the indices of the replicas that the Pods belong to.
func indicesOf(list []*corev1.Pod) map[int]bool {
	used := map[int]bool{}
	for _, pod := range list {
		if i, ok := number(pod, rayv1.LabelWorkerGroupReplicaIndex); ok {
			used[i] = true
		}
	}
	return used
}

// number is the value of a label that holds a whole number from zero; ok is false where it is missing or something else.
func number(pod *corev1.Pod, label string) (n int, ok bool) {
	n, err := strconv.Atoi(pod.Labels[label])
	return n, err == nil && n >= 0
}

// Totals are the amounts that the whole cluster asks for, as the status reports them. GPU is the sum over all kinds.
type Totals struct{ CPU, Memory, GPU, TPU resource.Quantity }

// TotalsOf sums what the containers of the user's templates ask for, over the head and the desired workers: per resource
// the request, else the limit. Init containers and what the operator injects do not count. KubeRay 1.7 multiplies by
// replicas as written; here the replicas are kept between the bounds, so that the totals agree with the worker counts.
func TotalsOf(rc *rayv1.RayCluster) Totals {
	sum := resources.OfContainers(rc.Spec.HeadGroupSpec.Template.Spec.Containers)
	for i := range rc.Spec.WorkerGroupSpecs {
		g := &rc.Spec.WorkerGroupSpecs[i]
		if n := DesiredPods(g); n > 0 {
			resources.Add(sum, resources.OfContainers(g.Template.Spec.Containers), n)
		}
	}
	return Totals{
		CPU:    sum[corev1.ResourceCPU],
		Memory: sum[corev1.ResourceMemory],
		GPU:    resources.GPUs(sum),
		TPU:    sum[resources.TPU],
	}
}
