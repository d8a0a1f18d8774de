package poll

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"
)

func TestCommandRunsOnce(t *testing.T) {
	run(t, Options{}, func(t *testing.T, p *Poller[string, int]) {
		f, runs, woken := newTarget(), 0, 0
		p.Observe("a", "job", f.query(), Observer[int]{Wake: func() {}})
		time.Sleep(time.Second)
		refused := errors.New("refused")
		c := Command{Timeout: timeout, Wake: func() { woken++ }, Run: func(context.Context) error {
			runs++
			time.Sleep(time.Second)
			return refused
		}}
		for range 3 {
			if o := p.Do("a", "submit", c); o.Done {
				t.Errorf("got %+v before its end", o)
			}
		}
		time.Sleep(time.Second)
		synctest.Wait()
		o, known := p.Outcome("a", "submit")
		if !known || !o.Done || !errors.Is(o.Err, refused) || o.DoneAt.Sub(f.begin) != 2*time.Second {
			t.Errorf("got %+v, %t", o, known)
		}
		if o := p.Do("a", "submit", c); !o.Done || runs != 1 || woken != 1 {
			t.Errorf("got %+v after %d runs and %d wake-ups", o, runs, woken)
		}
		if asked := f.times(); len(asked) != 2 || asked[1] != 2*time.Second {
			t.Errorf("want a request right after the command, got %v", asked)
		}
		p.Forget("a", "submit")
		if _, known := p.Outcome("a", "submit"); known {
			t.Error("want it forgotten")
		}
		p.Do("a", "submit", c)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if runs != 2 {
			t.Errorf("want a second run, got %d", runs)
		}
	})
}

// TestCommandWithoutObserver stops a job whose RayJob is being deleted.
func TestCommandWithoutObserver(t *testing.T) {
	run(t, Options{}, func(t *testing.T, p *Poller[string, int]) {
		p.Do("a", "stop", Command{Timeout: timeout, Run: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }})
		time.Sleep(timeout)
		synctest.Wait()
		if o, _ := p.Outcome("a", "stop"); !o.Done || !errors.Is(o.Err, context.DeadlineExceeded) {
			t.Errorf("got %+v", o)
		}
		p.Forget("a", "stop")
		p.Forget("a", "stop")
		if n := p.Targets(); n != 0 {
			t.Errorf("want no target, got %d", n)
		}
	})
}

func TestUnobserveAndForget(t *testing.T) {
	run(t, Options{}, func(t *testing.T, p *Poller[string, int]) {
		f, c := newTarget(), &changes{}
		f.lasts = time.Second
		p.Observe("a", "job", f.query(), c.observer())
		synctest.Wait()
		p.Do("a", "stop", Command{Timeout: timeout, Run: func(context.Context) error { return nil }})
		p.Do("b", "stop", Command{Timeout: timeout, Run: func(context.Context) error { return nil }})
		synctest.Wait()
		for _, key := range []string{"a", "b", "unknown"} {
			p.Unobserve(key, "job")
			p.Forget(key, "stop")
		}
		synctest.Wait()
		if n := p.Targets(); n != 0 {
			t.Errorf("want no target, got %d", n)
		}
		c.want(t, 0)
	})
}

// TestForgetWhileItRuns deletes a RayJob together with its cluster while its job is being stopped.
func TestForgetWhileItRuns(t *testing.T) {
	run(t, Options{}, func(t *testing.T, p *Poller[string, int]) {
		var ended atomic.Int32
		c := Command{Timeout: timeout, Run: func(context.Context) error {
			time.Sleep(time.Second)
			ended.Add(1)
			return nil
		}}
		for _, key := range []string{"forgotten", "wanted again"} {
			p.Do(key, "stop", c)
			p.Forget(key, "stop")
		}
		p.Do("wanted again", "stop", c)
		time.Sleep(timeout)
		synctest.Wait()
		if n := p.Targets(); n != 1 || ended.Load() != 2 {
			t.Errorf("want one target, and both commands at their end, got %d and %d", n, ended.Load())
		}
		if o, _ := p.Outcome("wanted again", "stop"); !o.Done {
			t.Error("want the outcome of the command that was wanted again")
		}
	})
}

// TestOneAtATime queries and commands a target from many goroutines.
func TestOneAtATime(t *testing.T) {
	run(t, Options{}, func(t *testing.T, p *Poller[string, int]) {
		f := newTarget()
		f.lasts = 50 * time.Millisecond
		for i := range 20 {
			go func() {
				name := fmt.Sprint(i)
				p.Observe("a", name, f.query(), Observer[int]{Wake: func() { p.Answer("a") }})
				p.Do("a", name, Command{Timeout: timeout, Run: func(ctx context.Context) error { _, err := f.ask(ctx); return err }})
				p.Refresh("a")
				time.Sleep(30*time.Second + time.Duration(i)*100*time.Millisecond)
				p.Forget("a", name)
				p.Unobserve("a", name)
			}()
		}
		time.Sleep(time.Minute)
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.most != 1 || len(f.asked) < 21 {
			t.Errorf("want one request in flight, got %d at most in %d", f.most, len(f.asked))
		}
		if n := p.Targets(); n != 0 {
			t.Errorf("want no target, got %d", n)
		}
	})
}

func TestStartEndsAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New[string, int](Options{Clock: clock.RealClock{}})
		f, woken := newTarget(), false
		f.lasts = -1
		p.Observe("a", "job", f.query(), Observer[int]{Wake: func() { woken = true }})
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		if err := p.Start(ctx); err != nil {
			t.Fatal(err)
		}
		p.Observe("b", "job", f.query(), Observer[int]{Wake: func() { woken = true }})
		p.Do("b", "stop", Command{Timeout: timeout, Run: func(context.Context) error { woken = true; return nil }})
		time.Sleep(time.Minute)
		if woken || len(f.times()) != 1 {
			t.Errorf("want nothing after the end, got a wake-up: %t, and requests at %v", woken, f.times())
		}
	})
}
