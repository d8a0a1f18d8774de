package podplan

import (
	"maps"
	"math"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/resources"
	"github.com/raygate/raygate/pkg/devices/claims"
)

// DesiredReplicas returns the wanted number of replicas of the group: replicas within the bounds, or 0 if the group is suspended.
// Unset replicas mean minReplicas; unset bounds mean none. It is never negative.
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

// DesiredPods returns the wanted number of Pods of the group.
func DesiredPods(g *rayv1.WorkerGroupSpec) int64 { return DesiredReplicas(g) * hosts(g) }

// MinPods returns the minimum number of Pods of the group; 0 if it is suspended.
func MinPods(g *rayv1.WorkerGroupSpec) int64 {
	if suspended(g) {
		return 0
	}
	lower, _ := bounds(g)
	return max(int64(lower), 0) * hosts(g)
}

// Counts are numbers of worker Pods over all groups, limited to an int32.
type Counts struct{ Desired, Min, Max int32 }

// CountsOf returns the sums over the groups of the cluster, without suspended ones.
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

// hosts returns the number of Pods per replica. Objects that bypassed the schema's default of 1 have 0 here.
func hosts(g *rayv1.WorkerGroupSpec) int64 { return max(int64(g.NumOfHosts), 1) }

func suspended(g *rayv1.WorkerGroupSpec) bool { return ptr.Deref(g.Suspend, false) }

// newReplicas returns n one-host replicas with the smallest unused indices.
func newReplicas(n int, used map[int]bool) []Replica {
	list := make([]Replica, 0, n)
	for i := 0; len(list) < n; i++ {
		if !used[i] {
			list = append(list, Replica{Index: i})
		}
	}
	return list
}

// indicesOf returns the replica indices of the Pods.
func indicesOf(list []*corev1.Pod) map[int]bool {
	used := map[int]bool{}
	for _, pod := range list {
		if i, ok := number(pod, rayv1.LabelWorkerGroupReplicaIndex); ok {
			used[i] = true
		}
	}
	return used
}

// number returns the value of a label with a non-negative integer; ok is false if it is missing or invalid.
func number(pod *corev1.Pod, label string) (n int, ok bool) {
	n, err := strconv.Atoi(pod.Labels[label])
	return n, err == nil && n >= 0
}

// Totals are the requests of the whole cluster, as in the status. GPU is the sum over all kinds.
type Totals struct{ CPU, Memory, GPU, TPU resource.Quantity }

// TotalsOf returns the sum of the requests in the user's templates, over the head and the desired workers. A limit counts if there
// is no request. Init containers and injected containers do not count. KubeRay 1.7 multiplies by the unlimited replicas; here
// replicas are kept within the bounds, so that the totals match the worker counts.
//
// claimed are the devices of ResourceClaims by group; nil for none. Those of a claim that several Pods share count once.
func TotalsOf(rc *rayv1.RayCluster, claimed map[string]*claims.Devices) Totals {
	sum := resources.OfContainers(rc.Spec.HeadGroupSpec.Template.Spec.Containers)
	for i := range rc.Spec.WorkerGroupSpecs {
		g := &rc.Spec.WorkerGroupSpecs[i]
		if n := DesiredPods(g); n > 0 {
			resources.Add(sum, resources.OfContainers(g.Template.Spec.Containers), n)
		}
	}
	t := Totals{
		CPU:    sum[corev1.ResourceCPU],
		Memory: sum[corev1.ResourceMemory],
		GPU:    resources.GPUs(sum),
		TPU:    sum[resources.TPU],
	}
	if len(claimed) > 0 {
		devices := claimedBy(rc, claimed)
		t.GPU.Add(*resource.NewQuantity(devices[claims.GPU], resource.DecimalSI))
		t.TPU.Add(*resource.NewQuantity(devices[claims.TPU], resource.DecimalSI))
	}
	return t
}

// claimedBy returns the devices of the head and the desired workers.
func claimedBy(rc *rayv1.RayCluster, claimed map[string]*claims.Devices) claims.Amounts {
	sum, shared := claims.Amounts{}, map[string]claims.Amounts{}
	add := func(group string, pods int64) {
		if d := claimed[group]; d != nil && pods > 0 {
			sum.Add(d.Pod, pods)
			maps.Copy(shared, d.Shared)
		}
	}
	add(rayv1.HeadGroupName, 1)
	for i := range rc.Spec.WorkerGroupSpecs {
		g := &rc.Spec.WorkerGroupSpecs[i]
		add(g.GroupName, DesiredPods(g))
	}
	for _, devices := range shared {
		sum.Add(devices, 1)
	}
	return sum
}
