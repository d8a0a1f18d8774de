package rayjob

import (
	"context"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/reconcile"
	"github.com/raygate/raygate/operator/internal/report"
	"github.com/raygate/raygate/pkg/validation"
)

// validate validates the spec. A job that has begun fails only for rules without which no operator can work: it may be older than the
// rule. A finished job is not validated, so that its cleanup always runs.
func (r *Reconciler) validate(_ context.Context, s *scope) (reconcile.Outcome, error) {
	if s.state().IsTerminal() {
		return reconcile.Outcome{}, nil
	}
	errs := validation.Refused(validation.Create(s.job, r.config.Validation).Errors, s.job.Status.RayClusterName != "")
	if len(errs) == 0 {
		return reconcile.Outcome{}, nil
	}
	s.in.Invalid = validation.Summary(errs)
	if s.state() != rayv1.JobDeploymentStatusValidationFailed || s.job.Status.ObservedGeneration != s.job.Generation {
		s.events = append(s.events, eventInvalid(s.job, errs, s.in.Invalid))
	}
	return reconcile.Outcome{}, nil
}

// eventInvalid reports broken rules. As in KubeRay, those about the status come last.
func eventInvalid(j *rayv1.RayJob, errs field.ErrorList, summary string) report.Event {
	e := report.Invalid("metadata.name", "InvalidRayJobMetadata", "InvalidRayJobSpec", errs, j.Namespace+"/"+j.Name+": "+summary)
	if !slices.ContainsFunc(errs, func(e *field.Error) bool { return !strings.HasPrefix(e.Field, "status") }) {
		e.Reason = "InvalidRayJobStatus"
	}
	return e
}
