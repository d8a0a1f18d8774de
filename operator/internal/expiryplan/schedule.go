package expiryplan

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/cronplan"
)

// hours are the schedules of a cluster; nil for absent ones.
type hours struct{ suspend, resume *cronplan.Schedule }

// hoursOf reads the schedules.
func hoursOf(annotations map[string]string) (h hours, err error) {
	zone := "UTC"
	if named, set := annotations[rayv1.AnnotationScheduleTimeZone]; set {
		zone = named
	}
	for key, schedule := range map[string]**cronplan.Schedule{
		rayv1.AnnotationSuspendSchedule: &h.suspend, rayv1.AnnotationResumeSchedule: &h.resume,
	} {
		if text, set := annotations[key]; set {
			parsed, err := cronplan.Parse(text, &zone, time.UTC)
			if err != nil {
				return hours{}, err
			}
			*schedule = &parsed
		}
	}
	return h, nil
}

// lapse is how long after its time a suspension by the schedule is dropped. Otherwise a cluster that was in use in the evening would be
// suspended in the first pause of the next day.
const lapse = 12 * time.Hour

// closing returns the time of the suspension that is due, or else of the next one; zero for never. Resumptions and lapsed suspensions count.
func (h hours) closing(begun, now time.Time, grace time.Duration) time.Time {
	if h.suspend == nil {
		return time.Time{}
	}
	last, _ := h.suspend.Newest(begun, now)
	if last.IsZero() {
		return h.suspend.Next(begun)
	}
	over := now.Sub(last) > lapse+grace
	if h.resume != nil && !over {
		opened, _ := h.resume.Newest(last, now)
		over = !opened.IsZero()
	}
	if over {
		return h.suspend.Next(last)
	}
	return last
}

// opening returns the time at which a cluster is resumed that has been suspended since some time: in the past if it is due, zero for never.
func (h hours) opening(suspended, now time.Time) time.Time {
	if h.resume == nil {
		return time.Time{}
	}
	last, _ := h.resume.Newest(suspended, now)
	if last.IsZero() {
		return h.resume.Next(suspended)
	}
	if h.suspend != nil {
		if closed, _ := h.suspend.Newest(last, now); !closed.IsZero() {
			return h.resume.Next(last)
		}
	}
	return last
}

// atSchedule returns the limit at a time of closing.
func (p *planner) atSchedule(at time.Time) limit {
	begun := begin(p.Cluster)
	return limit{rayv1.ReasonSuspendSchedule, "the annotation " + rayv1.AnnotationSuspendSchedule, at.Sub(begun), begun, p.kept(at), true}
}

// near reports whether a time of closing is so near that it matters what runs.
func (p *planner) near(at time.Time) bool {
	return !at.IsZero() && !p.Now.Before(p.atSchedule(at).warning())
}

// scheduled returns the limit at a time of closing, which depends on what runs. wait means that it waits for what runs: the user is warned after the
// end of that.
func (p *planner) scheduled(at time.Time, idle, fresh bool) (l limit, wait bool) {
	l = p.atSchedule(at)
	switch {
	case !p.near(at):
	case idle:
		l.sure = fresh
	case p.expiry.SuspendGrace > 0:
		l.due = p.kept(at.Add(p.expiry.SuspendGrace))
	default:
		return l, true
	}
	return l, false
}

// resume plans for a cluster that an earlier decision has suspended.
func (p *planner) resume(decision *metav1.Condition) Plan {
	plan := Plan{Expired: decision}
	if at := p.expiry.hours.opening(decision.LastTransitionTime.Time, p.Now); !at.IsZero() {
		if plan.Resume = !at.After(p.Now); !plan.Resume {
			plan.After = at.Sub(p.Now)
		}
	}
	return plan
}
