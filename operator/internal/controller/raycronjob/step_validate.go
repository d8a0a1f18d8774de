package raycronjob

import (
	"context"

	"github.com/raygate/raygate/operator/internal/reconcile"
	"github.com/raygate/raygate/operator/internal/report"
	"github.com/raygate/raygate/pkg/validation"
)

// Subjects of what is said.
const (
	subjectInvalid = "invalid"
	subjectChild   = "child"
)

// validateSpec refuses a spec that breaks rules. One that has run before goes on unless no operator can act on it: it may be older
// than the rule.
type validateSpec struct {
	options validation.Options
	said    *report.Once
}

// Run implements step.
func (v *validateSpec) Run(_ context.Context, s *scope) (reconcile.Outcome, error) {
	errs := validation.Refused(validation.Create(s.cron, v.options).Errors, s.cron.Status.LastScheduleTime != nil)
	if len(errs) == 0 {
		return reconcile.Outcome{}, nil
	}
	s.refuse(v.said, validation.Summary(errs))
	return reconcile.Outcome{Stop: true}, nil
}

// refuse tells once why nothing is run.
func (s *scope) refuse(said *report.Once, why string) {
	if said.News(s.cron.UID, subjectInvalid, why) {
		s.events = append(s.events, report.Warning("InvalidRayCronJobSpec", "Validate", s.cron.Namespace+"/"+s.cron.Name+": "+why))
	}
}
