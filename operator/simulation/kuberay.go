package simulation

import (
	"maps"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

const (
	actorKubeRay = "kuberay"
	kubeRayHash  = "1R0DJNF5HKCSHGGSBBBIHS45SHC9M2QI"
)

// fromKubeRay ends the operator, gives all objects the form in which KubeRay 1.7 leaves them, and has an operator take over that has never
// seen them. It needs an operator that has acted on every spec: KubeRay's hashes are in a format of its own, so that a field that is removed
// between the two operators shows in no object. KubeRay suspends no cluster of its own accord.
func fromKubeRay(w *world) {
	w.op.stop()
	defer func() { w.replaceOperator(w.version) }()
	if w.anySpecUnseen() || w.anyExpired() {
		return
	}
	for _, gk := range w.store.Kinds() {
		for _, o := range w.store.All(gk) {
			w.store.Mutate(actorKubeRay, gk, client.ObjectKeyFromObject(o), leaveAsKubeRay)
		}
	}
}

// anySpecUnseen reports whether the status of an object belongs to another generation than its spec, or whether a RayService is held back
// from its spec or has not got the RayCluster that takes over.
func (w *world) anySpecUnseen() bool {
	for _, gk := range w.store.Kinds() {
		for _, o := range w.store.All(gk) {
			if seen, ok := observedGeneration(o); ok && seen != o.GetGeneration() {
				return true
			}
			if rs, ok := o.(*rayv1.RayService); ok && (meta.IsStatusConditionTrue(rs.Status.Conditions, rayv1.RayServiceUpgradeAborted) ||
				meta.IsStatusConditionTrue(rs.Status.Conditions, rayv1.RayServiceUpgradePaused) || w.awaitsCluster(rs)) {
				return true
			}
		}
	}
	return false
}

// anyExpired reports whether a RayCluster is suspended because it was idle or old.
func (w *world) anyExpired() bool {
	return slices.ContainsFunc(w.store.All(kindCluster), func(o client.Object) bool {
		return meta.IsStatusConditionTrue(o.(*rayv1.RayCluster).Status.Conditions, rayv1.RayClusterExpired)
	})
}

// awaitsCluster reports whether the RayCluster that takes over in a RayService does not exist, as when admission refuses it.
func (w *world) awaitsCluster(rs *rayv1.RayService) bool {
	pending := rs.Status.PendingServiceStatus.RayClusterName
	return pending != "" && w.clusterObject(pending).Name == ""
}

// anyHashOfKubeRay reports whether a RayCluster has a hash that raygate has not rewritten yet.
func (w *world) anyHashOfKubeRay() bool {
	return slices.ContainsFunc(w.store.All(kindCluster), func(o client.Object) bool {
		return o.GetAnnotations()[rayv1.AnnotationHashWithoutReplicasAndWorkersToDelete] == kubeRayHash
	})
}

func observedGeneration(o client.Object) (int64, bool) {
	switch o := o.(type) {
	case *rayv1.RayJob:
		return o.Status.ObservedGeneration, true
	case *rayv1.RayCluster:
		return o.Status.ObservedGeneration, true
	case *rayv1.RayService:
		return o.Status.ObservedGeneration, true
	}
	return 0, false
}

// leaveAsKubeRay removes from an object what KubeRay does not write: labels by which our cache finds it, annotations, and conditions. Hashes
// are in a format that nobody else computes.
func leaveAsKubeRay(o client.Object) {
	annotations := maps.Clone(o.GetAnnotations())
	for _, key := range []string{rayv1.AnnotationHashWithoutReplicasAndWorkersToDelete, rayv1.AnnotationUpgradeStrategyRecreateHash} {
		if annotations[key] != "" {
			annotations[key] = kubeRayHash
		}
	}
	if annotations[rayv1.AnnotationKubeRayVersion] != "" {
		annotations[rayv1.AnnotationKubeRayVersion] = "v1.7.0"
	}
	maps.DeleteFunc(annotations, func(key, _ string) bool {
		return strings.HasPrefix(key, "raygate.io/") && !slices.Contains(upgradeAnnotations, key)
	})
	o.SetAnnotations(annotations)
	switch o := o.(type) {
	case *batchv1.Job:
		delete(o.Labels, rayv1.LabelCluster)
	case *corev1.Service:
		if controlledBy(o, "RayService") != "" {
			delete(o.Labels, rayv1.LabelCluster)
		}
	case *rayv1.RayJob:
		o.Status.Conditions = nil
	case *rayv1.RayCluster:
		keep(&o.Status.Conditions, rayv1.HeadPodReady, rayv1.RayClusterProvisioned, rayv1.RayClusterReplicaFailure, rayv1.RayClusterSuspending, rayv1.RayClusterSuspended)
	case *rayv1.RayService:
		keep(&o.Status.Conditions, rayv1.RayServiceReady, rayv1.RayServiceUpgradeInProgress, rayv1.RayServiceRollbackInProgress,
			rayv1.RayServiceSuspending, rayv1.RayServiceSuspended)
	}
}

// upgradeAnnotations are set by users, so that they stay.
var upgradeAnnotations = []string{rayv1.AnnotationUpgradeStrategy, rayv1.AnnotationMaxUnavailable, rayv1.AnnotationMaxSurge, rayv1.AnnotationUpgradePaused,
	rayv1.AnnotationDisruptionBudget}

func keep(list *[]metav1.Condition, kinds ...string) {
	*list = slices.DeleteFunc(*list, func(c metav1.Condition) bool { return !slices.Contains(kinds, c.Type) })
}
