package main

import (
	"testing"

	"google.golang.org/grpc/codes"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/raygate/raygate/apiserver/internal/authn"
	"github.com/raygate/raygate/test/controlplane"
)

// userToken makes a ServiceAccount with the verbs on Ray objects of the namespace default, and returns its token.
func userToken(t *testing.T, kube kubernetes.Interface, name string, verbs ...string) string {
	t.Helper()
	ctx := t.Context()
	if _, err := kube.CoreV1().ServiceAccounts("default").Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if len(verbs) > 0 {
		meta := metav1.ObjectMeta{Name: name}
		rule := rbacv1.PolicyRule{Verbs: verbs, APIGroups: []string{"ray.io"}, Resources: []string{"rayclusters", "rayjobs", "rayservices", "raycronjobs"}}
		if _, err := kube.RbacV1().Roles("default").Create(ctx, &rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{rule}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		if _, err := kube.RbacV1().RoleBindings("default").Create(ctx, &rbacv1.RoleBinding{
			ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "Role", Name: name},
			Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: "default", Name: name}},
		}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		controlplane.AwaitRule(t, kube.AuthorizationV1(), "default", name, rule)
	}
	token, err := kube.CoreV1().ServiceAccounts("default").CreateToken(ctx, name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return token.Status.Token
}

// TestStrangers: a caller without rights learns nothing, not even what there is. What each right allows is shown by testRights.
func TestStrangers(t *testing.T) {
	env := shared.Env(t)
	kube, err := kubernetes.NewForConfig(env.Config)
	if err != nil {
		t.Fatal(err)
	}
	p := startProcess(t, env.Config, authn.Passthrough)
	editor, nobody := userToken(t, kube, "pass-editor", "get", "list", "create", "delete"), userToken(t, kube, "pass-nobody")
	_, err = newGRPCCaller(t, p.grpc, editor).call(t.Context(), allServed()[0].method(t, "List", "s"), object{})
	wantCode(t, "editor lists all namespaces", err, codes.PermissionDenied)
	resp, err := restEntry{p.http, editor, "application/json"}.send(t.Context(), "GET", collection(""), nil)
	if err != nil || resp.Body.Close() != nil || resp.StatusCode != 403 {
		t.Errorf("editor lists all namespaces by REST: %v, %v", resp, err)
	}
	for name, open := range callersOf(t, p) {
		t.Run(name, func(t *testing.T) {
			cluster := "pass-" + name
			wantCode(t, "editor creates", onClusters(t, open(editor), "Create", cluster), codes.OK)
			for _, n := range []string{cluster, "pass-missing"} {
				wantCode(t, "nobody gets "+n, onClusters(t, open(nobody), "Get", n), codes.PermissionDenied)
				wantCode(t, "nobody deletes "+n, onClusters(t, open(nobody), "Delete", n), codes.PermissionDenied)
			}
			wantCode(t, "editor gets what is missing", onClusters(t, open(editor), "Get", "pass-missing"), codes.NotFound)
			wantCode(t, "without a token", onClusters(t, open(""), "Get", cluster), codes.Unauthenticated)
			wantCode(t, "with a bad token", onClusters(t, open("nonsense"), "Get", cluster), codes.Unauthenticated)
			wantCode(t, "editor deletes", onClusters(t, open(editor), "Delete", cluster), codes.OK)
		})
	}
}
