package poll

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"
)

const (
	interval = 3 * time.Second
	timeout  = 5 * time.Second
)

// run gives the test a Poller whose clock moves only when everybody waits, and ends it.
func run(t *testing.T, o Options, test func(t *testing.T, p *Poller[string, int])) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		o.Clock = clock.RealClock{}
		if o.Random == nil {
			o.Random = func() float64 { return 0.5 }
		}
		p := New[string, int](o)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- p.Start(ctx) }()
		test(t, p)
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// fakeTarget counts what is asked of it and answers as told.
type fakeTarget struct {
	mu       sync.Mutex
	value    int
	err      error
	lasts    time.Duration // forever if negative
	deaf     bool          // to its context
	asked    []time.Duration
	begin    time.Time
	inFlight int
	most     int
}

func newTarget() *fakeTarget { return &fakeTarget{begin: time.Now()} }

func (f *fakeTarget) set(change func(*fakeTarget)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(f)
}

func (f *fakeTarget) ask(ctx context.Context) (int, error) {
	f.mu.Lock()
	f.asked = append(f.asked, time.Since(f.begin))
	f.inFlight++
	f.most = max(f.most, f.inFlight)
	lasts, deaf := f.lasts, f.deaf
	f.mu.Unlock()
	defer f.set(func(f *fakeTarget) { f.inFlight-- })
	switch {
	case deaf:
		time.Sleep(lasts)
	case lasts < 0:
		<-ctx.Done()
		return 0, ctx.Err()
	case lasts > 0:
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-time.After(lasts):
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.value, f.err
}

func (f *fakeTarget) times() []time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]time.Duration(nil), f.asked...)
}

func (f *fakeTarget) query() Query[int] {
	return Query[int]{Ask: f.ask, Interval: interval, Timeout: timeout}
}

// changes counts how often it is woken, which it wants to be for another value or for the begin or end of failing.
type changes struct{ atomic.Int32 }

func (c *changes) observer() Observer[int] {
	return Observer[int]{
		Changed: func(before, after Answer[int]) bool {
			return before.Value != after.Value || before.AskedAt.IsZero() != after.AskedAt.IsZero() || (before.Err == nil) != (after.Err == nil)
		},
		Wake: func() { c.Add(1) },
	}
}

func (c *changes) want(t *testing.T, n int32) {
	t.Helper()
	if got := c.Load(); got != n {
		t.Errorf("want %d wake-ups, got %d", n, got)
	}
}

func TestWakesOnChangeOnly(t *testing.T) {
	run(t, Options{}, func(t *testing.T, p *Poller[string, int]) {
		f, c := newTarget(), &changes{}
		if a := p.Observe("a", "job", f.query(), c.observer()); !a.AskedAt.IsZero() {
			t.Errorf("an answer without a question: %v", a)
		}
		time.Sleep(10 * interval)
		synctest.Wait()
		c.want(t, 1) // the first answer
		f.set(func(f *fakeTarget) { f.value = 7 })
		time.Sleep(10 * interval)
		synctest.Wait()
		c.want(t, 2)
		if got := p.Answer("a"); got.Value != 7 || time.Since(got.AskedAt) > interval {
			t.Errorf("got %+v", got)
		}
		if got := len(f.times()); got != 21 {
			t.Errorf("want 21 requests in %v, got %d", 20*interval, got)
		}
	})
}

// TestChangesAreOfWhatWasRead moves a value in steps that its observer does not mind one by one.
func TestChangesAreOfWhatWasRead(t *testing.T) {
	run(t, Options{}, func(t *testing.T, p *Poller[string, int]) {
		f, woken := newTarget(), 0
		o := Observer[int]{Changed: func(before, after Answer[int]) bool { return after.Value-before.Value >= 2 }, Wake: func() { woken++ }}
		p.Observe("a", "job", f.query(), o)
		time.Sleep(time.Second) // not at the moment of a request
		for range 4 {
			time.Sleep(interval)
			f.set(func(f *fakeTarget) { f.value++ })
		}
		time.Sleep(interval)
		synctest.Wait()
		if woken != 2 {
			t.Errorf("want to be woken at 2 and at 4, got %d times", woken)
		}
	})
}

func TestFailuresBackOff(t *testing.T) {
	run(t, Options{}, func(t *testing.T, p *Poller[string, int]) {
		f, c := newTarget(), &changes{}
		f.value = 1
		p.Observe("a", "job", f.query(), c.observer())
		time.Sleep(time.Second)
		broken := errors.New("broken")
		f.set(func(f *fakeTarget) { f.err = broken })
		time.Sleep(2 * time.Minute)
		want := []time.Duration{0, 3 * time.Second, 9 * time.Second, 21 * time.Second, 45 * time.Second, 75 * time.Second, 105 * time.Second}
		if diff := cmp.Diff(want, f.times()); diff != "" {
			t.Errorf("times of requests (-want +got):\n%s", diff)
		}
		got := p.Answer("a")
		if got.Value != 1 || !errors.Is(got.Err, broken) || got.FailingSince.Sub(f.begin) != 3*time.Second || got.FailedAt.Sub(f.begin) != 105*time.Second {
			t.Errorf("got %+v", got)
		}
		c.want(t, 2)
		f.set(func(f *fakeTarget) { f.err = nil })
		time.Sleep(30 * time.Second)
		synctest.Wait()
		c.want(t, 3)
		if got := p.Answer("a"); got.Err != nil || !got.FailingSince.IsZero() {
			t.Errorf("got %+v", got)
		}
		n := len(f.times())
		time.Sleep(2 * interval)
		if got := len(f.times()); got != n+2 {
			t.Errorf("want the usual interval again, got %d more requests", got-n)
		}
	})
}

func TestJitter(t *testing.T) {
	for random, want := range map[float64]time.Duration{0: 2850 * time.Millisecond, 0.999999: 3150 * time.Millisecond} {
		run(t, Options{Random: func() float64 { return random }}, func(t *testing.T, p *Poller[string, int]) {
			f := newTarget()
			p.Observe("a", "job", f.query(), Observer[int]{Wake: func() {}})
			time.Sleep(4 * time.Second)
			if got := f.times()[1].Round(time.Millisecond); got != want {
				t.Errorf("want %v, got %v", want, got)
			}
		})
	}
}

// TestHangingTargetsDelayNobody registers targets that hang before others that answer at once, and lets them hang for good.
func TestHangingTargetsDelayNobody(t *testing.T) {
	const hanging, healthy, rounds = 50, 150, 100
	for name, deaf := range map[string]bool{"until their deadline": false, "beyond it": true} {
		t.Run(name, func(t *testing.T) {
			run(t, Options{Workers: 4, SlowWorkers: 8}, func(t *testing.T, p *Poller[string, int]) {
				for i := range hanging {
					f := newTarget()
					if f.lasts = -1; deaf {
						f.deaf, f.lasts = true, 10*time.Minute
					}
					p.Observe(fmt.Sprint("hanging", i), "job", f.query(), Observer[int]{Wake: func() {}})
				}
				targets := make([]*fakeTarget, healthy)
				for i := range targets {
					targets[i] = newTarget()
					p.Observe(fmt.Sprint("healthy", i), "job", targets[i].query(), Observer[int]{Wake: func() {}})
				}
				time.Sleep(rounds * interval)
				synctest.Wait()
				// A target that hangs holds one of four places for half a second, once.
				const first = hanging / 4 * 500 * time.Millisecond
				for i, f := range targets {
					asked := f.times()
					if len(asked) < rounds-3 || asked[0] > first {
						t.Fatalf("healthy target %d: %d requests, the first after %v", i, len(asked), asked[0])
					}
					for j := 2; j < len(asked); j++ {
						if pause := asked[j] - asked[j-1]; asked[j] > 10*time.Second && pause != interval {
							t.Fatalf("healthy target %d: %v between two requests", i, pause)
						}
					}
				}
				for i := range hanging {
					if a := p.Answer(fmt.Sprint("hanging", i)); !errors.Is(a.Err, context.DeadlineExceeded) || a.FailingSince.IsZero() {
						t.Fatalf("hanging target %d: got %+v", i, a)
					}
				}
			})
		})
	}
}

// TestSlowTargetAnswers has an answer that takes longer than the fast lane allows, while the slow lane is full.
func TestSlowTargetAnswers(t *testing.T) {
	run(t, Options{Workers: 1, SlowWorkers: 1}, func(t *testing.T, p *Poller[string, int]) {
		hangs, slow := newTarget(), newTarget()
		hangs.lasts, slow.lasts, slow.value = -1, 2*time.Second, 7
		p.Observe("hangs", "job", hangs.query(), Observer[int]{Wake: func() {}})
		p.Observe("slow", "job", slow.query(), Observer[int]{Wake: func() {}})
		time.Sleep(timeout + 3*time.Second)
		if a := p.Answer("slow"); a.Value != 7 || a.Err != nil || !a.FailingSince.IsZero() {
			t.Errorf("got %+v", a)
		}
		slow.set(func(f *fakeTarget) { f.lasts = 0 })
		time.Sleep(time.Minute)
		synctest.Wait()
		if slow.most != 1 || hangs.most != 1 {
			t.Errorf("want one request in flight, got %d and %d", slow.most, hangs.most)
		}
	})
}

func TestRefresh(t *testing.T) {
	run(t, Options{}, func(t *testing.T, p *Poller[string, int]) {
		f, c := newTarget(), &changes{}
		f.lasts = 200 * time.Millisecond
		p.Observe("a", "job", f.query(), c.observer())
		time.Sleep(100 * time.Millisecond)
		p.Refresh("a") // in flight: what it answers may be older than this call
		time.Sleep(time.Second)
		p.Refresh("a")
		p.Refresh("unknown")
		time.Sleep(time.Second)
		want := []time.Duration{0, 200 * time.Millisecond, 1100 * time.Millisecond}
		if diff := cmp.Diff(want, f.times()); diff != "" {
			t.Errorf("times of requests (-want +got):\n%s", diff)
		}
		f.set(func(f *fakeTarget) { f.err = errors.New("broken") })
		time.Sleep(interval)
		n := len(f.times())
		p.Refresh("a")
		time.Sleep(time.Second)
		if got := len(f.times()); got != n {
			t.Error("a target that fails was asked before its time")
		}
	})
}

func TestRevision(t *testing.T) {
	run(t, Options{}, func(t *testing.T, p *Poller[string, int]) {
		old, renewed, c := newTarget(), newTarget(), &changes{}
		old.lasts, old.value, renewed.value = 300*time.Millisecond, 1, 2
		p.Observe("a", "job", old.query(), c.observer())
		time.Sleep(100 * time.Millisecond)
		q := renewed.query()
		q.Revision = "2"
		p.Observe("a", "job", q, c.observer())
		time.Sleep(time.Second)
		if a := p.Answer("a"); a.Value != 2 || len(old.times()) != 1 {
			t.Errorf("got %+v after %d old requests", a, len(old.times()))
		}
		c.want(t, 1)
		renewed.set(func(f *fakeTarget) { f.err = errors.New("the token is wrong") })
		time.Sleep(time.Minute)
		mended := newTarget()
		q = mended.query()
		q.Revision = "3"
		p.Observe("a", "job", q, c.observer())
		synctest.Wait()
		if len(mended.times()) != 1 {
			t.Error("want no pause after failures that were of another token")
		}
	})
}

func TestUnobserve(t *testing.T) {
	run(t, Options{}, func(t *testing.T, p *Poller[string, int]) {
		f, one, two := newTarget(), &changes{}, &changes{}
		p.Observe("a", "one", f.query(), one.observer())
		p.Observe("a", "two", f.query(), two.observer())
		time.Sleep(time.Second)
		p.Unobserve("a", "one")
		f.set(func(f *fakeTarget) { f.value = 1 })
		time.Sleep(interval)
		synctest.Wait()
		one.want(t, 1)
		two.want(t, 2)
		f.set(func(f *fakeTarget) { f.lasts = -1 })
		time.Sleep(interval)
		p.Unobserve("a", "two") // in flight
		p.Unobserve("a", "two")
		synctest.Wait()
		if n := p.Targets(); n != 0 {
			t.Errorf("want no target, got %d", n)
		}
		n := len(f.times())
		time.Sleep(10 * interval)
		if got := len(f.times()); got != n {
			t.Errorf("asked %d times more", got-n)
		}
	})
}

// TestObservedAgain takes the only observer away while a request is in flight, and puts it back before that has ended.
func TestObservedAgain(t *testing.T) {
	run(t, Options{}, func(t *testing.T, p *Poller[string, int]) {
		f, c := newTarget(), &changes{}
		f.lasts = -1
		p.Observe("a", "job", f.query(), c.observer())
		time.Sleep(100 * time.Millisecond)
		f.set(func(f *fakeTarget) { f.lasts, f.value = 0, 3 })
		p.Unobserve("a", "job")
		p.Observe("a", "job", f.query(), c.observer())
		synctest.Wait()
		if a := p.Answer("a"); a.Value != 3 || a.Err != nil {
			t.Errorf("got %+v", a)
		}
	})
}

func TestPanicIsAnError(t *testing.T) {
	run(t, Options{}, func(t *testing.T, p *Poller[string, int]) {
		q := newTarget().query()
		q.Ask = func(context.Context) (int, error) { panic("oops") }
		p.Observe("a", "job", q, Observer[int]{Wake: func() {}})
		synctest.Wait()
		if a := p.Answer("a"); a.Err == nil {
			t.Errorf("got %+v", a)
		}
	})
}
