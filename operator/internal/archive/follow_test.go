package archive_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/utils/clock"

	"github.com/raygate/raygate/operator/internal/archive"
	"github.com/raygate/raygate/operator/internal/dashboards"
	"github.com/raygate/raygate/pkg/dashboard"
	"github.com/raygate/raygate/pkg/history"
)

const (
	part    = 256 << 10
	driver  = "demo-aaaaa"
	endMark = "\n[raygate: the rest of the log is missing: "
)

// whole is a log of several parts without a line break at its end.
var whole = "hello\nworld" + strings.Repeat("a line of the log\n", 50_000) + "the end"

// process is an operator with a store and a dashboard that outlive it.
type process struct {
	*stage
	stop func()
}

// starts starts a process with the store and the dashboard of another one; nil for new ones.
func starts(t *testing.T, before *stage, store func(*history.Store) archive.Store) process {
	t.Helper()
	if store == nil {
		store = func(s *history.Store) archive.Store { return s }
	}
	s := newStage(t, func(s *history.Store) archive.Store {
		if before != nil {
			s = before.store
		}
		return store(s)
	}, func(c *archive.Config) {
		c.FollowAfter = time.Millisecond
		if before != nil {
			c.Dashboards = dashboards.New(func(dashboards.Address, dashboard.Token) (dashboard.Client, error) { return before.ray, nil }, c.Live, clock.RealClock{})
		}
	})
	if before != nil {
		s.store, s.ray = before.store, before.ray
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = s.Start(ctx)
	}()
	return process{s, func() { cancel(); <-ended }}
}

// runs makes the job run with a log.
func (p process) runs(log string) {
	p.ray.Forget()
	p.ray.Put(dashboard.Job{SubmissionID: driver, Status: dashboard.Running})
	p.ray.Write(driver, log)
}

func (p process) follow(t *testing.T, about archive.Subject) {
	t.Helper()
	if wait := p.Follow(about.Key, about.JobID, *about.Site, time.Now().Add(-time.Minute)); wait != 0 {
		t.Errorf("to wait for %s", wait)
	}
}

// stored waits until some bytes of the log are in the store.
func (p process) stored(t *testing.T, k history.Key, want int) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		spool, err := p.store.Spool(t.Context(), k)
		switch {
		case err != nil:
			t.Fatal(err)
		case spool.End() >= int64(want):
			return
		case time.Now().After(deadline):
			t.Fatalf("%d bytes are stored, want %d", spool.End(), want)
		}
	}
}

func (p process) logOf(t *testing.T, k history.Key) string {
	t.Helper()
	in, err := p.store.Log(t.Context(), k, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close() }()
	text, err := io.ReadAll(in)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestHeadDies shows that a record has the log until the head died, whatever the dashboard answers then, and also if another process began.
func TestHeadDies(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change func(process, *archive.Subject)
		breaks bool // the stream, so that all of it is stored at once
		why    string
	}{
		"is away":        {func(p process, _ *archive.Subject) { p.ray.Fail(errors.New("connection refused")) }, true, "connection refused"},
		"hangs":          {func(p process, _ *archive.Subject) { p.ray.Hang(true) }, false, "context deadline exceeded"},
		"is gone":        {func(_ process, a *archive.Subject) { a.Site = nil }, false, "the cluster is gone"},
		"forgot the job": {func(p process, _ *archive.Subject) { p.ray.Forget() }, true, ""},
		"forgot the log": {func(p process, _ *archive.Subject) {
			p.ray.Forget()
			p.ray.Put(dashboard.Job{SubmissionID: driver, Status: dashboard.Failed})
		}, true, "does not have the log any more"},
	} {
		for _, restarted := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, restarted %t", name, restarted), func(t *testing.T) {
				t.Parallel()
				p, about := starts(t, nil, nil), subject(0)
				defer func() { p.stop() }()
				p.runs(whole)
				p.follow(t, about)
				least := len(whole) / part * part
				p.stored(t, about.Key, least)
				if restarted {
					p.stop()
					p = starts(t, p.stage, nil)
				}
				tc.change(p, &about)
				if tc.breaks && !restarted {
					least = len(whole)
					p.stored(t, about.Key, least)
				}
				o := p.keep(t, about)
				if !o.Done || !strings.HasPrefix(o.Lost, "the end of the log is missing: ") || !strings.Contains(o.Lost, tc.why) {
					t.Fatalf("outcome %+v", o)
				}
				text, why, marked := strings.Cut(p.logOf(t, about.Key), endMark)
				if !marked || !strings.Contains(why, tc.why) || !strings.HasPrefix(whole, text) || len(text) < least {
					t.Errorf("%d bytes of the log, want %d; the mark is %q", len(text), least, why)
				}
			})
		}
	}
}

// TestFollowerStartsAgain shows that a new process continues where the store ends, and that a log with other bytes replaces the first one.
func TestFollowerStartsAgain(t *testing.T) {
	t.Parallel()
	p, about := starts(t, nil, nil), subject(0)
	p.runs(whole[:part+9])
	p.follow(t, about)
	p.stored(t, about.Key, part)
	p.stop()
	p = starts(t, p.stage, nil)
	p.ray.Write(driver, whole[part+9:])
	p.follow(t, about)
	p.stored(t, about.Key, 3*part)
	p.stop()

	p = starts(t, p.stage, nil)
	defer p.stop()
	another := strings.ToUpper(whole) + "."
	p.runs(another)
	p.follow(t, about)
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		spool, err := p.store.Spool(t.Context(), about.Key)
		if err == nil && spool.End() > 0 && strings.Contains(string(spool.Last()), "LOG") {
			break
		}
		if err != nil || time.Now().After(deadline) {
			t.Fatalf("the second log is not stored: %v", err)
		}
	}
	p.ray.Fail(errors.New("connection refused"))
	if o := p.keep(t, about); !o.Done {
		t.Fatalf("outcome %+v", o)
	}
	if text, _, _ := strings.Cut(p.logOf(t, about.Key), endMark); !strings.HasPrefix(another, text) || text == "" {
		t.Errorf("%d bytes are not those of the second log", len(text))
	}
}

// counting counts the spools of a store.
type counting struct {
	*history.Store
	spools *atomic.Int32
}

func (c counting) Spool(ctx context.Context, k history.Key) (*history.Spool, error) {
	c.spools.Add(1)
	return c.Store.Spool(ctx, k)
}

// TestWholeLog shows that the log of the dashboard is the one in the record if it is complete, and that a short job has no spool.
func TestWholeLog(t *testing.T) {
	t.Parallel()
	var spools atomic.Int32
	p := starts(t, nil, func(s *history.Store) archive.Store { return counting{s, &spools} })
	defer p.stop()
	about := subject(1)
	about.Started = time.Now().Add(time.Second)
	if wait := p.Follow(about.Key, about.JobID, *about.Site, time.Now().Add(time.Minute)); wait < time.Minute {
		t.Errorf("to wait for %s", wait)
	}
	if o := p.keep(t, about); o != (archive.Outcome{Done: true}) || spools.Load() != 0 {
		t.Errorf("a short job: outcome %+v, %d spools", o, spools.Load())
	}
	about = subject(0)
	p.runs(whole)
	p.follow(t, about)
	p.stored(t, about.Key, part)
	p.ray.Set(driver, dashboard.Succeeded, "")
	if o := p.keep(t, about); o != (archive.Outcome{Done: true}) {
		t.Errorf("outcome %+v", o)
	}
	if got := p.logOf(t, about.Key); got != whole {
		t.Errorf("%d bytes, want %d", len(got), len(whole))
	}
}

// TestStoreIsAwayMeanwhile shows that bytes which could not be stored while the store was away are stored later.
func TestStoreIsAwayMeanwhile(t *testing.T) {
	t.Parallel()
	var f *failing
	p, about := starts(t, nil, func(s *history.Store) archive.Store {
		f = &failing{Store: s}
		f.left.Store(1)
		return f
	}), subject(0)
	defer p.stop()
	p.runs(whole)
	p.follow(t, about)
	p.stored(t, about.Key, len(whole)/part*part)
	p.ray.Fail(errors.New("connection refused"))
	p.stored(t, about.Key, len(whole))
	if o := p.keep(t, about); !o.Done {
		t.Errorf("outcome %+v", o)
	}
	if text, _, _ := strings.Cut(p.logOf(t, about.Key), endMark); text != whole {
		t.Errorf("%d bytes, want %d", len(text), len(whole))
	}
}
