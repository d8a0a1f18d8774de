package rayjob

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/job"
	"github.com/raygate/raygate/operator/internal/dashboards"
	"github.com/raygate/raygate/operator/internal/jobplan"
	"github.com/raygate/raygate/operator/internal/objectmap"
	"github.com/raygate/raygate/operator/internal/poll"
	"github.com/raygate/raygate/operator/internal/reconcile"
	"github.com/raygate/raygate/pkg/dashboard"
)

// requestTimeout limits each request to a dashboard. Ray itself may take 10 seconds to find an agent for a submission.
const requestTimeout = 12 * time.Second

// repeatAfter is the minimum time between a failed request and its retry.
const repeatAfter = 3 * time.Second

// target is a Ray job. The UID of its cluster keeps a new cluster of the same name from inheriting its answers.
type target struct {
	cluster types.UID
	job     string
}

// answer is the answer of a dashboard about a job.
type answer struct {
	// job is nil if Ray has no record of it.
	job *dashboard.Job
}

// request is a request of a RayJob to Ray, made once per attempt.
type request string

const (
	requestSubmit request = "submit"
	requestStop   request = "stop"
)

// tracker polls dashboards in the background for the jobs of RayJobs, and sends them requests. A RayJob has one Ray job at a time.
type tracker struct {
	poller     *poller
	dashboards *dashboards.Dashboards
	questions  *questions
	known      *sightings
	interval   time.Duration
	wake       func(types.NamespacedName)

	// targets are the current Ray jobs of RayJobs.
	targets objectmap.Map[struct{}, target]
}

// +kubebuilder:rbac:groups="",resources=secrets,verbs=get
// +kubebuilder:rbac:groups="",resources=services/proxy,verbs=get;create,roleName=raygate-operator-kubernetes-proxy

// follow starts to poll the dashboard about the job. It requests another reconcile if the answer has changed since the decision.
func (t *tracker) follow(_ context.Context, s *scope) {
	st, ok := t.site(s)
	if !ok {
		return
	}
	t.point(s)
	id, cluster, key := s.target.job, s.target.cluster, client.ObjectKeyFromObject(s.job)
	had := s.answer.Value.job != nil || s.job.Status.JobStatus != rayv1.JobStatusNew
	got := t.poller.Observe(*s.target, string(s.job.UID), poll.Query[answer]{
		Interval: t.interval, Timeout: requestTimeout, Revision: st.Revision(),
		Ask: func(ctx context.Context) (a answer, err error) {
			a.job, err = t.questions.ask(ctx, string(cluster)+" "+st.Revision(), id, had, func(ctx context.Context, do func(dashboard.Client) error) error {
				return t.dashboards.Call(ctx, st, do)
			})
			return a, err
		},
	}, poll.Observer[answer]{Changed: matters, Wake: func() { t.wake(key) }})
	if matters(s.answer, got) {
		s.after(reconcile.Soon)
	}
}

// refresh polls at once.
func (t *tracker) refresh(_ context.Context, s *scope) {
	if s.target != nil {
		t.poller.Refresh(*s.target)
	}
}

// matters reports whether a decision depends on the difference between the two answers.
func matters(before, after poll.Answer[answer]) bool {
	if before.AskedAt.IsZero() != after.AskedAt.IsZero() || before.FailingSince.IsZero() != after.FailingSince.IsZero() {
		return true
	}
	b, a := before.Value.job, after.Value.job
	if b == nil || a == nil {
		return (b == nil) != (a == nil)
	}
	return b.Status != a.Status || !b.StartTime.Equal(a.StartTime) || !b.EndTime.Equal(a.EndTime)
}

// site returns the dashboard to ask; false while it is unknown.
func (t *tracker) site(s *scope) (dashboards.Site, bool) {
	address := s.plan.Status.DashboardURL
	if address == "" {
		address = s.job.Status.DashboardURL
	}
	if address == "" {
		address = s.in.Cluster.Dashboard
	}
	if s.target == nil || address == "" {
		return dashboards.Site{}, false
	}
	return dashboards.SiteOf(s.cluster, address), true
}

// point records the Ray job of a RayJob, and drops the state of an earlier one.
func (t *tracker) point(s *scope) {
	old, had := t.targets.Get(s.job.UID, struct{}{})
	t.targets.Set(s.job.UID, struct{}{}, *s.target)
	if had && old != *s.target {
		t.known.Forget(s.job.UID)
		t.drop(s.job.UID, old)
	}
}

// unfollow stops polling. The results of requests are kept.
func (t *tracker) unfollow(job types.UID) {
	if old, had := t.targets.Get(job, struct{}{}); had {
		t.poller.Unobserve(old, string(job))
	}
}

// forget drops all state of a RayJob.
func (t *tracker) forget(job types.UID) {
	t.known.Forget(job)
	if old, had := t.targets.Get(job, struct{}{}); had {
		t.targets.Forget(job)
		t.drop(job, old)
	}
}

func (t *tracker) drop(job types.UID, old target) {
	t.poller.Unobserve(old, string(job))
	t.poller.Forget(old, nameOf(requestSubmit, job))
	t.poller.Forget(old, nameOf(requestStop, job))
}

// nameOf returns a name for the request that is unique among RayJobs with the same Ray job.
func nameOf(r request, job types.UID) string { return string(r) + " " + string(job) }

// outcome returns the result of a request and since when the request fails. A retry in progress does not reset that time.
func (t *tracker) outcome(s *scope, r request) jobplan.Command {
	o, asked := t.poller.Outcome(*s.target, nameOf(r, s.job.UID))
	c := jobplan.Command{Asked: asked, Done: o.Done, DoneAt: o.DoneAt}
	says := ""
	if o.Err != nil {
		c.Message = o.Err.Error()
		c.Refused, c.Missing = errors.Is(o.Err, dashboard.ErrInvalid), errors.Is(o.Err, dashboard.ErrNotFound)
		if c.Failed = !c.Refused; c.Failed {
			says = fmt.Sprintf("failed, job missing: %t", c.Missing)
		}
	}
	if last, _ := t.known.Get(s.job.UID, string(r)); asked && !c.Done {
		c.FailingSince = last.at
	} else {
		c.FailingSince = t.known.since(s, string(r), says)
	}
	return c
}

// submit submits the job.
func (t *tracker) submit(_ context.Context, s *scope) {
	wanted, err := submission(s.job, s.target.job)
	t.request(s, requestSubmit, s.in.Submit, func(ctx context.Context, c dashboard.Client) error {
		if err != nil {
			return err
		}
		_, err := c.SubmitJob(ctx, wanted)
		if errors.Is(err, dashboard.ErrDuplicate) { // an earlier submission was accepted, but its response was lost
			return nil
		}
		return err
	})
}

// stop requests that Ray stops the job.
func (t *tracker) stop(_ context.Context, s *scope) {
	id := s.target.job
	t.request(s, requestStop, s.in.Stop, func(ctx context.Context, c dashboard.Client) error {
		_, err := c.StopJob(ctx, id)
		return err
	})
}

// request sends a request to Ray once. After a failure it repeats the request after repeatAfter.
func (t *tracker) request(s *scope, r request, last jobplan.Command, do func(context.Context, dashboard.Client) error) {
	st, ok := t.site(s)
	if !ok {
		return
	}
	t.point(s)
	name, key := nameOf(r, s.job.UID), client.ObjectKeyFromObject(s.job)
	if last.Failed {
		if wait := repeatAfter - s.now.Sub(last.DoneAt); wait > 0 {
			s.after(wait)
			return
		}
		t.poller.Forget(*s.target, name)
	}
	t.poller.Do(*s.target, name, poll.Command{Timeout: requestTimeout, Wake: func() { t.wake(key) }, Run: func(ctx context.Context) error {
		return t.dashboards.Call(ctx, st, func(c dashboard.Client) error { return do(ctx, c) })
	}})
}

// submission returns the submission for HTTPMode. An error is final: the values in the spec cannot be sent.
func submission(j *rayv1.RayJob, id string) (dashboard.Submission, error) {
	refused := func(err error) error {
		return &dashboard.Error{Call: "SubmitJob", Kind: dashboard.ErrInvalid, Cause: err}
	}
	env, err := job.RuntimeEnv(j.Spec.RuntimeEnvYAML)
	if err != nil {
		return dashboard.Submission{}, refused(err)
	}
	amounts, err := job.EntrypointResources(j.Spec.EntrypointResources)
	if err != nil {
		return dashboard.Submission{}, refused(err)
	}
	return dashboard.Submission{
		Entrypoint: j.Spec.Entrypoint, SubmissionID: id, Metadata: j.Spec.Metadata, RuntimeEnv: env,
		EntrypointNumCPUs: j.Spec.EntrypointNumCpus, EntrypointNumGPUs: j.Spec.EntrypointNumGpus, EntrypointResources: amounts,
	}, nil
}
