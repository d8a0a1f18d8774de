package authn

import (
	"context"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/utils/clock"
)

const (
	// maxVerdicts bounds each of the two caches of a Verdicts, at some 300 bytes an entry.
	maxVerdicts = 20000
	// askTime bounds one question to the API server, awayPause how long an old verdict is used before the API server is asked again,
	// stalePatience how long a caller with an old verdict waits for a new one.
	askTime       = 10 * time.Second
	awayPause     = 2 * time.Second
	stalePatience = time.Second
)

// Answer is a verdict of the API server.
type Answer[V any] struct {
	Value V
	// Refusal is the verdict when it is no.
	Refusal error
	// Fresh is how long the verdict stands without asking again, Stale how much longer it stands while the API server cannot be asked.
	Fresh, Stale time.Duration
}

// Verdicts caches what the API server says about callers. Verdicts that say yes and those that say no are kept apart, so that made-up tokens cannot
// push out those of real callers.
type Verdicts[V any] struct {
	clock  clock.PassiveClock
	yes    *cache.LRUExpireCache
	no     *cache.LRUExpireCache
	flight singleflight.Group
	// away is until when the API server is not asked for what has an old verdict; nil when it is asked. A time, and not a number: it
	// holds a monotonic reading, so that a clock that is set back does not make it longer.
	away atomic.Pointer[time.Time]
}

type entry[V any] struct {
	Answer[V]
	until time.Time // fresh until
}

// NewVerdicts returns an empty cache. A nil clock means the real one.
func NewVerdicts[V any](c clock.PassiveClock) *Verdicts[V] {
	if c == nil {
		c = clock.RealClock{}
	}
	return &Verdicts[V]{clock: c, yes: cache.NewLRUExpireCacheWithClock(maxVerdicts, c), no: cache.NewLRUExpireCacheWithClock(maxVerdicts, c)}
}

// Known returns a fresh verdict without asking. ok is false when there is none.
func (v *Verdicts[V]) Known(key string) (value V, refusal error, ok bool) {
	if e := v.find(key); e != nil && v.usable(e) {
		return e.Value, e.Refusal, true
	}
	return value, nil, false
}

// usable reports whether e stands without asking.
func (v *Verdicts[V]) usable(e *entry[V]) bool {
	now, away := v.clock.Now(), v.away.Load()
	return now.Before(e.until) || away != nil && now.Before(*away)
}

func (v *Verdicts[V]) find(key string) *entry[V] {
	for _, c := range []*cache.LRUExpireCache{v.yes, v.no} {
		if e, ok := c.Get(key); ok {
			return e.(*entry[V])
		}
	}
	return nil
}

// Get returns the verdict for key, and asks for one when there is none or it is not fresh. An error of ask means that there is no verdict; an
// older one then stands for its Stale time.
func (v *Verdicts[V]) Get(ctx context.Context, key string, ask func(context.Context) (Answer[V], error)) (V, error) {
	old := v.find(key)
	if old != nil && v.usable(old) {
		return old.Value, old.Refusal
	}
	result := v.flight.DoChan(key, func() (any, error) {
		// Not the context of the first asker, whose going away is no answer for the others; the values (the caller) are the same.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), askTime)
		defer cancel()
		answer, err := ask(ctx)
		if err != nil {
			v.away.Store(new(v.clock.Now().Add(awayPause)))
			if ctx.Err() != nil { // the time of the question, and of no caller
				err = apierrors.NewServiceUnavailable("the Kubernetes API server does not answer")
			}
			return nil, err
		}
		v.away.Store(nil)
		return v.keep(key, answer), nil
	})
	var patience <-chan time.Time
	if old != nil {
		timer := time.NewTimer(stalePatience)
		defer timer.Stop()
		patience = timer.C
	}
	var zero V
	select {
	case <-ctx.Done():
		return zero, ctx.Err()
	case <-patience:
		return old.Value, old.Refusal
	case r := <-result:
		switch {
		case r.Err == nil:
			e := r.Val.(*entry[V])
			return e.Value, e.Refusal
		case old != nil:
			return old.Value, old.Refusal
		}
		return zero, r.Err
	}
}

func (v *Verdicts[V]) keep(key string, a Answer[V]) *entry[V] {
	e := &entry[V]{Answer: a, until: v.clock.Now().Add(a.Fresh)}
	in, out := v.yes, v.no
	if a.Refusal != nil {
		in, out = v.no, v.yes
	}
	out.Remove(key)
	in.Add(key, e, a.Fresh+a.Stale)
	return e
}
