package rayservice

import (
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/api/equality"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/child"
)

// Match is the result of comparing a cluster's spec with the one in the RayService.
type Match string

const (
	// Different means that a new cluster is needed.
	Different Match = "Different"
	// Appended means that only worker groups were appended, which can be added in place.
	Appended Match = "Appended"
	// Same means that there is no relevant difference.
	Same Match = "Same"
)

// Hash returns the hash of a cluster's spec, as KubeRay 1.7 computes it. It ignores fields that can change without a new cluster, see
// child.Significant. The spec is not modified.
func Hash(spec *rayv1.RayClusterSpec) string { return child.Hash(child.Significant(spec)) }

// Compare compares a cluster with the spec in the RayService by the hash that is stored on the cluster.
//
// A hash of another operator version or of KubeRay may not be comparable. Then Compare compares the specs. It attributes
// additional fields of the live spec to admission webhooks, so that a change of the operator replaces no cluster. KubeRay assumes
// equality in that case and loses an edit that was made while the operator was down.
func Compare(wanted *rayv1.RayClusterSpec, rc *rayv1.RayCluster, version string) Match {
	stored, foreign := rc.Annotations[rayv1.AnnotationHashWithoutReplicasAndWorkersToDelete], Foreign(rc, version)
	if equal(wanted, rc, stored, foreign) {
		return Same
	}
	n, err := strconv.Atoi(rc.Annotations[rayv1.AnnotationNumWorkerGroups])
	if err != nil && foreign {
		n, err = len(rc.Spec.WorkerGroupSpecs), nil
	}
	if err != nil || n < 0 || n >= len(wanted.WorkerGroupSpecs) {
		return Different
	}
	first := wanted.DeepCopy()
	first.WorkerGroupSpecs = slices.Clip(first.WorkerGroupSpecs[:n])
	if equal(first, rc, stored, foreign) {
		return Appended
	}
	return Different
}

// Superseded reports whether another cluster has fewer fields than a cluster, and the same ones otherwise. If both match the spec in the
// RayService because their hashes are not comparable, the RayService has been edited since the first was created.
func Superseded(rc, by *rayv1.RayCluster) bool {
	old, next := child.Significant(&rc.Spec), child.Significant(&by.Spec)
	return equality.Semantic.DeepDerivative(next, old) && !equality.Semantic.DeepDerivative(old, next)
}

// Foreign reports whether another operator version may have computed the hash that is stored on a cluster in another way. A hash that
// matches the live spec is treated as an own one.
func Foreign(rc *rayv1.RayCluster, version string) bool {
	stored := rc.Annotations[rayv1.AnnotationHashWithoutReplicasAndWorkersToDelete]
	other := rc.Annotations[rayv1.AnnotationKubeRayVersion] != version
	return stored == "" || other && stored != Hash(&rc.Spec)
}

func equal(wanted *rayv1.RayClusterSpec, rc *rayv1.RayCluster, stored string, foreign bool) bool {
	if stored != "" && Hash(wanted) == stored {
		return true
	}
	if !foreign {
		return false
	}
	w, found := child.Significant(wanted), child.Significant(&rc.Spec)
	return len(w.WorkerGroupSpecs) == len(found.WorkerGroupSpecs) && equality.Semantic.DeepDerivative(w, found)
}
