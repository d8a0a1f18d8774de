package pod

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/child"
)

// SpecHash returns a hash of the parts of the spec that determine Pods. Like KubeRay 1.7, it ignores the fields that
// child.Significant leaves out: their changes restart nothing. It also ignores fields that do not affect Pods, see forgetOthers. Nil
// start parameters hash like empty ones, since the API server stores either. The spec is not modified.
func SpecHash(spec *rayv1.RayClusterSpec) string {
	s := child.Significant(spec)
	params := []*map[string]string{&s.HeadGroupSpec.RayStartParams}
	for i := range s.WorkerGroupSpecs {
		params = append(params, &s.WorkerGroupSpecs[i].RayStartParams)
	}
	for _, p := range params {
		if *p == nil {
			*p = map[string]string{}
		}
	}
	forgetOthers(s)
	return child.Hash(s)
}

// forgetOthers removes fields that affect only other objects or the number of Pods. KubeRay recreates all Pods for them, so that
// "suspend: false" or a Service annotation ends all running work. Pods depend only on the name of the head Service.
func forgetOthers(s *rayv1.RayClusterSpec) {
	s.NetworkPolicy, s.HeadServiceAnnotations = nil, nil
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
