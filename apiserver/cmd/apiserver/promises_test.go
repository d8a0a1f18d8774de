package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/reflect/protoreflect"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/raygate/raygate/apiserver/internal/authn"
	"github.com/raygate/raygate/internal/testing/await"
	"github.com/raygate/raygate/test/controlplane"
)

var loops = flag.Int("loops", 100, "how many objects are created, changed and deleted to find a stale read")

// testNeverStale reads after each write, through the other transport every second time, and by list and get.
func testNeverStale(t *testing.T, callers map[string]caller) {
	s := allServed()[0]
	for i := range *loops {
		write, read := callers["rest"], callers["grpc"]
		if i%2 == 1 {
			write, read = read, write
		}
		name := fmt.Sprintf("loop-%d", i)
		one := object{"namespace": "default", "name": name}
		version := func(o object) any { return at(o, "metadata", "resourceVersion") }
		seen := func(what string, want any) {
			t.Helper()
			if got := version(s.must(t, read, s.method(t, "Get", ""), one)); got != want {
				t.Fatalf("get after %s has version %v, want %v", what, got, want)
			}
			list := s.must(t, read, s.method(t, "List", "s"), object{"namespace": "default", "filter": "name = " + name})
			if got := at(list, "items", "0", "metadata", "resourceVersion"); got != want {
				t.Fatalf("list after %s has version %v, want %v", what, got, want)
			}
		}
		seen("create", version(s.must(t, write, s.method(t, "Create", ""), object{"namespace": "default", s.body: s.example(t, name)})))
		seen("update", version(s.must(t, write, s.method(t, "Suspend", ""), one)))
		s.must(t, write, s.method(t, "Delete", ""), one)
		_, err := read.call(t.Context(), s.method(t, "Get", ""), one)
		wantCode(t, "get after delete", err, codes.NotFound)
		if list := s.must(t, read, s.method(t, "List", "s"), object{"namespace": "default", "filter": "name = " + name}); at(list, "items", "0") != nil {
			t.Fatal("list after delete shows it")
		}
	}
}

// testUnknownFields gives the API server a schema that is newer than the gateway.
func testUnknownFields(t *testing.T, env *controlplane.Env, callers map[string]caller) {
	client, err := dynamic.NewForConfig(env.Config)
	if err != nil {
		t.Fatal(err)
	}
	crds := client.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	newer := object{"type": "object", "x-kubernetes-preserve-unknown-fields": true}
	for _, s := range allServed() {
		patch := []object{{"op": "add", "path": "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/newer", "value": newer}}
		if path := strings.Split(s.Groups, "."); s.Groups != "" {
			group := "/spec/versions/0/schema/openAPIV3Schema/properties/" + strings.Join(path, "/properties/") + "/items/properties/newer"
			patch = append(patch, object{"op": "add", "path": group, "value": newer})
		}
		data, err := json.Marshal(patch)
		if err != nil {
			t.Fatal(err)
		}
		_, err = crds.Patch(t.Context(), s.Resource+".ray.io", types.JSONPatchType, data, metav1.PatchOptions{})
		for apierrors.IsTimeout(err) { // a busy machine compiles the rules for longer than a request may take
			_, err = crds.Patch(t.Context(), s.Resource+".ray.io", types.JSONPatchType, data, metav1.PatchOptions{})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	value := object{"enabled": false, "level": 3.0, "list": []any{"a"}}
	for _, s := range allServed() {
		k := s.kubernetes(t, env)
		for transport, c := range callers {
			t.Run(s.Checks.Kind+"/"+transport, func(t *testing.T) {
				name := "newer-" + transport
				body := s.example(t, name)
				body["spec"].(object)["newer"] = value
				var group []string
				if s.Groups != "" {
					group = append(strings.Split(s.Groups, "."), "0")
					at(body, group...).(object)["newer"] = value
				}
				var created *unstructured.Unstructured
				await.NoError(t, "the schema to be in use", func() error {
					created, err = k.Create(t.Context(), asUnstructured(body), metav1.CreateOptions{FieldValidation: "Strict"})
					return err
				})
				survives := func(what string) {
					t.Helper()
					now, err := k.Get(t.Context(), name, metav1.GetOptions{})
					if err != nil {
						t.Fatal(err)
					}
					data, _ := json.Marshal(now.Object)
					stored := parseObject(data)
					if diff := cmp.Diff(value, at(stored, "spec", "newer")); diff != "" {
						t.Fatalf("after %s (-want +got):\n%s", what, diff)
					}
					if group != nil {
						if diff := cmp.Diff(value, at(at(stored, group...), "newer")); diff != "" {
							t.Fatalf("after %s, in the group (-want +got):\n%s", what, diff)
						}
					}
				}
				one := func(more object) object {
					req := object{"namespace": "default", "name": name}
					maps.Copy(req, more)
					return req
				}
				var got object
				await.True(t, "the gateway to see the object", func() bool {
					got, _ = c.call(t.Context(), s.method(t, "Get", ""), one(nil))
					if inner, ok := got[lowerFirst(s.body)].(object); ok {
						got = inner
					}
					return at(got, "metadata", "uid") == string(created.GetUID())
				})
				if transport == "rest" {
					if diff := cmp.Diff(value, at(got, "spec", "newer")); diff != "" {
						t.Errorf("get (-want +got):\n%s", diff)
					}
				}
				s.must(t, c, s.method(t, "Replace", ""), one(object{s.body: got}))
				survives("replace")
				s.must(t, c, s.method(t, "Update", ""), one(object{s.body: object{"metadata": object{"labels": object{"a": "b"}}}}))
				survives("update")
				s.must(t, c, s.method(t, "Update", ""), one(object{"update_mask": "spec.suspend", s.body: object{"spec": object{"suspend": true}}}))
				survives("update by mask")
				s.must(t, c, s.method(t, "Apply", ""), one(object{s.body: object{"metadata": object{"labels": object{"c": "d"}}}}))
				survives("apply")
				s.must(t, c, s.method(t, "Resume", ""), one(nil))
				survives("resume")
				if s.Groups != "" {
					s.must(t, c, s.method(t, "Scale", ""), one(object{"replicas": 2}))
					survives("scale")
				}
				if transport == "rest" {
					copied := s.must(t, c, s.method(t, "Get", ""), one(nil))
					copied["metadata"] = object{"name": name + "-copy"}
					made := s.must(t, c, s.method(t, "Create", ""), object{"namespace": "default", s.body: copied})
					if diff := cmp.Diff(value, at(made, "spec", "newer")); diff != "" {
						t.Errorf("create of a copy (-want +got):\n%s", diff)
					}
					misspelt := s.example(t, name+"-misspelt")
					misspelt["spec"].(object)["newest"] = true
					_, err := c.call(t.Context(), s.method(t, "Create", ""), object{"namespace": "default", s.body: misspelt})
					if status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), "spec.newest") {
						t.Errorf("create with a field that nobody knows: %v", err)
					}
				}
			})
		}
	}
}

// verbs are what each method asks of Kubernetes, of the kind itself.
var verbs = map[string][]string{
	"Create": {"create"}, "Get": {"get"}, "List": {"list"}, "Update": {"get", "patch"}, "Replace": {"update"}, "Apply": {"patch"}, "Delete": {"delete"},
	"Watch": {"watch"}, "Wait": {"get", "watch"}, "Events": {"get"}, "Diagnose": {"get"}, "Scale": {"get", "patch"}, "Suspend": {"get", "patch"}, "Resume": {"get", "patch"},
	"Trigger": {"get", "create"},        // create of another kind
	"Stop":    {"get"}, "Logs": {"get"}, // and then that to the dashboard, for which TestDashboards has the rights
}

// verbOf is a method's name without the kind.
func (s served) verbOf(m protoreflect.MethodDescriptor) string {
	name := string(m.Name())
	for _, what := range []string{"Events", "Logs"} {
		if strings.HasSuffix(name, what) {
			return what
		}
	}
	return strings.TrimSuffix(strings.TrimSuffix(name, "s"), s.name)
}

// testRights calls every method of every service as users with different rights.
func testRights(t *testing.T, env *controlplane.Env) {
	kube, err := kubernetes.NewForConfig(env.Config)
	if err != nil {
		t.Fatal(err)
	}
	users := map[string][]string{
		"editor":   {"get", "list", "watch", "create", "update", "patch", "delete"},
		"viewer":   {"get", "list", "watch"},
		"deployer": {"create", "update", "patch"},
	}
	p := startProcess(t, env.Config, authn.Passthrough)
	for user, has := range users {
		token := tokenWith(t, kube, user, has)
		for _, s := range allServed() {
			k := s.kubernetes(t, env)
			for transport, c := range map[string]caller{"grpc": newGRPCCaller(t, p.grpc, token), "rest": restCaller{p.http, token}} {
				t.Run(user+"/"+s.name+"/"+transport, func(t *testing.T) {
					for i := range s.service.Methods().Len() {
						m := s.service.Methods().Get(i)
						verb := s.verbOf(m)
						needs, known := verbs[verb]
						if !known {
							t.Fatalf("nothing is said of the rights that %s needs", m.Name())
						}
						want := true
						for _, v := range needs {
							want = want && slices.Contains(has, v)
						}
						name := strings.ToLower(fmt.Sprintf("r-%s-%s-%s", user, transport, verb))
						var stored *unstructured.Unstructured
						if verb != "Create" {
							if stored, err = k.Create(t.Context(), asUnstructured(s.example(t, name)), metav1.CreateOptions{}); err != nil {
								t.Fatal(err)
							}
						}
						if got := gatewayAllows(t, s, c, m, verb, name, stored); got != want {
							t.Errorf("%s is allowed: %v, want %v", verb, got, want)
						}
						_ = k.Delete(t.Context(), name, metav1.DeleteOptions{})
					}
				})
			}
		}
	}
	testAuditLog(t, env)
}

// testAuditLog looks who made the changes of testRights according to the API server: none but the callers of the gateway. What is to be changed was
// created by the test.
func testAuditLog(t *testing.T, env *controlplane.Env) {
	file, err := os.Open(filepath.Join(env.Dir, "logs", "audit.log"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	changes := map[string]int{}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var event struct {
			Verb      string
			User      struct{ Username string }
			ObjectRef struct{ Name string }
		}
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
			t.Fatalf("%v: %s", err, lines.Bytes())
		}
		parts := strings.Split(event.ObjectRef.Name, "-") // as testRights names objects: r-viewer-rest-update
		if len(parts) != 4 || parts[0] != "r" || event.Verb == "create" && parts[3] != "create" {
			continue
		}
		if want := "system:serviceaccount:default:" + parts[1]; event.User.Username != want {
			t.Errorf("the audit log has %s of %s by %q, want %q", event.Verb, event.ObjectRef.Name, event.User.Username, want)
		}
		changes[parts[1]+" "+parts[2]]++
	}
	for _, caller := range []string{"editor grpc", "editor rest", "deployer grpc", "deployer rest"} {
		if changes[caller] < 4 {
			t.Errorf("the audit log has %d changes by %s, want create, update and more of all kinds", changes[caller], caller)
		}
	}
}

func tokenWith(t *testing.T, kube kubernetes.Interface, user string, has []string) string {
	t.Helper()
	ctx := t.Context()
	meta := metav1.ObjectMeta{Name: user}
	if _, err := kube.CoreV1().ServiceAccounts("default").Create(ctx, &corev1.ServiceAccount{ObjectMeta: meta}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	rules := []rbacv1.PolicyRule{
		{Verbs: []string{"list", "get", "watch"}, APIGroups: []string{"", "events.k8s.io"}, Resources: []string{"events", "pods"}}, {Verbs: has, APIGroups: []string{"ray.io"}, Resources: []string{"*"}},
	}
	if _, err := kube.RbacV1().Roles("default").Create(ctx, &rbacv1.Role{ObjectMeta: meta, Rules: rules}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := kube.RbacV1().RoleBindings("default").Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "Role", Name: user},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: "default", Name: user}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	controlplane.AwaitRule(t, kube.AuthorizationV1(), "default", user, rules[0])
	token, err := kube.CoreV1().ServiceAccounts("default").CreateToken(ctx, user, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return token.Status.Token
}

func gatewayAllows(t *testing.T, s served, c caller, m protoreflect.MethodDescriptor, verb, name string, stored *unstructured.Unstructured) bool {
	t.Helper()
	req := object{"namespace": "default"}
	if m.Input().Fields().ByName("name") != nil {
		req["name"] = name
	}
	switch verb {
	case "Create":
		req[s.body] = s.example(t, name)
	case "Update", "Apply":
		req[s.body] = object{"metadata": object{"labels": object{"a": "b"}}}
	case "Replace":
		data, _ := json.Marshal(stored.Object)
		req[s.body] = parseObject(data)
	case "Scale":
		req["replicas"] = 1
	case "Wait":
		req["for"], req["timeout"] = "condition=Never", "0.05s"
	case "List", "Watch":
		delete(req, "name")
	}
	ctx, cancel := context.WithTimeout(t.Context(), controlplane.WaitTimeout)
	defer cancel()
	_, err := c.call(ctx, m, req)
	// It was not made through the gateway, whose watch is on its way: until then the gateway reads it with the rights of the caller.
	unseen := func() bool {
		return status.Code(err) == codes.NotFound || verb == "Replace" && strings.Contains(fmt.Sprint(err), "cannot get resource")
	}
	for unseen() && ctx.Err() == nil {
		time.Sleep(10 * time.Millisecond)
		_, err = c.call(ctx, m, req)
	}
	switch code := status.Code(err); {
	case code == codes.PermissionDenied:
		return false
	case err == nil, verb == "Wait" && code == codes.DeadlineExceeded && strings.Contains(err.Error(), "condition Never"):
		return true
	case (verb == "Stop" || verb == "Logs") && code == codes.FailedPrecondition: // it has not started
		return true
	}
	t.Errorf("%s: %v", m.Name(), err)
	return false
}
