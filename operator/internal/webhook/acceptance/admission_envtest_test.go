package acceptance

import (
	"context"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/raygate/raygate/operator/internal/webhook"
)

var validatePath = webhook.ValidatePath("RayCluster")

// smuggle stores an object that the webhook would refuse, as one that is older than the rule.
func smuggle(t *testing.T, c *client, namespace, text string) *unstructured.Unstructured {
	t.Helper()
	hooks.with(t, gone, validatePath)
	obj := create(t, c, "rayclusters", namespace, text)
	hooks.heal(validatePath)
	return obj
}

// TestInvalidObjectsCanBeDeleted: an object that breaks a rule can be deleted, finalizers and all, webhook up or down.
func TestInvalidObjectsCanBeDeleted(t *testing.T) {
	c := connect(t)
	ns := newNamespace(t)
	for name, down := range map[string]bool{"up": false, "down": true} {
		text := strings.Replace(invalid(name), "metadata: {", `metadata: {finalizers: ["example.com/x"], `, 1)
		smuggle(t, c, ns, text)
		if down {
			hooks.with(t, gone, validatePath, webhook.MutatePath("RayCluster"))
		}
		if err := c.clusters(hub, ns).Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		// An update starts from the watch cache of the API server, and asks the webhooks about what it finds there.
		if err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, limit, true, func(ctx context.Context) (bool, error) {
			obj, err := c.clusters(hub, ns).Get(ctx, name, metav1.GetOptions{ResourceVersion: "0"})
			return err == nil && obj.GetDeletionTimestamp() != nil, err
		}); err != nil {
			t.Fatal(err)
		}
		calls := hooks.count(validatePath)
		if _, err := c.clusters(hub, ns).Patch(t.Context(), name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{}); err != nil {
			t.Errorf("webhook %s: losing the finalizer: %v", name, err)
		}
		if got := hooks.count(validatePath); got != calls {
			t.Errorf("webhook %s: called %d times for an object that is being deleted", name, got-calls)
		}
		if _, err := c.clusters(hub, ns).Get(t.Context(), name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("webhook %s: the object is still there: %v", name, err)
		}
	}
}

// TestOldVersionIsValidatedAsHub: a write through v1alpha1 reaches the webhooks as v1, and is refused for what v1 refuses.
func TestOldVersionIsValidatedAsHub(t *testing.T) {
	c := connect(t)
	ns := newNamespace(t)
	mutate := webhook.MutatePath("RayCluster")
	validated, mutated := hooks.count(validatePath), hooks.count(mutate)
	text := "{apiVersion: ray.io/v1alpha1, kind: RayCluster, metadata: {name: a, annotations: {ray.io/external-storage-namespace: x}}, spec: {headGroupSpec: {rayStartParams: {labels: many}, template: " + template + "}}}"
	if _, err := c.clusters(old, ns).Create(t.Context(), decode(text), metav1.CreateOptions{}); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "spec.headGroupSpec") {
		t.Errorf("error %v, want a refusal at spec.headGroupSpec", err)
	}
	if hooks.count(validatePath) != validated+1 || hooks.count(mutate) != mutated+1 {
		t.Errorf("the webhooks were called %d and %d times, want once each", hooks.count(validatePath)-validated, hooks.count(mutate)-mutated)
	}
	create(t, c, "rayclusters", ns, cluster("b"))
	if got := hooks.count(mutate); got != mutated+1 {
		t.Errorf("a write through v1 called the mutating webhook, which has nothing to do there")
	}
}

// TestWebhookDown: with the webhooks down, objects pass; a refusal is final while they are up.
func TestWebhookDown(t *testing.T) {
	c := connect(t)
	ns := newNamespace(t)
	hooks.with(t, gone, validatePath)
	create(t, c, "rayclusters", ns, invalid("a"))
	hooks.heal(validatePath)
	if _, err := c.clusters(hub, ns).Create(t.Context(), decode(invalid("b")), metav1.CreateOptions{}); !apierrors.IsInvalid(err) {
		t.Errorf("webhook up again: %v, want a refusal", err)
	}
}

// TestDryRunAndGenerateName: dry-run and generateName.
func TestDryRunAndGenerateName(t *testing.T) {
	c := connect(t)
	ns := newNamespace(t)
	for _, version := range []string{hub, old} {
		text := "{apiVersion: ray.io/" + version + ", kind: RayCluster, metadata: {generateName: gen-}, spec: {headGroupSpec: {rayStartParams: {}, template: " + template + "}, workerGroupSpecs: [{groupName: w, rayStartParams: {}, template: " + template + "}]}}"
		dry, err := c.clusters(version, ns).Create(t.Context(), decode(text), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err != nil {
			t.Fatalf("%s: dry-run: %v", version, err)
		}
		if list, err := c.clusters(hub, ns).List(t.Context(), metav1.ListOptions{}); err != nil || len(list.Items) != 0 {
			t.Errorf("%s: a dry-run left %d objects, %v", version, len(list.Items), err)
		}
		made := create(t, c, "rayclusters", ns, text)
		if !strings.HasPrefix(made.GetName(), "gen-") || !strings.HasPrefix(dry.GetName(), "gen-") {
			t.Errorf("%s: name %q", version, made.GetName())
		}
		if err := c.clusters(hub, ns).Delete(t.Context(), made.GetName(), metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	long := "{apiVersion: ray.io/v1, kind: RayJob, metadata: {generateName: " + strings.Repeat("n", 45) + "-}, spec: {entrypoint: a, rayClusterSpec: {headGroupSpec: {template: " + template + "}}}}"
	if _, err := c.resource("rayjobs", hub, ns).Create(t.Context(), decode(long), metav1.CreateOptions{}); !apierrors.IsInvalid(err) {
		t.Errorf("a generated name that is too long: %v, want a refusal", err)
	}
}
