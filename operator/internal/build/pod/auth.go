package pod

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/secret"
)

// EnvAuthToken is the variable from which Ray reads its token.
const EnvAuthToken = "RAY_AUTH_TOKEN"

// AddAuth adds the token for the cluster's Ray APIs to the containers, of which some may be nil, of a Ray node or another Pod, such as
// the submitter of a RayJob. The token comes from a Secret, or from the
// ServiceAccount if Ray lets the Kubernetes API check tokens. It does not overwrite existing values.
func AddAuth(rc *rayv1.RayCluster, s *corev1.PodSpec, containers ...*corev1.Container) {
	o := rc.Spec.AuthOptions
	if o == nil || o.Mode != rayv1.AuthModeToken {
		return
	}
	kubernetes := ptr.Deref(o.EnableK8sTokenAuth, false)
	for _, c := range containers {
		if c == nil {
			continue
		}
		env := environment{&c.Env}
		env.setDefault(text("RAY_AUTH_MODE", string(rayv1.AuthModeToken)))
		if kubernetes {
			env.setDefault(text("RAY_ENABLE_K8S_TOKEN_AUTH", "true"))
			addMount(c, corev1.VolumeMount{Name: rayv1.VolumeRayToken, MountPath: rayv1.VolumeRayTokenPath, ReadOnly: true})
			continue
		}
		env.setDefault(corev1.EnvVar{Name: EnvAuthToken, ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: secret.Name(rc)},
			Key:                  rayv1.AuthTokenSecretKey,
		}}})
	}
	if kubernetes {
		// The API server chooses audience and lifetime; the kubelet renews the file in time.
		addVolume(s, rayv1.VolumeRayToken, corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
			Sources: []corev1.VolumeProjection{{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token"}}},
		}})
	}
}
