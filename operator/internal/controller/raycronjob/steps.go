package raycronjob

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/raygate/raygate/operator/internal/build/rayjob"
	"github.com/raygate/raygate/operator/internal/children"
	"github.com/raygate/raygate/operator/internal/cronplan"
	"github.com/raygate/raygate/operator/internal/reconcile"
	"github.com/raygate/raygate/operator/internal/report"
	"github.com/raygate/raygate/pkg/validation"
)

// Subjects of events.
const (
	subjectInvalid = "invalid"
	subjectChild   = "child"
)

// validate rejects an invalid spec. One that has run before is rejected only for rules without which no operator can work: it may
// be older than the rule.
func (r *Reconciler) validate(_ context.Context, s *scope) (reconcile.Outcome, error) {
	errs := validation.Refused(validation.Create(s.cron, r.config.Validation).Errors, s.cron.Status.LastScheduleTime != nil)
	if len(errs) == 0 {
		return reconcile.Outcome{}, nil
	}
	r.refuse(s, validation.Summary(errs))
	return reconcile.Outcome{Stop: true}, nil
}

// refuse sends one event with the reason why nothing runs.
func (r *Reconciler) refuse(s *scope, why string) {
	s.invalid = why
	if r.said.News(s.cron.UID, subjectInvalid, why) {
		s.events = append(s.events, report.Warning("InvalidRayCronJobSpec", "Validate", s.cron.Namespace+"/"+s.cron.Name+": "+why))
	}
}

// schedule computes the time to run for.
func (r *Reconciler) schedule(_ context.Context, s *scope) (reconcile.Outcome, error) {
	plan, err := cronplan.For(s.cron, s.now, r.config.Local)
	if err != nil {
		r.refuse(s, err.Error())
		return reconcile.Outcome{Stop: true}, nil // only a changed spec helps
	}
	r.said.Say(s.cron.UID, subjectInvalid)
	if s.cron.Spec.Suspend != nil && *s.cron.Spec.Suspend {
		if s.scheduled {
			s.events = append(s.events, report.Normal("SuspendedRayCronJob", "Suspend", "No RayJobs are created while spec.suspend is true"))
		}
		return reconcile.Outcome{Stop: true}, nil
	}
	s.tick, s.next, s.missed = plan.Run, plan.Next, plan.Missed
	return reconcile.Outcome{Stop: plan.Run.IsZero(), After: plan.After}, nil
}

// +kubebuilder:rbac:groups=ray.io,resources=rayjobs,verbs=get;list;watch;create

// run creates the RayJob that is due. Its name is derived from the time, so that a restart does not create it twice. It does not
// accept a RayJob of another owner with this name.
func (r *Reconciler) run(ctx context.Context, s *scope) (reconcile.Outcome, error) {
	desired := rayjob.Scheduled(s.cron, s.tick)
	for _, key := range r.config.Inherit {
		if value, ok := s.cron.Labels[key]; ok {
			desired.Labels[key] = value
		}
	}
	result := r.children.Ensure(ctx, s.cron, children.Child{Desired: desired, AsFound: true})
	switch {
	case result.Err != nil:
		return reconcile.Outcome{}, result.Err
	case result.Failure != nil:
		s.refusal = result.Failure.Message
		if r.said.News(s.cron.UID, subjectChild, result.Failure.Message) {
			s.events = append(s.events, report.Warning("FailedToCreateRayJob", "Create", result.Failure.Message))
		}
		return reconcile.Outcome{After: result.After}, nil // until the next scheduled time
	}
	r.said.Say(s.cron.UID, subjectChild)
	s.cron.Status.LastScheduleTime = &metav1.Time{Time: s.tick}
	if result.Done == children.Create {
		s.events = append(s.events, report.Normal("CreatedRayJob", "Create", "Created RayJob %s for %s; the next run is at %s",
			result.Name, s.tick.Format(time.RFC3339), s.next.Format(time.RFC3339)))
	}
	if s.missed > 0 {
		s.events = append(s.events, report.Warning("MissedSchedule", "Schedule", missed(s.missed)))
	}
	return reconcile.Outcome{}, nil
}

func missed(n int) string {
	more := ""
	if n >= cronplan.MaxMissed {
		more = "or more "
	}
	return fmt.Sprintf("%d %sruns were missed and are not made up for; only the newest one is", n, more)
}
