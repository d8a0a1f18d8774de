package rayjob

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"

	"github.com/raygate/raygate/pkg/dashboard"
)

// slowDashboard knows every job but one, and notes how much is asked of it.
type slowDashboard struct {
	dashboard.Client
	list                     []dashboard.Job
	listErr                  error
	requests, inFlight, most atomic.Int32
}

func (d *slowDashboard) request(lasts time.Duration) {
	d.requests.Add(1)
	d.most.Store(max(d.most.Load(), d.inFlight.Add(1)))
	time.Sleep(lasts)
	d.inFlight.Add(-1)
}

func (d *slowDashboard) ListJobs(context.Context) ([]dashboard.Job, error) {
	d.request(100 * time.Millisecond)
	return d.list, d.listErr
}

func (d *slowDashboard) GetJob(_ context.Context, id string) (*dashboard.Job, error) {
	d.request(10 * time.Millisecond)
	switch id {
	case "missing":
		return nil, dashboard.ErrNotFound
	case "broken":
		return nil, dashboard.ErrMalformed
	}
	return &dashboard.Job{SubmissionID: id}, nil
}

func (d *slowDashboard) reach(_ context.Context, do func(dashboard.Client) error) error { return do(d) }

func TestManyJobsOfOneDashboardAreAskedForTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const jobs, rounds = 300, 10
		d, q := &slowDashboard{}, newQuestions(clock.RealClock{})
		for i := range jobs {
			d.list = append(d.list, dashboard.Job{SubmissionID: fmt.Sprint(i)})
		}
		for i := range jobs {
			go func() {
				time.Sleep(time.Duration(i) * 10 * time.Millisecond)
				for range rounds {
					if job, err := q.ask(t.Context(), "shared", fmt.Sprint(i), false, d.reach); err != nil || job == nil || job.SubmissionID != fmt.Sprint(i) {
						t.Errorf("job %d: got %v, %v", i, job, err)
					}
					time.Sleep(3 * time.Second)
				}
			}()
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if n := d.requests.Load(); n > 60 || d.most.Load() != 1 {
			t.Errorf("%d requests in a minute, %d at a time; want one a second at most, one at a time", n, d.most.Load())
		}
		if len(q.next) != 0 {
			t.Errorf("want nothing kept, got %v", q.next)
		}
	})
}

// TestListThatLacksJobs asks for jobs of which the list says nothing, if Ray had them before or there is no list.
func TestListThatLacksJobs(t *testing.T) {
	down := errors.New("down")
	for name, tc := range map[string]struct {
		listErr, want error
		requests      int32
	}{
		"unreadable entry": {requests: 2}, "list too large": {listErr: dashboard.ErrTooLarge, requests: 5}, "down": {listErr: down, want: down, requests: 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := &question{ids: map[string]bool{"a": false, "b": false, "missing": false, "broken": true}}
				d := &slowDashboard{listErr: tc.listErr}
				if tc.listErr == nil {
					d.list = []dashboard.Job{{SubmissionID: "a"}, {SubmissionID: "b"}}
				}
				err := q.put(t.Context(), d)
				if n := d.requests.Load(); n != tc.requests {
					t.Errorf("%d requests, want %d", n, tc.requests)
				}
				if !errors.Is(err, tc.want) || err == nil && (q.answers["a"] == nil || q.answers["missing"] != nil || len(q.errs) != 1) {
					t.Errorf("got %v, %v", q.answers, err)
				}
			})
		})
	}
}

func TestPanicOfADashboardClientEndsNoProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQuestions(clock.RealClock{})
		_, err := q.ask(t.Context(), "shared", "a", false, func(context.Context, func(dashboard.Client) error) error { panic("no such thing") })
		if err == nil || !strings.Contains(err.Error(), "no such thing") {
			t.Errorf("error %v", err)
		}
		time.Sleep(gatherOne)
		synctest.Wait()
	})
}
