package rayservice

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/reconcile"
)

// +kubebuilder:rbac:groups=ray.io,resources=rayservices,verbs=patch
// +kubebuilder:rbac:groups=ray.io,resources=rayclusters,verbs=delete

// finalize adds the finalizer, and deletes the clusters of a RayService before the RayService itself. The garbage collector
// removes the other children.
func (r *Reconciler) finalize(ctx context.Context, s *scope) (reconcile.Outcome, error) {
	has := controllerutil.ContainsFinalizer(s.service, rayv1.FinalizerRayService)
	switch {
	case s.service.DeletionTimestamp == nil && has:
		return reconcile.Outcome{}, nil
	case s.service.DeletionTimestamp == nil:
		return r.setFinalizer(ctx, s, true)
	case !has:
		return reconcile.Outcome{Stop: true}, nil
	}
	r.tracker.forget(s.service.UID)
	if len(s.clusters) == 0 {
		return r.setFinalizer(ctx, s, false)
	}
	for _, name := range sorted(s.clusters) {
		r.deleteCluster(ctx, s, s.clusters[name])
	}
	return reconcile.Outcome{Stop: true, After: reconcile.StaleTimeout}, nil // the watch reports earlier that they are gone
}

// setFinalizer adds or removes the finalizer. The list ends if the object has changed since it was read.
func (r *Reconciler) setFinalizer(ctx context.Context, s *scope, want bool) (reconcile.Outcome, error) {
	saved, err := r.versions.SetFinalizer(ctx, r.config.Client, s.service, rayv1.FinalizerRayService, want)
	if err != nil || !saved {
		return reconcile.Outcome{Stop: true, After: reconcile.Soon}, err
	}
	return reconcile.Outcome{Stop: !want}, nil
}
