package acceptance

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/raygate/raygate/operator/internal/webhook"
	"github.com/raygate/raygate/pkg/validation"
)

// neighbour registers a mutating webhook of somebody else for RayClusters of the namespace. patch returns a JSON patch, or
// nothing. The API server asks webhooks in the order of the names of their configurations.
func neighbour(t *testing.T, c *client, name, namespace string, patch func(obj map[string]any) string) {
	t.Helper()
	path := "/" + name + "-" + namespace
	hooks.Register(path, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review admissionv1.AdmissionReview
		obj := map[string]any{}
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil || json.Unmarshal(review.Request.Object.Raw, &obj) != nil {
			http.Error(w, "no review", http.StatusBadRequest)
			return
		}
		response := &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
		if text := patch(obj); text != "" {
			response.Patch, response.PatchType = []byte(text), new(admissionv1.PatchTypeJSONPatch)
		}
		review.Request, review.Response = nil, response
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(review)
	}))
	config := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration", "metadata": map[string]any{"name": name},
		"webhooks": []any{map[string]any{
			"name": name + ".example.com", "admissionReviewVersions": []any{"v1"}, "sideEffects": "None", "failurePolicy": "Fail", "clientConfig": clientConfig(path),
			"rules":             []any{map[string]any{"apiGroups": []any{"ray.io"}, "apiVersions": []any{hub}, "operations": []any{"CREATE", "UPDATE"}, "resources": []any{"rayclusters"}}},
			"namespaceSelector": map[string]any{"matchLabels": map[string]any{"kubernetes.io/metadata.name": namespace}},
		}},
	}}
	configs := c.dyn.Resource(schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "mutatingwebhookconfigurations"})
	if _, err := configs.Create(t.Context(), config, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	await(t, "the API server to call "+name, func() error {
		_, err := c.clusters(hub, namespace).Create(t.Context(), decode(cluster("probe")), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err == nil && hooks.count(path) == 0 {
			return http.ErrNotSupported
		}
		return err
	})
	t.Cleanup(func() {
		if err := configs.Delete(context.Background(), name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
}

// stripped reads the cluster through v1alpha1 and throws the stash away.
func stripped(t *testing.T, c *client, namespace string) *unstructured.Unstructured {
	t.Helper()
	seen := get(t, c, "rayclusters", old, namespace, "a")
	seen.SetAnnotations(nil)
	return seen
}

// TestNeighbourUndoesOurWork: a neighbour that undoes what we put back is found out by the validating webhook, and the API server
// fills defaults in again by itself.
func TestNeighbourUndoesOurWork(t *testing.T) {
	c := connect(t)
	ns := newNamespace(t)
	create(t, c, "rayclusters", ns, cluster("a"))
	neighbour(t, c, "zzz-eraser", ns, func(obj map[string]any) string {
		labels, _ := obj["metadata"].(map[string]any)["labels"].(map[string]any)
		if path, _ := labels["erase"].(string); path != "" {
			return `[{"op":"remove","path":"/spec/` + strings.ReplaceAll(path, ".", "/") + `"}]`
		}
		return ""
	})
	write := func(path string) (warnings string, err error) {
		seen := stripped(t, c, ns)
		seen.SetLabels(map[string]string{"erase": path})
		c.taken()
		_, err = c.clusters(old, ns).Update(t.Context(), seen, metav1.UpdateOptions{})
		return c.taken(), err
	}
	if warnings, err := write("managedBy"); err != nil || !strings.Contains(warnings, "(X-501)") || !strings.Contains(warnings, "spec.managedBy") {
		t.Errorf("the manager, taken out: %v with warnings %q, want it to pass as under KubeRay, with a warning", err, warnings)
	}
	warnings, err := write("headGroupSpec.labels")
	if err != nil || !strings.Contains(warnings, "(X-501)") || !strings.Contains(warnings, "spec.headGroupSpec.labels") {
		t.Errorf("another field of v1, taken out: %v, warnings %q", err, warnings)
	}
	if _, err := write("workerGroupSpecs.0.numOfHosts"); err != nil {
		t.Error(err)
	}
	if got := group(t, stored(t, "rayclusters", ns, "a"), "a")["numOfHosts"]; got != float64(1) {
		t.Errorf("a field with a default, taken out, is stored as %v", got)
	}
}

// TestOwnWritesAreNotSent: the operator's own writes are not sent to its webhooks, which may be down while it starts.
func TestOwnWritesAreNotSent(t *testing.T) {
	c := connect(t)
	ns := newNamespace(t)
	create(t, c, "rayclusters", ns, cluster("a"))
	for user, want := range map[string]int{"system:serviceaccount:raygate-system:raygate-operator": 0, "system:serviceaccount:raygate-system:autoscaler": 1} {
		calls := hooks.count(validatePath)
		obj := get(t, c, "rayclusters", hub, ns, "a")
		obj.SetAnnotations(map[string]string{"by": user})
		if _, err := connectAs(t, user).clusters(hub, ns).Update(t.Context(), obj, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		if got := hooks.count(validatePath) - calls; got != want {
			t.Errorf("a write by %s called the webhook %d times, want %d", user, got, want)
		}
	}
}

// TestStagesOfAdmission: an administrator can look first and refuse later.
func TestStagesOfAdmission(t *testing.T) {
	c := connect(t)
	ns := newNamespace(t)
	for _, tc := range []struct {
		stage        webhook.Stage
		wantRefusal  bool
		wantWarnings bool
	}{{webhook.StageAudit, false, false}, {webhook.StageWarn, false, true}, {webhook.StageEnforce, true, false}} {
		other := handlers{}
		webhook.Register(other, validation.Options{}, tc.stage, webhook.NewMetrics(), nil)
		hooks.with(t, func(w http.ResponseWriter, r *http.Request, _ http.Handler) { other[validatePath].ServeHTTP(w, r) }, validatePath)
		name := strings.ToLower(string(tc.stage))
		c.taken()
		_, err := c.clusters(hub, ns).Create(t.Context(), decode(invalid(name)), metav1.CreateOptions{})
		if apierrors.IsInvalid(err) != tc.wantRefusal || err != nil && !tc.wantRefusal {
			t.Errorf("%s: %v", tc.stage, err)
		}
		if got := c.taken(); strings.Contains(got, "(RC-053)") != tc.wantWarnings || tc.stage == webhook.StageAudit && got != "" {
			t.Errorf("%s: warnings %q", tc.stage, got)
		}
	}
}

type handlers map[string]http.Handler

func (h handlers) Register(path string, hook http.Handler) { h[path] = hook }
