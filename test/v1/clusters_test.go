package v1

import (
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// provisioned waits until the operator has made all Pods of a cluster.
func (w *world) provisioned(name string) {
	w.Helper()
	eventually(w.T, name+" is provisioned", func() error {
		rc := &rayv1.RayCluster{}
		if err := product.kube.Get(w.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, rc); err != nil {
			return err
		}
		if !meta.IsStatusConditionTrue(rc.Status.Conditions, rayv1.RayClusterProvisioned) {
			return fmt.Errorf("conditions %v", rc.Status.Conditions)
		}
		return nil
	})
}

// gone waits until Kubernetes has an object no more.
func (w *world) gone(name string, o client.Object) {
	w.Helper()
	eventually(w.T, name+" is gone", func() error {
		err := product.kube.Get(w.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, o)
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("it is there: %w", err)
	})
}

// in is the world with another test to fail.
func (w *world) in(t *testing.T) *world {
	clone := *w
	clone.T = t
	return &clone
}
