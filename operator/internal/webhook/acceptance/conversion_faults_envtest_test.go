package acceptance

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/raygate/raygate/operator/internal/webhook"
)

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
