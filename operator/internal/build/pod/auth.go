package pod

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/secret"
)

// EnvAuthToken is the variable that Ray takes its token from.
const EnvAuthToken = "RAY_AUTH_TOKEN"

// AddAuth gives containers of a Pod that is not a node of the cluster, such as the submitter of a RayJob, what they need to
// talk to its Ray. What a container has already, it keeps.
func AddAuth(rc *rayv1.RayCluster, s *corev1.PodSpec, containers ...*corev1.Container) {
	(&node{rc: rc}).addAuth(s, containers...)
}

// addAuth gives the containers, of which some may be nil, what they need to talk to a Ray that demands a token: the token
// from a Secret, or a token of their ServiceAccount that Ray has the Kubernetes API check. What a container has already,
// it keeps.
func (n *node) addAuth(s *corev1.PodSpec, containers ...*corev1.Container) {
	o := n.rc.Spec.AuthOptions
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
			LocalObjectReference: corev1.LocalObjectReference{Name: secret.Name(n.rc)},
			Key:                  rayv1.AuthTokenSecretKey,
		}}})
	}
	if kubernetes {
		// Audience and life time are left to the API server; the kubelet renews the file in time.
		addVolume(s, rayv1.VolumeRayToken, corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
			Sources: []corev1.VolumeProjection{{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token"}}},
		}})
	}
}
