package pod

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

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

// TemplateHashes returns the hashes of what the Pods of each group are made from, by group; that of the head is under rayv1.HeadGroupName. They
// ignore what SpecHash ignores, and settings with which all Pods of a cluster have to agree: authentication, encryption and the store of GCS fault
// tolerance.
//
// Other versions of the operator compute the same hashes: fields that are unset or empty do not count, since types get more of them. A hash is empty, which means unknown, for a template that cannot be encoded; a decoded one always can.
func TemplateHashes(spec *rayv1.RayClusterSpec) map[string]string {
	s := child.Significant(spec)
	h, autoscaler := &s.HeadGroupSpec, s.AutoscalerOptions
	scales := ptr.Deref(s.EnableInTreeAutoscaling, false)
	switch {
	case !scales:
		autoscaler = nil
	case autoscaler != nil: // the autoscaler reads these from the RayCluster while it runs
		autoscaler.IdleTimeoutSeconds, autoscaler.UpscalingMode = nil, nil
	}
	hashes := map[string]string{rayv1.HeadGroupName: steadyHash(h.Template, h.RayStartParams, h.Resources, h.Labels, scales, autoscaler, s.HistoryServerOptions)}
	for i := range s.WorkerGroupSpecs {
		g := &s.WorkerGroupSpecs[i]
		hashes[g.GroupName] = steadyHash(g.Template, g.RayStartParams, g.Resources, g.Labels)
	}
	return hashes
}

// steadyHash returns a hash of the parts without their empty fields.
func steadyHash(parts ...any) string {
	text, err := json.Marshal(parts)
	if err != nil {
		return ""
	}
	var tree any
	if json.Unmarshal(text, &tree) != nil {
		return ""
	}
	if text, err = json.Marshal(withoutEmpty(tree)); err != nil {
		return ""
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// withoutEmpty removes the fields of objects that are null, empty or have only such fields. Lists keep their length.
func withoutEmpty(tree any) any {
	switch v := tree.(type) {
	case map[string]any:
		for key, value := range v {
			if value = withoutEmpty(value); value == nil {
				delete(v, key)
			} else {
				v[key] = value
			}
		}
		if len(v) == 0 {
			return nil
		}
	case []any:
		for i := range v {
			v[i] = withoutEmpty(v[i])
		}
		if len(v) == 0 {
			return nil
		}
	case string:
		if v == "" {
			return nil
		}
	}
	return tree
}
