package poll

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// advance starts or wakes the goroutine of a target, or drops an idle target. The caller holds the lock.
func (p *Poller[K, V]) advance(key K, t *target[V]) {
	switch {
	case t.serving:
		select {
		case t.changed <- struct{}{}:
		default:
		}
	case t.idle():
		if len(t.commands) == 0 { // otherwise keep the outcomes
			delete(p.targets, key)
		}
	case !p.closed:
		t.serving = true
		p.wg.Go(func() { p.serve(key, t) })
	}
}

// idle reports whether a target has neither observers nor pending commands.
func (t *target[V]) idle() bool { return len(t.observers) == 0 && len(t.pending) == 0 }

// serve makes the requests of a target, one at a time, until it is idle.
func (p *Poller[K, V]) serve(key K, t *target[V]) {
	for {
		wait, over := p.wait(key, t)
		switch {
		case over:
			return
		case wait > 0:
			p.rest(t, wait)
			continue
		}
		select {
		case p.places <- struct{}{}:
			wake := p.request(t)
			<-p.places
			for _, f := range wake {
				f()
			}
		case <-p.ctx.Done():
		}
	}
}

// wait returns the time to the next request. over means that there is none.
func (p *Poller[K, V]) wait(key K, t *target[V]) (wait time.Duration, over bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.closed || t.idle():
		t.serving = false
		p.advance(key, t)
		return 0, true
	case len(t.pending) > 0:
		return 0, false
	default:
		return t.next.Sub(p.o.Clock.Now()), false
	}
}

func (p *Poller[K, V]) rest(t *target[V], wait time.Duration) {
	timer := p.o.Clock.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C():
	case <-t.changed:
	case <-p.ctx.Done():
	}
}

// request makes one request, a command before a query, and returns the observers to wake.
func (p *Poller[K, V]) request(t *target[V]) []func() {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.closed:
		return nil
	case len(t.pending) > 0:
		c := t.pending[0]
		t.pending = t.pending[1:]
		return p.run(t, c)
	case len(t.observers) > 0:
		return p.ask(t)
	default: // all observers left while the request waited for its place
		return nil
	}
}

// run runs a command. The caller holds the lock, which is released while the command runs.
func (p *Poller[K, V]) run(t *target[V], c *command) []func() {
	p.mu.Unlock()
	ctx, cancel := context.WithTimeout(p.ctx, c.Timeout)
	err := Safely(func() error { return c.Run(ctx) })
	cancel()
	p.mu.Lock()
	if p.closed {
		return nil
	}
	c.outcome = Outcome{Done: true, Err: err, DoneAt: p.o.Clock.Now()}
	t.next = time.Time{}
	if c.forgotten && t.commands[c.name] == c {
		delete(t.commands, c.name)
	}
	if c.Wake == nil {
		return nil
	}
	return []func(){c.Wake}
}

// ask runs the query. The caller holds the lock, which is released during the query.
func (p *Poller[K, V]) ask(t *target[V]) (wake []func()) {
	q, began := t.query, p.o.Clock.Now()
	t.again = false
	ctx, cancel := context.WithTimeout(p.ctx, q.Timeout)
	t.cancel = cancel
	p.mu.Unlock()
	var value V
	err := Safely(func() (err error) {
		value, err = q.Ask(ctx)
		return err
	})
	p.mu.Lock()
	dropped := errors.Is(ctx.Err(), context.Canceled)
	cancel()
	t.cancel = nil
	switch {
	case p.closed:
		return nil
	case dropped || q.Revision != t.query.Revision:
		t.next = time.Time{}
		return nil
	}
	p.record(t, began, value, err)
	for _, o := range t.observers {
		if o.Changed == nil || o.Changed(o.seen, t.answer) {
			o.seen = t.answer
			wake = append(wake, o.Wake)
		}
	}
	return wake
}

func (p *Poller[K, V]) record(t *target[V], began time.Time, value V, err error) {
	now := p.o.Clock.Now()
	if err == nil {
		t.failures = 0
		t.answer = Answer[V]{Value: value, AskedAt: began}
	} else {
		t.failures++
		t.answer.Err, t.answer.FailedAt = err, began
		if t.answer.FailingSince.IsZero() {
			t.answer.FailingSince = now
		}
	}
	if t.next = now.Add(p.pause(t)); t.again && err == nil {
		t.next = time.Time{}
	}
}

// pause returns the time to the next query. It grows with consecutive failures and varies by 5 % in each direction, so that
// targets do not synchronize.
func (p *Poller[K, V]) pause(t *target[V]) time.Duration {
	d := t.query.Interval
	if t.failures > 0 {
		d = max(d, min(d<<min(t.failures, 10), p.o.MaxBackoff))
	}
	return time.Duration(float64(d) * (0.95 + 0.1*p.o.Random()))
}

// Safely converts a panic of f to an error, because it would end the process.
func Safely(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	return f()
}
