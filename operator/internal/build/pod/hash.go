package pod

import (
	"crypto/sha1" //nolint:gosec // no secret is involved; the form of the value is KubeRay's
	"encoding/base32"
	"encoding/json"

	rayv1 "github.com/raygate/raygate/operator/api/ray/v1"
)

// SpecHash is a fingerprint of the parts of the spec that make Pods what they are. Left out, as by KubeRay 1.7, are the
// upgrade strategy, the tolerations and scheduling gates of templates, and of groups the replicas, their bounds and the
// workers to delete: changing these restarts nothing. Start parameters that are nil hash like empty ones, since the API
// server stores either. The spec is not changed.
func SpecHash(spec *rayv1.RayClusterSpec) string {
	s := spec.DeepCopy()
	s.UpgradeStrategy = nil
	h := &s.HeadGroupSpec
	h.Template.Spec.Tolerations, h.Template.Spec.SchedulingGates = nil, nil
	if h.RayStartParams == nil {
		h.RayStartParams = map[string]string{}
	}
	for i := range s.WorkerGroupSpecs {
		g := &s.WorkerGroupSpecs[i]
		g.Template.Spec.Tolerations, g.Template.Spec.SchedulingGates = nil, nil
		g.Replicas, g.MinReplicas, g.MaxReplicas = nil, nil, nil
		g.ScaleStrategy.WorkersToDelete = nil
		if g.RayStartParams == nil {
			g.RayStartParams = map[string]string{}
		}
	}
	text, err := json.Marshal(s)
	if err != nil {
		return "" // not reached for what can be decoded; an empty stored hash compares as unknown
	}
	sum := sha1.Sum(text) //nolint:gosec // see the import
	return base32.HexEncoding.EncodeToString(sum[:])
}
