package raycronjob

import (
	"context"
	"time"

	"github.com/raygate/raygate/operator/internal/cronplan"
	"github.com/raygate/raygate/operator/internal/reconcile"
	"github.com/raygate/raygate/operator/internal/report"
)

// schedule finds out what is due.
type schedule struct {
	local *time.Location
	said  *report.Once
}

// Run implements step.
func (c *schedule) Run(_ context.Context, s *scope) (reconcile.Outcome, error) {
	plan, err := cronplan.For(s.cron, s.now, c.local)
	if err != nil {
		s.refuse(c.said, err.Error())
		return reconcile.Outcome{Stop: true}, nil // only another spec helps
	}
	c.said.Say(s.cron.UID, subjectInvalid)
	if s.cron.Spec.Suspend != nil && *s.cron.Spec.Suspend {
		if s.scheduled {
			s.events = append(s.events, report.Normal("SuspendedRayCronJob", "Suspend", "No RayJobs are created while spec.suspend is true"))
		}
		return reconcile.Outcome{Stop: true}, nil
	}
	s.tick, s.next, s.missed = plan.Run, plan.Next, plan.Missed
	return reconcile.Outcome{Stop: plan.Run.IsZero(), After: plan.After}, nil
}
