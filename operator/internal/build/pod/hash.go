package pod

import (
	"crypto/sha1" //nolint:gosec // no secret is involved; the form of the value is KubeRay's
	"encoding/base32"
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// SpecHash returns a hash of the parts of the spec that determine Pods. Like KubeRay 1.7, it ignores the upgrade strategy,
// tolerations and scheduling gates of templates, and the replicas, bounds and workersToDelete of groups: their changes restart
// nothing. It also ignores fields that do not affect Pods, see forgetOthers. Nil start parameters hash like empty ones, since the
// API server stores either. The spec is not modified.
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
		return "" // not reached for a decoded spec; an empty stored hash means unknown
	}
	sum := sha1.Sum(text) //nolint:gosec // see the import
	return base32.HexEncoding.EncodeToString(sum[:])
}

// forgetOthers removes fields that affect only other objects or the number of Pods. KubeRay recreates all Pods for them, so that
// "suspend: false" or a Service annotation ends all running work. Pods depend only on the name of the head Service.
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
