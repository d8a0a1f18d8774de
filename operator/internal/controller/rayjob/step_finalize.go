package rayjob

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/jobplan"
	"github.com/raygate/raygate/operator/internal/reconcile"
)

// finalize stops the Ray job of a RayJob that is being deleted, and lets the RayJob go. It does not wait until the Ray job has
// stopped, nor for a dashboard that does not answer.
type finalize struct {
	client   client.Client
	versions *reconcile.Versions
	tracker  *tracker
}

// +kubebuilder:rbac:groups=ray.io,resources=rayjobs,verbs=patch

// Run implements step.
func (f *finalize) Run(ctx context.Context, s *scope) (reconcile.Outcome, error) {
	if s.job.DeletionTimestamp == nil {
		return reconcile.Outcome{}, nil
	}
	stop := reconcile.Outcome{Stop: true}
	if !controllerutil.ContainsFinalizer(s.job, rayv1.FinalizerRayJob) {
		return stop, nil
	}
	if jobplan.Finalize(s.in) {
		f.tracker.stop(s) // its end brings the next look
		return reconcile.Outcome{Stop: true, After: 2 * requestTimeout}, nil
	}
	if saved, err := f.versions.SetFinalizer(ctx, f.client, s.job, rayv1.FinalizerRayJob, false); err != nil || !saved {
		stop.After = reconcile.Soon
		return stop, err
	}
	f.tracker.forget(s.job.UID)
	return stop, nil
}
