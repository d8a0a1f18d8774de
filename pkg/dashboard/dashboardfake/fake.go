// Package dashboardfake is a dashboard.Client for tests that keeps its jobs in a map and can be configured to misbehave. Tests of the wire
// format use a server instead.
package dashboardfake

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"k8s.io/utils/clock"

	"github.com/raygate/raygate/pkg/dashboard"
)

// Dashboard is a dashboard without a wire. Its zero value is not usable; see New.
type Dashboard struct {
	clock clock.PassiveClock

	mu            sync.Mutex
	changed       chan struct{} // closed and replaced with each change
	jobs          map[string]*record
	order         []string
	calls         map[string]int
	submissions   map[string]int
	packages      map[string]bool
	failure       error
	lost          int
	hanging       bool
	submitFailure error
	serve         serve
	answers       map[string]string
}

type record struct {
	job dashboard.Job
	log string
}

var _ dashboard.Client = (*Dashboard)(nil)

// New returns a dashboard without jobs.
func New(c clock.PassiveClock) *Dashboard {
	return &Dashboard{
		clock: c, changed: make(chan struct{}), jobs: map[string]*record{}, calls: map[string]int{}, submissions: map[string]int{},
		packages: map[string]bool{},
	}
}

// change makes a change that streams and hanging calls notice.
func (d *Dashboard) change(f func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f()
	close(d.changed)
	d.changed = make(chan struct{})
}

// Put adds a job, or replaces the one of its submission id.
func (d *Dashboard) Put(job dashboard.Job) {
	d.change(func() { d.put(job) })
}

func (d *Dashboard) put(job dashboard.Job) {
	if d.jobs[job.SubmissionID] == nil {
		d.order = append(d.order, job.SubmissionID)
	}
	d.jobs[job.SubmissionID] = &record{job: job}
}

// Set moves a job on: a state that is final sets its end. An unknown id is ignored.
func (d *Dashboard) Set(id string, status dashboard.Status, message string) {
	d.change(func() {
		r := d.jobs[id]
		if r == nil || r.job.Status.Final() {
			return
		}
		r.job.Status, r.job.Message = status, message
		if status.Final() {
			r.job.EndTime = d.clock.Now()
		}
	})
}

// Forget drops all jobs, like a restart of a head without fault tolerance.
func (d *Dashboard) Forget() {
	d.change(func() { d.jobs, d.order = map[string]*record{}, nil })
}

// SetAnswers replaces what Answer returns, by target.
func (d *Dashboard) SetAnswers(answers map[string]string) {
	d.change(func() { d.answers = answers })
}

// Answer implements dashboard.Client. There is nothing at other targets than those of SetAnswers. An empty text makes it hang.
func (d *Dashboard) Answer(ctx context.Context, target string, limit int64) (json.RawMessage, error) {
	if err := d.begin(ctx, "Answer"); err != nil {
		return nil, err
	}
	defer d.mu.Unlock()
	text, ok := d.answers[target]
	if ok && text == "" {
		d.mu.Unlock()
		<-ctx.Done()
		d.mu.Lock()
		return nil, &dashboard.Error{Call: "Answer", Kind: dashboard.ErrUnavailable, Cause: ctx.Err()}
	}
	switch {
	case !ok:
		return nil, &dashboard.Error{Call: "Answer", Kind: dashboard.ErrNotFound, Code: 404}
	case int64(len(text)) > limit:
		return nil, &dashboard.Error{Call: "Answer", Kind: dashboard.ErrTooLarge}
	}
	return json.RawMessage(text), nil
}

// Fail makes every call fail with this error, until it is nil.
func (d *Dashboard) Fail(err error) {
	d.change(func() { d.failure = err })
}

// FailSubmissions makes every submission fail with this error and without effect, until it is nil.
func (d *Dashboard) FailSubmissions(err error) {
	d.change(func() { d.submitFailure = err })
}

// LoseAnswers makes the next n submissions and deployments succeed and lose their answers.
func (d *Dashboard) LoseAnswers(n int) {
	d.change(func() { d.lost = n })
}

// Hang makes every call wait for its context, until it is false.
func (d *Dashboard) Hang(on bool) {
	d.change(func() { d.hanging = on })
}

// Calls returns the number of calls of a method.
func (d *Dashboard) Calls(method string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.calls[method]
}

// Submissions returns the number of times that a job with this id was accepted.
func (d *Dashboard) Submissions(id string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.submissions[id]
}

// begin counts the call, waits while calls hang, and returns with the lock held unless there is an error.
func (d *Dashboard) begin(ctx context.Context, method string) error {
	d.mu.Lock()
	d.calls[method]++
	for d.hanging {
		changed := d.changed
		d.mu.Unlock()
		select {
		case <-ctx.Done():
			return &dashboard.Error{Call: method, Kind: dashboard.ErrUnavailable, Cause: ctx.Err()}
		case <-changed:
		}
		d.mu.Lock()
	}
	if d.failure != nil {
		err := d.failure
		d.mu.Unlock()
		return err
	}
	return nil
}

func (d *Dashboard) find(method, id string) (*record, error) {
	if r := d.jobs[id]; r != nil {
		return r, nil
	}
	return nil, &dashboard.Error{Call: method, Kind: dashboard.ErrNotFound, Code: 404}
}

// Version implements dashboard.Client.
func (d *Dashboard) Version(ctx context.Context) (dashboard.Version, error) {
	if err := d.begin(ctx, "Version"); err != nil {
		return dashboard.Version{}, err
	}
	defer d.mu.Unlock()
	return dashboard.Version{API: "4", Ray: "2.52.0", Session: "session_fake"}, nil
}

// Activity implements dashboard.Client. Jobs and applications use the cluster.
func (d *Dashboard) Activity(ctx context.Context) (a dashboard.Activity, err error) {
	if err := d.begin(ctx, "Activity"); err != nil {
		return a, err
	}
	defer d.mu.Unlock()
	if len(d.serve.applications) > 0 {
		a.Use = dashboard.UseServe
	}
	for _, r := range d.jobs {
		if !r.job.Status.Final() {
			a.Use = dashboard.UseJob
		}
		if r.job.EndTime.After(a.LastEnd) {
			a.LastEnd = r.job.EndTime
		}
	}
	return a, nil
}

// ListJobs implements dashboard.Client.
func (d *Dashboard) ListJobs(ctx context.Context) ([]dashboard.Job, error) {
	if err := d.begin(ctx, "ListJobs"); err != nil {
		return nil, err
	}
	defer d.mu.Unlock()
	jobs := make([]dashboard.Job, 0, len(d.order))
	for _, id := range d.order {
		jobs = append(jobs, d.jobs[id].job)
	}
	return jobs, nil
}

// GetJob implements dashboard.Client.
func (d *Dashboard) GetJob(ctx context.Context, id string) (*dashboard.Job, error) {
	if err := d.begin(ctx, "GetJob"); err != nil {
		return nil, err
	}
	defer d.mu.Unlock()
	r, err := d.find("GetJob", id)
	if err != nil {
		return nil, err
	}
	return new(r.job), nil
}

// SubmitJob implements dashboard.Client.
func (d *Dashboard) SubmitJob(ctx context.Context, s dashboard.Submission) (string, error) {
	if err := d.begin(ctx, "SubmitJob"); err != nil {
		return "", err
	}
	defer d.mu.Unlock()
	if d.submitFailure != nil {
		return "", d.submitFailure
	}
	if s.Entrypoint == "" || len(s.RuntimeEnv) > 0 && !json.Valid(s.RuntimeEnv) {
		return "", &dashboard.Error{Call: "SubmitJob", Kind: dashboard.ErrInvalid, Code: 400}
	}
	if s.SubmissionID == "" {
		s.SubmissionID = fmt.Sprintf("raysubmit_%016d", len(d.order)+1)
	}
	if d.jobs[s.SubmissionID] != nil {
		return "", &dashboard.Error{Call: "SubmitJob", Kind: dashboard.ErrDuplicate, Code: 500}
	}
	d.put(dashboard.Job{
		Type: "SUBMISSION", SubmissionID: s.SubmissionID, Status: dashboard.Pending, Entrypoint: s.Entrypoint,
		StartTime: d.clock.Now(), Metadata: s.Metadata, RuntimeEnv: s.RuntimeEnv,
	})
	d.submissions[s.SubmissionID]++
	if d.lost > 0 {
		d.lost--
		return "", &dashboard.Error{Call: "SubmitJob", Kind: dashboard.ErrUnavailable, Cause: io.ErrUnexpectedEOF}
	}
	return s.SubmissionID, nil
}

// StopJob implements dashboard.Client. The job is stopped at once.
func (d *Dashboard) StopJob(ctx context.Context, id string) (bool, error) {
	if err := d.begin(ctx, "StopJob"); err != nil {
		return false, err
	}
	defer d.mu.Unlock()
	r, err := d.find("StopJob", id)
	if err != nil || r.job.Status.Final() {
		return false, err
	}
	r.job.Status, r.job.EndTime = dashboard.Stopped, d.clock.Now()
	return true, nil
}

// DeleteJob implements dashboard.Client.
func (d *Dashboard) DeleteJob(ctx context.Context, id string) error {
	if err := d.begin(ctx, "DeleteJob"); err != nil {
		return err
	}
	defer d.mu.Unlock()
	r, err := d.find("DeleteJob", id)
	if err != nil {
		return err
	}
	if !r.job.Status.Final() {
		return &dashboard.Error{Call: "DeleteJob", Kind: dashboard.ErrUnavailable, Code: 500, Cause: errors.New("the job has not ended")}
	}
	delete(d.jobs, id)
	d.order = slices.DeleteFunc(d.order, func(o string) bool { return o == id })
	return nil
}
