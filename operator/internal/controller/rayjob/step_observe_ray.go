package rayjob

import (
	"context"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/jobplan"
	"github.com/raygate/raygate/operator/internal/poll"
	"github.com/raygate/raygate/operator/internal/reconcile"
)

// observeRay records the last answer of the dashboard and the results of requests.
func (r *Reconciler) observeRay(_ context.Context, s *scope) (reconcile.Outcome, error) {
	if s.cluster != nil && s.job.Status.JobId != "" {
		s.target = &target{cluster: s.cluster.UID, job: s.job.Status.JobId}
		s.answer = r.tracker.poller.Answer(*s.target)
		s.in.Ray = rayOf(s.answer)
		s.in.Submit, s.in.Stop = r.tracker.outcome(s, requestSubmit), r.tracker.outcome(s, requestStop)
	}
	says := string(s.in.Ray.Status)
	switch {
	case s.job.Status.JobStatus.IsTerminal(): // a final status stays
		says = string(s.job.Status.JobStatus)
	case s.in.Ray.Unknown:
		says = "unknown"
	}
	s.in.Ray.Since = r.known.since(s, "Ray", says)
	ending := ""
	switch {
	case s.job.DeletionTimestamp != nil:
		ending = "deleted"
	case jobplan.GivesUp(&s.job.Status):
		ending = "given up"
	}
	s.in.EndingSince = r.known.since(s, "end", ending)
	return reconcile.Outcome{}, nil
}

// rayOf converts an answer to the form that the plan uses.
func rayOf(a poll.Answer[answer]) jobplan.Ray {
	r := jobplan.Ray{AskedAt: a.AskedAt, FailingSince: a.FailingSince, FailedAt: a.FailedAt}
	if a.Err != nil {
		r.Failure = a.Err.Error()
	}
	if a.AskedAt.IsZero() {
		return r
	}
	job := a.Value.job
	if job == nil {
		r.Unknown = true
		return r
	}
	r.Status, r.Message, r.StartTime, r.EndTime = rayv1.JobStatus(job.Status), job.Message, job.StartTime, job.EndTime
	return r
}
