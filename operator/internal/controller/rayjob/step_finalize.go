package rayjob

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/jobplan"
	"github.com/raygate/raygate/operator/internal/reconcile"
	"github.com/raygate/raygate/operator/internal/report"
)

// finalize stops the Ray job of a RayJob that is being deleted, and its submitter if necessary, and removes the finalizer.
type finalize struct {
	client   client.Client
	versions *reconcile.Versions
	act      *act
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
	if s.plan = jobplan.Finalize(s.in); len(s.plan.Actions) > 0 {
		stop.After = s.plan.After
		_, err := f.act.Run(ctx, s)
		return stop, err
	}
	if saved, err := f.versions.SetFinalizer(ctx, f.client, s.job, rayv1.FinalizerRayJob, false); err != nil || !saved {
		stop.After = reconcile.Soon
		return stop, err
	}
	if s.selects() && s.in.Stop.Failed && !s.in.Stop.Missing {
		s.events = append(s.events, report.Warning("FailedToStopRayJob", actionFinish,
			"job "+s.job.Status.JobId+" may still run on RayCluster "+s.cluster.Name+": "+s.in.Stop.Message))
	}
	f.act.tracker.forget(s.job.UID)
	return stop, nil
}
