package rayjob

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/children"
	"github.com/raygate/raygate/operator/internal/jobplan"
	"github.com/raygate/raygate/operator/internal/reconcile"
	"github.com/raygate/raygate/operator/internal/report"
)

// act carries out the actions of the plan in order, up to the first that holds.
type act struct {
	config   Config
	children *children.Writer
	versions *reconcile.Versions
	tracker  *tracker
	gangs    *gangs
	said     *report.Once
}

// Run implements step.
func (a *act) Run(ctx context.Context, s *scope) (reconcile.Outcome, error) {
	for _, action := range s.plan.Actions {
		if err := a.do(ctx, s, action); err != nil {
			return reconcile.Outcome{}, err
		}
		if s.held {
			break
		}
	}
	return reconcile.Outcome{}, nil
}

//nolint:gocyclo // one case per action
func (a *act) do(ctx context.Context, s *scope, action jobplan.Action) error {
	switch action {
	case jobplan.EnsureFinalizer:
		return a.ensureFinalizer(ctx, s)
	case jobplan.Reserve:
		a.gangs.reserve(ctx, s)
	case jobplan.Release:
		a.gangs.release(ctx, s)
	case jobplan.EnsureCluster:
		return a.ensureCluster(ctx, s)
	case jobplan.EnsureHeadService:
		return a.ensureHeadService(ctx, s)
	case jobplan.EnsureSubmitter:
		return a.ensureSubmitter(ctx, s)
	case jobplan.Poll:
		if a.tracker.follow(s) {
			s.after(reconcile.Soon)
		}
	case jobplan.Refresh:
		if s.target != nil {
			a.tracker.poller.Refresh(*s.target)
		}
	case jobplan.Submit:
		s.after(a.tracker.submit(s))
	case jobplan.Stop:
		s.after(a.tracker.stop(s))
	case jobplan.DeleteCluster:
		return a.deleteCluster(ctx, s)
	case jobplan.DeleteSubmitter:
		return a.deleteSubmitter(ctx, s)
	case jobplan.KillSubmitter:
		return a.killSubmitter(ctx, s)
	case jobplan.SuspendWorkers:
		return a.suspendWorkers(ctx, s)
	case jobplan.DeleteJob:
		return a.deleteJob(ctx, s)
	}
	return nil
}

// +kubebuilder:rbac:groups=ray.io,resources=rayjobs,verbs=patch

func (a *act) ensureFinalizer(ctx context.Context, s *scope) error {
	if controllerutil.ContainsFinalizer(s.job, rayv1.FinalizerRayJob) {
		return nil
	}
	saved, err := a.versions.SetFinalizer(ctx, a.config.Client, s.job, rayv1.FinalizerRayJob, true)
	if !saved {
		s.after(reconcile.Soon)
		s.hold("")
	}
	return err
}

// +kubebuilder:rbac:groups=ray.io,resources=rayjobs,verbs=delete

func (a *act) deleteJob(ctx context.Context, s *scope) error {
	err := a.config.Client.Delete(ctx, s.job.DeepCopy(), client.Preconditions{UID: &s.job.UID})
	if client.IgnoreNotFound(err) != nil && !apierrors.IsConflict(err) {
		return fmt.Errorf("deleting the RayJob: %w", err)
	}
	s.hold("") // its status is not saved any more
	return nil
}
