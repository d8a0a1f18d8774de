package rayjob

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/jobplan"
	"github.com/raygate/raygate/operator/internal/reconcile"
)

// act carries out the actions of the plan in order, up to the first that holds.
func (r *Reconciler) act(ctx context.Context, s *scope) (reconcile.Outcome, error) {
	for _, a := range s.plan.Actions {
		if r.actions[a](ctx, s); s.held || s.err != nil {
			break
		}
	}
	return reconcile.Outcome{}, s.err
}

// action carries out one action of a plan. Errors and holds are recorded in the scope.
type action func(context.Context, *scope)

// do returns the functions of all actions.
func (r *Reconciler) do() map[jobplan.Action]action {
	return map[jobplan.Action]action{
		jobplan.EnsureFinalizer:   r.ensureFinalizer,
		jobplan.Reserve:           r.reserve,
		jobplan.Release:           r.releaseGang,
		jobplan.EnsureCluster:     r.ensureCluster,
		jobplan.EnsureHeadService: r.ensureHeadService,
		jobplan.EnsureSubmitter:   r.ensureSubmitter,
		jobplan.Poll:              r.tracker.follow,
		jobplan.Refresh:           r.tracker.refresh,
		jobplan.Submit:            r.tracker.submit,
		jobplan.Stop:              r.tracker.stop,
		jobplan.DeleteCluster:     r.deleteCluster,
		jobplan.DeleteSubmitter:   r.deleteSubmitter,
		jobplan.KillSubmitter:     r.killSubmitter,
		jobplan.SuspendWorkers:    r.suspendWorkers,
		jobplan.DeleteJob:         r.deleteJob,
		jobplan.KeepHistory:       r.keepHistory,
	}
}

// +kubebuilder:rbac:groups=ray.io,resources=rayjobs,verbs=patch

func (r *Reconciler) ensureFinalizer(ctx context.Context, s *scope) {
	if controllerutil.ContainsFinalizer(s.job, rayv1.FinalizerRayJob) {
		return
	}
	saved, err := r.versions.SetFinalizer(ctx, r.config.Client, s.job, rayv1.FinalizerRayJob, true)
	if !saved {
		s.after(reconcile.Soon)
		s.hold("")
	}
	s.fail(err)
}

// +kubebuilder:rbac:groups=ray.io,resources=rayjobs,verbs=delete

func (r *Reconciler) deleteJob(ctx context.Context, s *scope) {
	err := r.config.Client.Delete(ctx, s.job.DeepCopy(), client.Preconditions{UID: &s.job.UID})
	if client.IgnoreNotFound(err) != nil && !apierrors.IsConflict(err) {
		s.fail(fmt.Errorf("deleting the RayJob: %w", err))
		return
	}
	s.hold("") // its status is not saved any more
}
