package child

import (
	"crypto/sha1" //nolint:gosec // no secret is involved; the form of the value is KubeRay's
	"encoding/base32"
	"encoding/json"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// Significant returns a copy of the spec without the fields that KubeRay 1.7 leaves out of its hashes: suspend, the upgrade strategy,
// tolerations and scheduling gates of templates, and the replicas, bounds and workersToDelete of groups.
func Significant(spec *rayv1.RayClusterSpec) *rayv1.RayClusterSpec {
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

// Hash returns the hash of all fields of the spec, in KubeRay's form. It is empty, which means unknown, for a spec that cannot be
// encoded; a decoded spec always can.
func Hash(spec *rayv1.RayClusterSpec) string {
	text, err := json.Marshal(spec)
	if err != nil {
		return ""
	}
	sum := sha1.Sum(text) //nolint:gosec // see the import
	return base32.HexEncoding.EncodeToString(sum[:])
}
