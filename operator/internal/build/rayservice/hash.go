package rayservice

import (
	"crypto/sha1" //nolint:gosec // no secret is involved; the form of the value is KubeRay's
	"encoding/base32"
	"encoding/json"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/api/equality"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// Match says how the spec of a cluster compares with the one that the RayService asks for.
type Match string

const (
	// Different says that another cluster is needed.
	Different Match = "Different"
	// Appended says that the only difference are worker groups at the end, which the cluster can get in place.
	Appended Match = "Appended"
	// Same says that there is no difference that counts.
	Same Match = "Same"
)

// Hash is the fingerprint of the spec of a cluster, as KubeRay 1.7 takes it. What may change without another cluster is left out:
// suspend, the upgrade strategy, tolerations and scheduling gates, and of groups the replicas, their bounds and the workers to delete.
// The spec is not changed.
func Hash(spec *rayv1.RayClusterSpec) string {
	text, err := json.Marshal(significant(spec))
	if err != nil {
		return "" // not reached for what can be decoded
	}
	sum := sha1.Sum(text) //nolint:gosec // see the import
	return base32.HexEncoding.EncodeToString(sum[:])
}

// significant is a copy with what counts.
func significant(spec *rayv1.RayClusterSpec) *rayv1.RayClusterSpec {
	s := spec.DeepCopy()
	s.Suspend, s.UpgradeStrategy = nil, nil
	s.HeadGroupSpec.Template.Spec.Tolerations, s.HeadGroupSpec.Template.Spec.SchedulingGates = nil, nil
	for i := range s.WorkerGroupSpecs {
		g := &s.WorkerGroupSpecs[i]
		g.Replicas, g.MinReplicas, g.MaxReplicas = nil, nil, nil
		g.ScaleStrategy.WorkersToDelete = nil
		g.Template.Spec.Tolerations, g.Template.Spec.SchedulingGates = nil, nil
	}
	return s
}

// Compare compares a cluster with the spec that the RayService asks for, by the hash that is stored with it.
//
// A hash of another version of the operator, or of KubeRay, need not be comparable. Then the specs themselves are: what the live one
// has in addition counts as put there by an admission webhook, so that to swap the operator replaces no cluster. KubeRay takes any
// difference for none then, and loses an edit that was made while the operator was away.
func Compare(wanted *rayv1.RayClusterSpec, rc *rayv1.RayCluster, version string) Match {
	stored := rc.Annotations[rayv1.AnnotationHashWithoutReplicasAndWorkersToDelete]
	other := rc.Annotations[rayv1.AnnotationKubeRayVersion] != version
	foreign := stored == "" || other && stored != Hash(&rc.Spec) // one that is right for the live spec is taken as ours are
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

func equal(wanted *rayv1.RayClusterSpec, rc *rayv1.RayCluster, stored string, foreign bool) bool {
	if stored != "" && Hash(wanted) == stored {
		return true
	}
	if !foreign {
		return false
	}
	w, found := significant(wanted), significant(&rc.Spec)
	return len(w.WorkerGroupSpecs) == len(found.WorkerGroupSpecs) && equality.Semantic.DeepDerivative(w, found)
}
