package main

import (
	"os"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/raygate/raygate/apiserver/internal/authn"
	"github.com/raygate/raygate/internal/testing/await"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// createSamples creates the objects of samples/profiles.
func createSamples(t *testing.T, c client.Client) {
	t.Helper()
	for _, file := range []string{"profile.yaml", "policy.yaml"} {
		data, err := os.ReadFile("../../../samples/profiles/" + file)
		if err != nil {
			t.Fatal(err)
		}
		for document := range strings.SplitSeq(string(data), "\n---\n") {
			o := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(document), &o.Object); err != nil {
				t.Fatal(err)
			}
			if err := c.Create(t.Context(), o); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
		}
	}
}

// The profile of the samples makes a cluster for those who may get it, by create and by apply, and that cluster alone passes their policy.
func TestProfileSamples(t *testing.T) {
	env, kube, c := controlPlane(t)
	createSamples(t, c)
	p := startProcess(t, env.Config, authn.Passthrough, func(o *Options) { o.ProfileNamespace = "raygate-profiles" })
	user, other := userToken(t, kube, "profile-user", "get", "create", "patch"), userToken(t, kube, "profile-other", "create")
	if _, err := kube.RbacV1().RoleBindings("raygate-profiles").Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "user"}, RoleRef: rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "Role", Name: "use-a100x4"},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: "default", Name: "profile-user"}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	clusters, list := allServed()[0], raygatev2.File_raygate_v2_profile_service_proto.Services().Get(0).Methods().Get(0)
	body := func(name string) object {
		return object{"namespace": "default", "name": name, "cluster": object{"metadata": object{"name": name, "labels": object{"raygate.io/profile": "a100x4"}}}}
	}
	caller, stranger := restCaller{p.http, user}, newGRPCCaller(t, p.grpc, other)
	await.True(t, "the profile is listed", func() bool {
		got, err := caller.call(t.Context(), list, object{"namespace": "default"})
		profiles, _ := got["profiles"].([]any)
		return err == nil && len(profiles) == 1
	})
	_, err := stranger.call(t.Context(), list, object{"namespace": "default"})
	wantCode(t, "list without rights", err, codes.PermissionDenied)
	_, err = stranger.call(t.Context(), clusters.method(t, "Create", ""), object{"namespace": "default", "cluster": body("forbidden")["cluster"]})
	wantCode(t, "create without rights", err, codes.PermissionDenied)
	created := body("profile-created")
	delete(created, "name")
	clusters.must(t, caller, clusters.method(t, "Create", ""), created)
	applied := clusters.must(t, caller, clusters.method(t, "Apply", ""), body("profile-applied"))
	if at(applied, "spec", "rayVersion") != "2.60.0" {
		t.Errorf("apply has not used the profile: %v", applied)
	}
	testProfilePolicy(t, c)
}

func testProfilePolicy(t *testing.T, c client.Client) {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "profiles-required", Labels: map[string]string{"raygate.io/profiles": "required"}}}
	if err := c.Create(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	made := &unstructured.Unstructured{}
	made.SetAPIVersion("ray.io/v1")
	made.SetKind("RayCluster")
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "profile-created"}, made); err != nil {
		t.Fatal(err)
	}
	// create returns what the policy says about the cluster after a change of it.
	create := func(change func(*unstructured.Unstructured)) error {
		o := &unstructured.Unstructured{Object: map[string]any{"spec": made.DeepCopy().Object["spec"]}}
		o.SetGroupVersionKind(made.GroupVersionKind())
		o.SetNamespace(ns.Name)
		o.SetGenerateName("x-")
		o.SetLabels(made.GetLabels())
		change(o)
		return c.Create(t.Context(), o)
	}
	unlabelled := func(o *unstructured.Unstructured) { o.SetLabels(nil) }
	await.True(t, "the policy counts", func() bool { return apierrors.IsInvalid(create(unlabelled)) })
	for text, change := range map[string]func(*unstructured.Unstructured){
		"":         func(*unstructured.Unstructured) {},
		"required": unlabelled,
		"images must come from": func(o *unstructured.Unstructured) {
			image := map[string]any{"name": "ray-head", "image": "mine"}
			_ = unstructured.SetNestedSlice(o.Object, []any{image}, "spec", "headGroupSpec", "template", "spec", "containers")
		},
	} {
		if err := create(change); (err == nil) != (text == "") || err != nil && !strings.Contains(err.Error(), text) {
			t.Errorf("want %q, got %v", text, err)
		}
	}
}
