package raycluster

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/gcs"
	"github.com/raygate/raygate/operator/internal/reconcile"
)

// ensureFinalizer keeps a cluster whose metadata is in Redis from vanishing before that is cleaned up. The finalizer is there before the
// first Pod is. It is not taken away again while the cluster lives: finalize knows what to do with one that is not needed.
type ensureFinalizer struct {
	client   client.Client
	versions *reconcile.Versions
	cleanUp  bool
}

// +kubebuilder:rbac:groups=ray.io,resources=rayclusters,verbs=patch

// Run implements step.
func (e *ensureFinalizer) Run(ctx context.Context, s *scope) (reconcile.Outcome, error) {
	rc := s.cluster
	if !e.cleanUp || gcs.Backend(rc) != rayv1.GcsFTBackendRedis || controllerutil.ContainsFinalizer(rc, rayv1.FinalizerGCSFTRedisCleanup) {
		return reconcile.Outcome{}, nil
	}
	saved, err := setFinalizers(ctx, e.client, e.versions, rc, append(slices.Clone(rc.Finalizers), rayv1.FinalizerGCSFTRedisCleanup))
	if err != nil || saved {
		return reconcile.Outcome{}, err
	}
	return reconcile.Outcome{Stop: true, After: reconcile.Soon}, nil
}

// awaitsCleanUp reports whether the cluster is being deleted and waits for us, who once promised to clean up. Nobody else can let it
// go, whoever manages it now.
func awaitsCleanUp(rc *rayv1.RayCluster) bool {
	return rc.DeletionTimestamp != nil && controllerutil.ContainsFinalizer(rc, rayv1.FinalizerGCSFTRedisCleanup)
}

// setFinalizers replaces the list, and reports false if the object has changed since it was read, or is gone: then it is to be looked at
// again soon. rc becomes what the server has, but for its status, which a run may have changed already.
func setFinalizers(ctx context.Context, c client.Client, v *reconcile.Versions, rc *rayv1.RayCluster, finalizers []string) (bool, error) {
	target := rc.DeepCopy()
	target.Finalizers = finalizers
	switch err := c.Patch(ctx, target, client.MergeFromWithOptions(rc.DeepCopy(), client.MergeFromWithOptimisticLock{})); {
	case apierrors.IsConflict(err):
		v.Replaced(rc)
		return false, nil
	case apierrors.IsNotFound(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("saving the finalizers: %w", err)
	}
	rc.Finalizers, rc.ResourceVersion = target.Finalizers, target.ResourceVersion
	return true, nil
}
