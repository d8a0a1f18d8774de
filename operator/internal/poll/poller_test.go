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

// fakeTarget counts what is asked of it and answers as configured.
type fakeTarget struct {
	mu       sync.Mutex
	value    int
	err      error
	lasts    time.Duration // forever if negative
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
	lasts := f.lasts
	f.mu.Unlock()
	defer f.set(func(f *fakeTarget) { f.inFlight-- })
	switch {
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

// TestHangingTargetsDelayNobody registers a target that answers at once after many that hang until their deadline.
func TestHangingTargetsDelayNobody(t *testing.T) {
	const hanging, rounds = 1000, 100
	run(t, Options{}, func(t *testing.T, p *Poller[string, int]) {
		hangs, healthy := newTarget(), newTarget()
		hangs.lasts = -1
		for i := range hanging {
			p.Observe(fmt.Sprint("hanging", i), "job", hangs.query(), Observer[int]{Wake: func() {}})
		}
		p.Observe("healthy", "job", healthy.query(), Observer[int]{Wake: func() {}})
		time.Sleep(rounds*interval - time.Second)
		asked := healthy.times()
		if len(asked) != rounds {
			t.Errorf("want %d requests, got %d", rounds, len(asked))
		}
		for i, at := range asked {
			if at != time.Duration(i)*interval {
				t.Fatalf("request %d came after %v", i, at)
			}
		}
		for i := range hanging {
			if a := p.Answer(fmt.Sprint("hanging", i)); !errors.Is(a.Err, context.DeadlineExceeded) || a.FailingSince.IsZero() {
				t.Fatalf("hanging target %d: got %+v", i, a)
			}
		}
	})
}

func TestRequestsInFlightAreBounded(t *testing.T) {
	run(t, Options{MaxInFlight: 3}, func(t *testing.T, p *Poller[string, int]) {
		f := newTarget()
		f.lasts = time.Second
		for i := range 9 {
			p.Observe(fmt.Sprint(i), "job", f.query(), Observer[int]{Wake: func() {}})
		}
		p.Unobserve("8", "job") // while it waits for its turn
		time.Sleep(3*time.Second + interval/2)
		if asked := f.times(); len(asked) < 8 || f.most != 3 {
			t.Errorf("want all asked, 3 at a time, got %d at most at %v", f.most, asked)
		}
		if n := p.Targets(); n != 8 {
			t.Errorf("want 8 targets, got %d", n)
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
		f.lasts = time.Millisecond // so that both observe before the first answer
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
