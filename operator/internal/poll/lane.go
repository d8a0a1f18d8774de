package poll

import (
	"context"
	"fmt"
	"time"

	"k8s.io/utils/clock"
)

// lane is a number of places for requests and those that wait for one.
type lane[V any] struct {
	free    int
	waiting []*work[V]
}

// work is one request: a command, or the query of its target if there is none.
type work[V any] struct {
	target  *target[V]
	query   Query[V]
	command *command

	lane    *lane[V] // nil while it has no place
	started time.Time
	cancel  context.CancelFunc
	timers  []clock.Timer
	// over says that the outcome is known; crowded that it is to be tried again in the slow lane; dropped that nobody wanted
	// to know any more.
	over, crowded, dropped bool
}

// errTimeout is the outcome of a request that ran out of time.
var errTimeout = fmt.Errorf("waiting for an answer: %w", context.DeadlineExceeded)

// advance decides what a target does next. The lock is held here and below.
func (p *Poller[K, V]) advance(t *target[V]) {
	switch {
	case p.closed || t.current != nil:
	case len(t.pending) > 0:
		c := t.pending[0]
		t.pending = t.pending[1:]
		p.enqueue(&work[V]{target: t, command: c})
	case len(t.observers) == 0:
		t.stopTimer()
		if len(t.commands) == 0 {
			t.remove()
		}
	case t.due:
		t.stopTimer()
		p.enqueue(&work[V]{target: t})
	case t.timer == nil:
		var timer clock.Timer
		timer = p.o.Clock.AfterFunc(p.pause(t), func() { p.tick(t, &timer) })
		t.timer = timer
	}
}

// pause grows with each failure in a row. A tenth of it is left to chance, so that targets drift apart.
func (p *Poller[K, V]) pause(t *target[V]) time.Duration {
	d := t.query.Interval
	if t.failures > 0 {
		d = max(d, min(d<<min(t.failures, 10), p.o.MaxBackoff))
	}
	return time.Duration(float64(d) * (0.95 + 0.1*p.o.Random()))
}

// tick does nothing when its timer was stopped too late.
func (p *Poller[K, V]) tick(t *target[V], timer *clock.Timer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if t.timer == *timer {
		t.due, t.timer = true, nil
		p.advance(t)
	}
}

func (p *Poller[K, V]) enqueue(w *work[V]) {
	w.target.current = w
	l := &p.fast
	if w.target.slow {
		l = &p.slow
	}
	l.waiting = append(l.waiting, w)
	p.fill(l)
}

// fill starts what waits for a place.
func (p *Poller[K, V]) fill(l *lane[V]) {
	for l.free > 0 && len(l.waiting) > 0 && !p.closed {
		w := l.waiting[0]
		l.waiting[0] = nil
		l.waiting = l.waiting[1:]
		if t := w.target; w.command == nil && len(t.observers) == 0 {
			t.current = nil
			p.advance(t)
			continue
		}
		l.free--
		w.lane = l
		p.start(w)
	}
}

func (p *Poller[K, V]) release(w *work[V]) {
	if l := w.lane; l != nil {
		w.lane = nil
		l.free++
		p.fill(l)
	}
}

func (p *Poller[K, V]) start(w *work[V]) {
	t, timeout := w.target, time.Duration(0)
	if w.command != nil {
		timeout = w.command.Timeout
	} else {
		w.query, timeout = t.query, t.query.Timeout
		t.due, t.again = false, false
	}
	w.started = p.o.Clock.Now()
	var ctx context.Context
	ctx, w.cancel = context.WithCancel(p.ctx)
	w.timers = append(w.timers, p.o.Clock.AfterFunc(timeout, func() { p.expire(w) }))
	if w.lane == &p.fast {
		w.timers = append(w.timers, p.o.Clock.AfterFunc(p.o.SlowAfter, func() { p.yield(w) }))
	}
	p.wg.Go(func() {
		defer w.cancel()
		if w.command != nil {
			var none V
			p.finish(w, none, safely(func() error { return w.command.Run(ctx) }))
			return
		}
		var value V
		err := safely(func() (err error) {
			value, err = w.query.Ask(ctx)
			return err
		})
		p.finish(w, value, err)
	})
}

// safely keeps a panic, which would end the process, from leaving the goroutine.
func safely(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	return f()
}

// yield takes a request that lasts out of the fast lane. Where the slow lane is full a query is cancelled, to be asked
// again there; a command, whose effect cannot be taken back, stays.
func (p *Poller[K, V]) yield(w *work[V]) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case w.over || w.lane != &p.fast:
	case p.slow.free > 0:
		w.target.slow = true
		p.release(w)
		p.slow.free--
		w.lane = &p.slow
	case w.command == nil:
		w.target.slow = true
		w.crowded = true
		w.cancel()
		p.release(w)
	default:
		w.timers = append(w.timers, p.o.Clock.AfterFunc(p.o.SlowAfter, func() { p.yield(w) }))
	}
}

// expire ends a request that ran out of time. Its place is free at once, even if the request does not end; its target
// waits until it does.
func (p *Poller[K, V]) expire(w *work[V]) {
	p.mu.Lock()
	var wake []func()
	if !w.over {
		w.cancel()
		w.target.slow = true
		var none V
		wake = p.settle(w, none, errTimeout)
		p.release(w)
	}
	p.mu.Unlock()
	call(wake)
}

// finish takes what a request returned.
func (p *Poller[K, V]) finish(w *work[V], value V, err error) {
	p.mu.Lock()
	var wake []func()
	t := w.target
	for _, timer := range w.timers {
		timer.Stop()
	}
	switch {
	case w.crowded && err != nil && !w.over:
		w.over = true
		t.due = true // was cut short: not an outcome
	case !w.over:
		t.slow = p.o.Clock.Since(w.started) >= p.o.SlowAfter
		wake = p.settle(w, value, err)
	}
	t.current = nil
	p.release(w)
	p.advance(t)
	p.mu.Unlock()
	call(wake)
}

// settle records the outcome of a request and returns whom to wake.
func (p *Poller[K, V]) settle(w *work[V], value V, err error) (wake []func()) {
	w.over = true
	t := w.target
	if p.closed {
		return nil
	}
	if c := w.command; c != nil {
		c.outcome = Outcome{Done: true, Err: err, DoneAt: p.o.Clock.Now()}
		t.due = true
		if c.Wake != nil {
			wake = append(wake, c.Wake)
		}
		return wake
	}
	if w.query.Revision != t.query.Revision || w.dropped {
		t.due = true
		return nil
	}
	t.due = t.again
	t.record(w, value, err, p.o.Clock.Now())
	for _, o := range t.observers {
		if o.Changed == nil || o.Changed(o.seen, t.answer) {
			o.seen = t.answer
			wake = append(wake, o.Wake)
		}
	}
	return wake
}

func (t *target[V]) record(w *work[V], value V, err error, now time.Time) {
	a := &t.answer
	if err == nil {
		t.failures = 0
		*a = Answer[V]{Value: value, AskedAt: w.started}
		return
	}
	t.failures++
	t.due = false
	a.Err, a.FailedAt = err, w.started
	if a.FailingSince.IsZero() {
		a.FailingSince = now
	}
}

func call(wake []func()) {
	for _, f := range wake {
		f()
	}
}
