package raycluster

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/devicefacts"
	"github.com/raygate/raygate/operator/internal/build/pod"
	"github.com/raygate/raygate/operator/internal/reconcile"
)

// +kubebuilder:rbac:groups=ray.io,resources=rayclusters,verbs=patch

// deviceFacts stores in the RayCluster the device facts that its autoscaler cannot read elsewhere, and removes them when they are
// no longer needed. It is the only step that changes a spec. Pods do not depend on it: they are built from the user's spec.
func (r *Reconciler) deviceFacts(ctx context.Context, s *scope) (reconcile.Outcome, error) {
	var want devicefacts.Facts
	if r.config.DeviceFacts {
		want = pod.AutoscalerFacts(s.cluster, r.podOptions(s))
	}
	body, err := devicefacts.Patch(s.stored, want)
	if err != nil || body == nil {
		return reconcile.Outcome{}, err
	}
	target := &rayv1.RayCluster{}
	target.Namespace, target.Name = s.stored.Namespace, s.stored.Name
	switch err := r.config.Client.Patch(ctx, target, client.RawPatch(types.JSONPatchType, body), client.FieldOwner(devicefacts.Manager)); {
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		r.versions.Replaced(s.stored)
		return reconcile.Outcome{Stop: true, After: reconcile.Soon}, nil
	case err != nil:
		s.errs = append(s.errs, fmt.Errorf("storing the devices of worker groups for the autoscaler: %w", err)) // Pods are created all the same
		return reconcile.Outcome{}, nil
	}
	r.versions.Replaced(s.stored)
	ctrllog.FromContext(ctx).Info("Stored the devices of worker groups for the autoscaler", "facts", len(want))
	s.cluster.ResourceVersion, s.cluster.Generation = target.ResourceVersion, target.Generation
	return reconcile.Outcome{}, nil
}
