package pod

import (
	"crypto/sha1" //nolint:gosec // no secret is involved; the form of the value is KubeRay's
	"encoding/base32"
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// SpecHash is a fingerprint of the parts of the spec that make Pods what they are. Left out, as by KubeRay 1.7, are the
// upgrade strategy, the tolerations and scheduling gates of templates, and of groups the replicas, their bounds and the
// workers to delete: changing these restarts nothing. Left out here as well is what no Pod is made from, see forgetOthers.
// Start parameters that are nil hash like empty ones, since the API server stores either. The spec is not changed.
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
	forgetOthers(s)
	text, err := json.Marshal(s)
	if err != nil {
		return "" // not reached for what can be decoded; an empty stored hash compares as unknown
	}
	sum := sha1.Sum(text) //nolint:gosec // see the import
	return base32.HexEncoding.EncodeToString(sum[:])
}

// forgetOthers removes what concerns other objects than Pods, or how many there are. KubeRay makes all Pods anew for it, so
// that adding "suspend: false" or an annotation of the Service ends all that runs. Of the head Service Pods know the name.
func forgetOthers(s *rayv1.RayClusterSpec) {
	s.Suspend, s.NetworkPolicy, s.HeadServiceAnnotations = nil, nil, nil
	h := &s.HeadGroupSpec
	h.EnableIngress = nil
	if h.HeadService != nil {
		name := h.HeadService.Name
		if h.HeadService = nil; name != "" {
			h.HeadService = &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name}}
		}
	}
	for i := range s.WorkerGroupSpecs {
		s.WorkerGroupSpecs[i].Suspend = nil
	}
}
