package podplan

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

const recreateMessage = "it was made from another spec, and the upgrade strategy is Recreate"

// mustGo tells why the worker has to go, whatever the number of replicas; an empty reason means that it may stay. The
// first check that says no counts.
func (in Input) mustGo(g *rayv1.WorkerGroupSpec, pod *corev1.Pod) (Reason, string) {
	if why, bad := unhealthy(pod); bad { // first: a caller slows down for it
		return ReasonUnhealthy, why
	}
	if slices.Contains(g.ScaleStrategy.WorkersToDelete, pod.Name) {
		return ReasonRequested, "the scale strategy names it"
	}
	// Last: the usual sign of a changed spec is the head. Workers that outlived it are left when it was lost together with
	// the change, or when the operator was restarted in the middle.
	if in.stale(pod) {
		return ReasonRecreate, recreateMessage
	}
	return "", ""
}

// staleHead reports whether the cluster has to be made anew because its head was made from another spec. It stays true
// while that head is leaving.
func (in Input) staleHead(own pods) bool {
	return slices.ContainsFunc(own.heads, in.stale) || slices.ContainsFunc(own.leavingHeads, in.stale)
}

// stale reports whether the Pod is known to be made from another spec, which only matters for Recreate. A Pod without a
// hash, as workers of KubeRay are, or with one that another version of the operator computed, is not known to be stale.
func (in Input) stale(pod *corev1.Pod) bool {
	hash := pod.Annotations[rayv1.AnnotationUpgradeStrategyRecreateHash]
	return Recreates(in.Cluster) && !in.foreign(pod) && hash != "" && hash != in.Hash
}

// foreign reports whether another version of the operator wrote the hash of the Pod, for Recreate. Hashes of two versions
// cannot be compared, since what goes into them may differ.
func (in Input) foreign(pod *corev1.Pod) bool {
	version := pod.Annotations[rayv1.AnnotationKubeRayVersion]
	return Recreates(in.Cluster) && version != "" && version != in.Version
}

// Recreates reports whether the upgrade strategy of the cluster is Recreate, so that plans need a hash.
func Recreates(rc *rayv1.RayCluster) bool {
	s := rc.Spec.UpgradeStrategy
	return s != nil && s.Type != nil && *s.Type == rayv1.RayClusterRecreate
}
