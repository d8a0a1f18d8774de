package rayservice

import (
	"context"
	"slices"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/conditions"
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
	last := conditions.Editor{List: &s.service.Status.Conditions}.Find(rayv1.RayServiceReady)
	if last == nil || !slices.Contains(shown, last.Reason) || s.service.Status.ObservedGeneration != s.service.Generation {
		s.events = append(s.events, report.Invalid("metadata", "InvalidRayServiceMetadata", "InvalidRayServiceSpec", errs, s.service.Namespace+"/"+s.service.Name+": "+s.in.Invalid))
	}
	return reconcile.Outcome{}, nil
}
