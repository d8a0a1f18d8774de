package rayservice

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

// validate looks for broken rules. A service that has begun is refused only for those that no operator can act against.
func (r *Reconciler) validate(_ context.Context, s *scope) (reconcile.Outcome, error) {
	errs := validation.Refused(validation.Create(s.service, r.config.Validation).Errors, len(s.used()) > 0)
	if len(errs) == 0 {
		return reconcile.Outcome{}, nil
	}
	s.in.Invalid = validation.Summary(errs)
	// A service that did not come up in time says only that in its condition.
	shown := []string{rayv1.ReasonRayServiceValidationFailed, rayv1.ReasonRayServiceInitializingTimeout}
	last := report.Conditions{List: &s.service.Status.Conditions}.Find(rayv1.RayServiceReady)
	if last == nil || !slices.Contains(shown, last.Reason) || s.service.Status.ObservedGeneration != s.service.Generation {
		s.events = append(s.events, eventInvalid(s.service, errs, s.in.Invalid))
	}
	return reconcile.Outcome{}, nil
}

// eventInvalid reports broken rules. As in KubeRay, rules about the metadata take precedence.
func eventInvalid(rs *rayv1.RayService, errs field.ErrorList, summary string) report.Event {
	reason := "InvalidRayServiceSpec"
	if slices.ContainsFunc(errs, func(e *field.Error) bool { return strings.HasPrefix(e.Field, "metadata") }) {
		reason = "InvalidRayServiceMetadata"
	}
	return report.Warning(reason, "Validate", rs.Namespace+"/"+rs.Name+": "+summary)
}
