package acceptance

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"

	"github.com/raygate/raygate/internal/testing/suite"
	"github.com/raygate/raygate/operator/internal/webhook"
)

// TestWrongCA: the API server demands a certificate of the CA that the CRD names.
func TestWrongCA(t *testing.T) {
	c := connect(t)
	ns := newNamespace(t)
	create(t, c, "rayclusters", ns, cluster("a"))
	stranger, err := newAuthority()
	if err != nil {
		t.Fatal(err)
	}
	if err := setConversion(t.Context(), stranger.pem, "rayclusters.ray.io"); err != nil {
		t.Fatal(err)
	}
	await(t, "the certificate to be refused", func() error {
		_, err := c.clusters(old, ns).Get(t.Context(), "a", metav1.GetOptions{})
		if err == nil || !strings.Contains(err.Error(), "x509") {
			return fmt.Errorf("no error of TLS: %w", err)
		}
		return nil
	})
	get(t, c, "rayclusters", hub, ns, "a")
	if err := setConversion(t.Context(), signer.pem, "rayclusters.ray.io"); err != nil {
		t.Fatal(err)
	}
	await(t, "the certificate to be accepted", func() error {
		_, err := c.clusters(old, ns).Get(t.Context(), "a", metav1.GetOptions{})
		return err
	})
}

func await(t *testing.T, what string, check func() error) {
	t.Helper()
	var err error
	for deadline := time.Now().Add(limit); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if err = check(); err == nil {
			return
		}
	}
	t.Fatalf("waiting for %s: %v", what, err)
}

// TestAPIServerEnforcesTheConversionProtocol: what the API server does with a webhook that breaks the protocol. Ours never does; a change here
// would be one of Kubernetes.
func TestAPIServerEnforcesTheConversionProtocol(t *testing.T) {
	suite.All(t, "fails only when Kubernetes changes")
	c := connect(t)
	ns := newNamespace(t)
	create(t, c, "rayclusters", ns, cluster("a"))
	first := func(review map[string]any) map[string]any {
		return review["response"].(map[string]any)["convertedObjects"].([]any)[0].(map[string]any)
	}
	cases := map[string]struct {
		edit    func(map[string]any)
		wantErr string // empty: the read works
	}{
		"wrong uid":  {func(r map[string]any) { r["response"].(map[string]any)["uid"] = "x" }, "uid"},
		"short list": {func(r map[string]any) { r["response"].(map[string]any)["convertedObjects"] = []any{} }, "returned 0 objects"},
		"failure": {func(r map[string]any) {
			r["response"].(map[string]any)["result"] = map[string]any{"status": "Failure", "message": "no oven"}
		}, "no oven"},
		"no status":        {func(r map[string]any) { r["response"].(map[string]any)["result"] = map[string]any{} }, "conversion"},
		"wrong apiVersion": {func(r map[string]any) { first(r)["apiVersion"] = "ray.io/v1" }, "v1alpha1"},
		"wrong kind":       {func(r map[string]any) { first(r)["kind"] = "RayJob" }, "RayJob"},
		"renamed":          {func(r map[string]any) { first(r)["metadata"].(map[string]any)["name"] = "b" }, "name"},
		"envelope":         {func(r map[string]any) { r["apiVersion"] = "apiextensions.k8s.io/v1beta1" }, ""},
		"extra label":      {func(r map[string]any) { first(r)["metadata"].(map[string]any)["labels"] = map[string]any{"a": "b"} }, ""},
		"generation":       {func(r map[string]any) { first(r)["metadata"].(map[string]any)["generation"] = 99 }, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			hooks.with(t, edited(tc.edit), webhook.ConvertPath)
			got, err := c.clusters(old, ns).Get(t.Context(), "a", metav1.GetOptions{})
			switch {
			case name == "envelope" && err != nil: // refused by newer servers
			case tc.wantErr == "" && err != nil:
				t.Errorf("error %v, want none", err)
			case tc.wantErr != "" && (err == nil || !strings.Contains(err.Error(), tc.wantErr)):
				t.Errorf("error %v, want one about %s", err, tc.wantErr)
			case name == "generation" && got.GetGeneration() != 1:
				t.Errorf("the webhook changed the generation to %d", got.GetGeneration())
			}
		})
	}
}

// TestPatchStorm: concurrent patches through v1alpha1 lose no update.
func TestPatchStorm(t *testing.T) {
	c := connect(t)
	ns := newNamespace(t)
	create(t, c, "rayclusters", ns, cluster("a"))
	const clients = 20
	var wg sync.WaitGroup
	ok := make([]bool, clients)
	for i := range clients {
		wg.Go(func() {
			patch := fmt.Sprintf(`{"metadata":{"labels":{"client-%d":"x"}}}`, i)
			for range 10 {
				_, err := c.clusters(old, ns).Patch(t.Context(), "a", types.MergePatchType, []byte(patch), metav1.PatchOptions{})
				if err == nil {
					ok[i] = true
					return
				}
				if !apierrors.IsConflict(err) {
					t.Errorf("client %d: %v", i, err)
					return
				}
			}
		})
	}
	wg.Wait()
	got := get(t, c, "rayclusters", hub, ns, "a")
	for i := range clients {
		if label := got.GetLabels()[fmt.Sprint("client-", i)]; ok[i] != (label == "x") {
			t.Errorf("client %d: succeeded %t, label %q", i, ok[i], label)
		}
	}
	if group(t, got.Object, "a")["numOfHosts"] != int64(2) || field(t, got.Object, "spec", "managedBy") == nil {
		t.Errorf("fields of v1 were lost: %v", got.Object["spec"])
	}
}

// TestConversionDown: with the webhook down, clients of v1 do not notice.
func TestConversionDown(t *testing.T) {
	c := connect(t)
	ns := newNamespace(t)
	create(t, c, "rayclusters", ns, cluster("a"))
	hooks.with(t, gone, webhook.ConvertPath)
	if _, err := c.clusters(old, ns).Get(t.Context(), "a", metav1.GetOptions{}); !apierrors.IsInternalError(err) {
		t.Errorf("a read through v1alpha1: %v, want an internal error", err)
	}
	obj := get(t, c, "rayclusters", hub, ns, "a")
	obj.SetLabels(map[string]string{"a": "b"})
	if _, err := c.clusters(hub, ns).Update(t.Context(), obj, metav1.UpdateOptions{}); err != nil {
		t.Errorf("an update through v1: %v", err)
	}
	if err := c.clusters(hub, ns).Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
		t.Errorf("a deletion through v1: %v", err)
	}
}

// TestTablesOfBothVersions: tables look the same through both versions.
func TestTablesOfBothVersions(t *testing.T) {
	c := connect(t)
	ns := newNamespace(t)
	create(t, c, "rayclusters", ns, cluster("a"))
	table := func(version string) (out struct {
		ColumnDefinitions []struct{ Name string }
		Rows              []struct{ Cells []any }
	}) {
		t.Helper()
		client, err := discovery.NewDiscoveryClientForConfig(env.Config)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := client.RESTClient().Get().AbsPath("/apis/ray.io/"+version+"/namespaces/"+ns+"/rayclusters").
			SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").DoRaw(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(raw, &out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	if diff := cmp.Diff(table(hub).ColumnDefinitions, table(old).ColumnDefinitions); diff != "" || len(table(old).Rows) != 1 {
		t.Errorf("columns (-v1 +v1alpha1):\n%s", diff)
	}
}

// TestNamespaceGoesWithoutWebhooks: a namespace with Ray objects goes away also when the webhooks have gone before it.
func TestNamespaceGoesWithoutWebhooks(t *testing.T) {
	c := connect(t)
	ns := newNamespace(t)
	create(t, c, "rayclusters", ns, cluster("a"))
	create(t, c, "rayclusters", ns, oldCluster("b"))
	hooks.with(t, gone, webhook.ConvertPath, validatePath, webhook.MutatePath("RayCluster"))
	namespaces := c.dyn.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"})
	if err := namespaces.Delete(t.Context(), ns, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	await(t, "the namespace to go", func() error {
		obj, err := namespaces.Get(t.Context(), ns, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("it is still there: %v, %w", obj, err)
	})
}
