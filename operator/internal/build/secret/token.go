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

// TokenBytes is how many random bytes a token is made of.
const TokenBytes = 32

// Name is the name of the Secret with the token that the APIs of the cluster ask for; "" if they ask for none, or have Kubernetes check it.
func Name(rc *rayv1.RayCluster) string {
	a := rc.Spec.AuthOptions
	if a == nil || a.Mode != rayv1.AuthModeToken || ptr.Deref(a.EnableK8sTokenAuth, false) {
		return ""
	}
	return cmp.Or(ptr.Deref(a.SecretName, ""), names.AuthSecret(rc.Name))
}

// Needed reports whether the cluster needs a Secret of the operator's making: its APIs ask for a token that neither Kubernetes
// nor a Secret of the user provides. Where KubeRay 1.7 makes a Secret for an empty mode as well, which nothing then uses,
// empty is disabled here.
func Needed(rc *rayv1.RayCluster) bool { return Name(rc) != "" && UserProvided(rc) == "" }

// UserProvided is the name of the user-provided Secret with the token, "" if there is none.
func UserProvided(rc *rayv1.RayCluster) string {
	if Name(rc) == "" {
		return ""
	}
	return ptr.Deref(rc.Spec.AuthOptions.SecretName, "")
}

// Token builds the Secret from random bytes, TokenBytes of them. Without any it has no data, for looking it up.
func Token(rc *rayv1.RayCluster, random []byte) *corev1.Secret {
	s := &corev1.Secret{ObjectMeta: child.Meta(rc, names.AuthSecret(rc.Name), map[string]string{rayv1.LabelCluster: rc.Name})}
	if len(random) > 0 {
		s.StringData = map[string]string{rayv1.AuthTokenSecretKey: base64.StdEncoding.EncodeToString(random)}
	}
	return s
}
