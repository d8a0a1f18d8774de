// Package secret builds the Secret with the token for the Ray APIs of a cluster.
package secret

import (
	"cmp"
	"encoding/base64"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/child"
	"github.com/raygate/raygate/operator/internal/build/names"
)

// TokenBytes is the number of random bytes in a token.
const TokenBytes = 32

// Name returns the name of the Secret with the token for the cluster's APIs, or "" if they need none or Kubernetes checks tokens.
func Name(rc *rayv1.RayCluster) string {
	a := rc.Spec.AuthOptions
	if a == nil || a.Mode != rayv1.AuthModeToken || ptr.Deref(a.EnableK8sTokenAuth, false) {
		return ""
	}
	return cmp.Or(ptr.Deref(a.SecretName, ""), names.AuthSecret(rc.Name))
}

// Needed reports whether the operator has to create the Secret: the APIs need a token that neither Kubernetes nor a user-provided
// Secret supplies. KubeRay 1.7 also creates an unused Secret for an empty mode; here an empty mode means disabled.
func Needed(rc *rayv1.RayCluster) bool { return Name(rc) != "" && UserProvided(rc) == "" }

// UserProvided returns the name of the user-provided Secret with the token, or "" if there is none.
func UserProvided(rc *rayv1.RayCluster) string {
	if Name(rc) == "" {
		return ""
	}
	return ptr.Deref(rc.Spec.AuthOptions.SecretName, "")
}

// Token builds the Secret from TokenBytes random bytes. Without random bytes it has no data, for lookups.
func Token(rc *rayv1.RayCluster, random []byte) *corev1.Secret {
	s := &corev1.Secret{ObjectMeta: child.Meta(rc, names.AuthSecret(rc.Name), map[string]string{rayv1.LabelCluster: rc.Name})}
	if len(random) > 0 {
		s.StringData = map[string]string{rayv1.AuthTokenSecretKey: base64.StdEncoding.EncodeToString(random)}
	}
	return s
}
