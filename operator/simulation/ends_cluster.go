package simulation

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// clusterEnds are the rules for RayClusters; the first that applies decides.
var clusterEnds = []rule[*rayv1.RayCluster]{
	isDeleted[*rayv1.RayCluster],
	clusterHasFailed,
	clusterHasBudgets,
	clusterIsScheduled,
	clusterIsIdle,
	clusterIsUpgraded,
	clusterIsScaled,
	clusterLacksPods,
	clusterIsNotSuspended,
	clusterIsNotReady,
}

func clusterHasFailed(_ *world, rc *rayv1.RayCluster) (string, bool) {
	return "", rc.Status.State == rayv1.ClusterStateFailed
}

// clusterIsScaled is about a cluster whose autoscaler chooses the Pods to remove.
func clusterIsScaled(w *world, rc *rayv1.RayCluster) (string, bool) {
	pods, _ := w.podsOf(rc)
	return "", pods > wantedPods(rc) && ptr.Deref(rc.Spec.EnableInTreeAutoscaling, false)
}

// clusterLacksPods does not apply to a cluster that ends with its job, whose Pods are of no more interest.
func clusterLacksPods(w *world, rc *rayv1.RayCluster) (string, bool) {
	pods, _ := w.podsOf(rc)
	want := wantedPods(rc)
	return fmt.Sprintf("has %d Pods of %d", pods, want), pods != want && controlledBy(rc, "RayJob") == ""
}

func clusterIsNotSuspended(_ *world, rc *rayv1.RayCluster) (string, bool) {
	return fmt.Sprintf("is %q and not suspended", rc.Status.State), isSuspended(rc) && rc.Status.State != rayv1.ClusterStateSuspended
}

func clusterIsNotReady(w *world, rc *rayv1.RayCluster) (string, bool) {
	_, ready := w.podsOf(rc)
	return fmt.Sprintf("is %q with all Pods ready", rc.Status.State),
		controlledBy(rc, "") == "" && !isSuspended(rc) && ready == wantedPods(rc) && rc.Status.State != rayv1.ClusterStateReady
}

func isSuspended(rc *rayv1.RayCluster) bool { return ptr.Deref(rc.Spec.Suspend, false) }

// podsOf counts the Pods of a cluster, and those that are ready.
func (w *world) podsOf(rc *rayv1.RayCluster) (pods, ready int) {
	for _, o := range w.store.All(kindPod) {
		if p := o.(*corev1.Pod); rc.Owns(p) {
			pods++
			if isReady(p) {
				ready++
			}
		}
	}
	return pods, ready
}

// wantedPods returns how many Pods a cluster is to have.
func wantedPods(rc *rayv1.RayCluster) int {
	if isSuspended(rc) {
		return 0
	}
	want := 1
	for _, g := range rc.Spec.WorkerGroupSpecs {
		if !ptr.Deref(g.Suspend, false) {
			want += int(replicasOf(&g))
		}
	}
	return want
}

func replicasOf(g *rayv1.WorkerGroupSpec) int32 {
	if g.Replicas == nil {
		return 0
	}
	return *g.Replicas * max(1, g.NumOfHosts)
}
