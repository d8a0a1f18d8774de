package rayjob

import (
	"context"
	"errors"
	"time"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/jobplan"
	"github.com/raygate/raygate/operator/internal/poll"
	"github.com/raygate/raygate/operator/internal/reconcile"
	"github.com/raygate/raygate/pkg/dashboard"
)

// ownDoing is how long a job that this operator has stopped does not count as stopped by somebody else.
const ownDoing = 30 * time.Second

// observeRay takes the last answer of the dashboard, and what became of requests to it.
type observeRay struct{ tracker *tracker }

// Run implements step.
func (o *observeRay) Run(_ context.Context, s *scope) (reconcile.Outcome, error) {
	if s.cluster == nil || s.job.Status.JobId == "" {
		return reconcile.Outcome{}, nil
	}
	s.target = &target{cluster: s.cluster.UID, job: s.job.Status.JobId}
	s.answer = o.tracker.poller.Answer(*s.target)
	s.in.Ray = rayOf(s.answer)
	s.in.Submit = o.tracker.submitted(s)
	s.in.Stop = o.tracker.outcome(s, requestStop)
	if s.in.Ray.Status == rayv1.JobStatusStopped && o.tracker.asked(s, requestStop) && (!s.in.Stop.Done || s.now.Sub(s.in.Stop.DoneAt) < ownDoing) {
		s.in.Ray.Status = "" // what the job was given up for is its result
		s.after(ownDoing)
	}
	return reconcile.Outcome{}, nil
}

// rayOf is an answer as the plan wants it.
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

// commandOf is an outcome as the plan wants it.
func commandOf(o poll.Outcome) jobplan.Command {
	c := jobplan.Command{Done: o.Done, DoneAt: o.DoneAt}
	if o.Err != nil {
		c.Message = o.Err.Error()
		c.Refused = errors.Is(o.Err, dashboard.ErrInvalid)
		c.Failed = !c.Refused
	}
	return c
}
