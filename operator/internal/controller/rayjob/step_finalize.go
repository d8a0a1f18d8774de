package rayjob

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/jobplan"
	"github.com/raygate/raygate/operator/internal/reconcile"
	"github.com/raygate/raygate/operator/internal/report"
)

// +kubebuilder:rbac:groups=ray.io,resources=rayjobs,verbs=patch

// finalize stops the Ray job of a RayJob that is being deleted, and its submitter if necessary, and removes the finalizer.
func (r *Reconciler) finalize(ctx context.Context, s *scope) (reconcile.Outcome, error) {
	if s.job.DeletionTimestamp == nil {
		return reconcile.Outcome{}, nil
	}
	stop := reconcile.Outcome{Stop: true}
	if !controllerutil.ContainsFinalizer(s.job, rayv1.FinalizerRayJob) {
		return stop, nil
	}
	if s.plan = jobplan.Finalize(s.in); len(s.plan.Actions) > 0 {
		stop.After = s.plan.After
		_, err := r.act(ctx, s)
		return stop, err
	}
	if saved, err := r.versions.SetFinalizer(ctx, r.config.Client, s.job, rayv1.FinalizerRayJob, false); err != nil || !saved {
		stop.After = reconcile.Soon
		return stop, err
	}
	if s.selects() && s.in.Stop.Failed && !s.in.Stop.Missing {
		s.events = append(s.events, report.Warning("FailedToStopRayJob", actionFinish,
			"job "+s.job.Status.JobId+" may still run on RayCluster "+s.cluster.Name+": "+s.in.Stop.Message))
	}
	r.tracker.forget(s.job.UID)
	return stop, nil
}
