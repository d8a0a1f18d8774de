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
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
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

// testPassthrough checks that Kubernetes decides what each caller may do, and that a caller without rights learns nothing.
func testPassthrough(t *testing.T, env *controlplane.Env) {
	kube, err := kubernetes.NewForConfig(env.Config)
	if err != nil {
		t.Fatal(err)
	}
	p := startProcess(t, env.Config, authn.Passthrough)
	for name, open := range map[string]func(token string) entryPoint{
		"grpc": func(token string) entryPoint { return newGRPCEntry(t, p.grpc, token) },
		"json": func(token string) entryPoint { return restEntry{p.http, token, typeJSON} },
	} {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			editor := open(userToken(t, kube, name+"-editor", "get", "list", "watch", "create", "update", "delete"))
			reader := open(userToken(t, kube, name+"-reader", "get", "list"))
			nobody := open(userToken(t, kube, name+"-nobody"))
			cluster, missing := "pass-"+name, "pass-missing"
			create := func(n string) *raygatev2.CreateClusterRequest {
				return &raygatev2.CreateClusterRequest{Namespace: "default", Cluster: demo(t, n)}
			}
			get := func(n string) *raygatev2.GetClusterRequest {
				return &raygatev2.GetClusterRequest{Namespace: "default", Name: n}
			}

			_, err := editor.create(ctx, create(cluster))
			wantCode(t, "editor creates", err, codes.OK)
			_, err = reader.create(ctx, create("other"))
			wantCode(t, "reader creates", err, codes.PermissionDenied)
			_, err = reader.get(ctx, get(cluster))
			wantCode(t, "reader gets", err, codes.OK)
			_, err = reader.get(ctx, get(missing))
			wantCode(t, "reader gets what is missing", err, codes.NotFound)
			_, err = reader.list(ctx, &raygatev2.ListClustersRequest{Namespace: "default"})
			wantCode(t, "reader lists", err, codes.OK)
			_, err = reader.list(ctx, &raygatev2.ListClustersRequest{})
			wantCode(t, "reader lists all namespaces", err, codes.PermissionDenied)
			err = reader.watch(ctx, &raygatev2.WatchClustersRequest{Namespace: "default"}, func(*raygatev2.WatchClustersResponse) bool { return false })
			wantCode(t, "reader watches", err, codes.PermissionDenied)
			for _, n := range []string{cluster, missing} {
				_, err = nobody.get(ctx, get(n))
				wantCode(t, "nobody gets "+n, err, codes.PermissionDenied)
				wantCode(t, "nobody deletes "+n, nobody.remove(ctx, &raygatev2.DeleteClusterRequest{Namespace: "default", Name: n}), codes.PermissionDenied)
			}
			_, err = open("").get(ctx, get(cluster))
			wantCode(t, "without a token", err, codes.Unauthenticated)
			_, err = open("nonsense").get(ctx, get(cluster))
			wantCode(t, "with a bad token", err, codes.Unauthenticated)
			wantCode(t, "editor deletes", editor.remove(ctx, &raygatev2.DeleteClusterRequest{Namespace: "default", Name: cluster}), codes.OK)
		})
	}
}
