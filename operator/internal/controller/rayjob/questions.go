package rayjob

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/raygate/raygate/operator/internal/poll"
	"github.com/raygate/raygate/pkg/dashboard"
)

// A dashboard gets no request for gatherOne after one about one job, and for gatherMany after one about several.
const (
	gatherOne  = 200 * time.Millisecond
	gatherMany = time.Second
)

// questions sends each dashboard one request at a time, for all jobs that were asked for meanwhile: hundreds of RayJobs may share
// a cluster, whose dashboard has one thread.
type questions struct {
	clock clock.Clock

	mu   sync.Mutex
	next map[string]*question // by dashboard; nil while a request is in flight and no other was asked for
}

func newQuestions(c clock.Clock) *questions {
	return &questions{clock: c, next: map[string]*question{}}
}

// reach calls a dashboard.
type reach func(context.Context, func(dashboard.Client) error) error

// question is a request about some jobs of one dashboard.
type question struct {
	ids   map[string]bool // value: Ray had the job before
	reach reach
	done  chan struct{}
	// The other fields are set before done is closed. A job without a record in Ray is nil.
	answers map[string]*dashboard.Job
	err     error            // for all jobs
	errs    map[string]error // for single jobs
}

// ask returns a job from a request to the dashboard that starts now or later. had means that Ray had the job before.
func (q *questions) ask(ctx context.Context, key, id string, had bool, r reach) (*dashboard.Job, error) {
	mine := q.join(key, id, had, r)
	select {
	case <-mine.done:
		return mine.answers[id], errors.Join(mine.err, mine.errs[id])
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (q *questions) join(key, id string, had bool, r reach) *question {
	q.mu.Lock()
	defer q.mu.Unlock()
	next, busy := q.next[key]
	if next == nil {
		next = &question{ids: map[string]bool{}, reach: r, done: make(chan struct{})}
		q.next[key] = next
	}
	next.ids[id] = next.ids[id] || had
	if !busy {
		go q.serve(key)
	}
	return next
}

// serve sends the requests one after the other until there is none.
func (q *questions) serve(key string) {
	for {
		q.mu.Lock()
		current := q.next[key]
		if current == nil {
			delete(q.next, key)
			q.mu.Unlock()
			return
		}
		q.next[key] = nil
		q.mu.Unlock()
		ctx, cancel := context.WithTimeout(context.Background(), requestTimeout/2)
		current.err = poll.Safely(func() error {
			return current.reach(ctx, func(c dashboard.Client) error { return current.put(ctx, c) })
		})
		cancel()
		close(current.done)
		pause := gatherOne
		if len(current.ids) > 1 {
			pause = gatherMany
		}
		<-q.clock.After(pause)
	}
}

// put requests one job, or the list for several jobs. Jobs that the list lacks have no record in Ray. A job that Ray had before is
// then requested by itself, since its list entry may be malformed. All jobs are requested by themselves if the list is malformed
// or too large.
func (q *question) put(ctx context.Context, c dashboard.Client) error {
	q.answers, q.errs = map[string]*dashboard.Job{}, map[string]error{}
	listed, err := q.list(ctx, c)
	if err != nil {
		return err
	}
	for id, had := range q.ids {
		if q.answers[id] != nil || listed && !had {
			continue
		}
		job, err := c.GetJob(ctx, id)
		switch {
		case err == nil:
			q.answers[id] = job
		case !errors.Is(err, dashboard.ErrNotFound):
			q.errs[id] = err
		}
	}
	return nil
}

// list requests the list if there are several jobs, and reports whether it is complete.
func (q *question) list(ctx context.Context, c dashboard.Client) (listed bool, err error) {
	if len(q.ids) == 1 {
		return false, nil
	}
	jobs, err := c.ListJobs(ctx)
	if errors.Is(err, dashboard.ErrMalformed) || errors.Is(err, dashboard.ErrTooLarge) {
		return false, nil
	}
	for i := range jobs {
		if _, asked := q.ids[jobs[i].SubmissionID]; asked {
			q.answers[jobs[i].SubmissionID] = &jobs[i]
		}
	}
	return err == nil, err
}
