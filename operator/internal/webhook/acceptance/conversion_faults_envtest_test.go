package acceptance

import (
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

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
