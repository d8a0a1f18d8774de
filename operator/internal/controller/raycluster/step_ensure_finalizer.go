package raycluster

import (
	"context"

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
	saved, err := e.versions.SetFinalizer(ctx, e.client, rc, rayv1.FinalizerGCSFTRedisCleanup, true)
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
