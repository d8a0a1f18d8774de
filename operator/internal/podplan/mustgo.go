package podplan

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

const recreateMessage = "it was made from another spec, and the upgrade strategy is Recreate"

// mustGo returns why the worker must be deleted regardless of the number of replicas; an empty reason means that it may stay. The
// first failing check decides.
func (in Input) mustGo(g *rayv1.WorkerGroupSpec, pod *corev1.Pod) (Reason, string) {
	if why, bad := unhealthy(pod); bad { // first, because it triggers the back-off
		return ReasonUnhealthy, why
	}
	if slices.Contains(g.ScaleStrategy.WorkersToDelete, pod.Name) {
		return ReasonRequested, "the scale strategy names it"
	}
	// Last: usually the head reveals a changed spec. Stale workers remain if the head was lost together with the change, or if the
	// operator was restarted in between.
	if in.stale(pod) {
		return ReasonRecreate, recreateMessage
	}
	return "", ""
}

// staleHead reports whether the cluster must be recreated because its head was built from another spec. It stays true while that
// head is being deleted.
func (in Input) staleHead(own pods) bool {
	return slices.ContainsFunc(own.heads, in.stale) || slices.ContainsFunc(own.leavingHeads, in.stale)
}

// stale reports whether the Pod was certainly built from another spec, which matters only for Recreate. The result is false for a
// Pod without a hash, such as a KubeRay worker, and for a hash of another operator version.
func (in Input) stale(pod *corev1.Pod) bool {
	hash := pod.Annotations[rayv1.AnnotationUpgradeStrategyRecreateHash]
	return Recreates(in.Cluster) && !in.foreign(pod) && hash != "" && hash != in.Hash
}

// foreign reports whether another operator version wrote the hash of the Pod, for Recreate. Hashes of two versions cannot be
// compared, because their inputs may differ.
func (in Input) foreign(pod *corev1.Pod) bool {
	version := pod.Annotations[rayv1.AnnotationKubeRayVersion]
	return Recreates(in.Cluster) && version != "" && version != in.Version
}

// Recreates reports whether the upgrade strategy of the cluster is Recreate, so that plans need a hash.
func Recreates(rc *rayv1.RayCluster) bool {
	s := rc.Spec.UpgradeStrategy
	return s != nil && s.Type != nil && *s.Type == rayv1.RayClusterRecreate
}
