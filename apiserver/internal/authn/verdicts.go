package authn

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"
	"golang.org/x/time/rate"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/utils/clock"
	"k8s.io/utils/lru"
)

const (
	// maxVerdicts bounds each of the two caches of a Verdicts, at some 300 bytes an entry.
	maxVerdicts = 20000
	// askTime is the timeout of a request to the API server. awayPause is how long an outdated verdict is used before the next request.
	// stalePatience is how long a caller with an outdated verdict waits for a new one.
	askTime       = 10 * time.Second
	awayPause     = 2 * time.Second
	stalePatience = time.Second
	// keptRate is the number of verdicts per second that are cached of each caller on average, and keptBurst the number at once.
	keptRate, keptBurst = 50, 2000
)

// Answer is a verdict of the API server about a caller.
type Answer[V any] struct {
	Value V
	// Refusal is the error of a negative verdict.
	Refusal error
	// Fresh is how long the verdict is used without a new request, Stale how much longer it is used while the API server is unreachable.
	Fresh, Stale time.Duration
}

// errNoAnswer is for a question that took too long.
var errNoAnswer = apierrors.NewServiceUnavailable("the Kubernetes API server does not answer")

// Verdicts caches answers of the API server about callers. Positive and negative answers are in separate caches, so that invalid tokens
// cannot evict real callers.
type Verdicts[V any] struct {
	clock  clock.PassiveClock
	yes    *cache.LRUExpireCache
	no     *cache.LRUExpireCache
	flight singleflight.Group
	// kept has a token bucket of cached verdicts for each caller, so that one caller with many different keys cannot evict the verdicts of
	// others.
	kept *lru.Cache
	// away is the time until which outdated verdicts are used without a request, because the API server is unreachable; nil if it is
	// reachable. A time.Time has a monotonic reading, so that a clock that is set back does not prolong it.
	away atomic.Pointer[time.Time]
}

type entry[V any] struct {
	Answer[V]
	until time.Time                 // fresh until
	retry atomic.Pointer[time.Time] // not asked again until
}

// NewVerdicts returns an empty cache. A nil clock means the real one.
func NewVerdicts[V any](c clock.PassiveClock) *Verdicts[V] {
	c = cmp.Or[clock.PassiveClock](c, clock.RealClock{})
	return &Verdicts[V]{
		clock: c, yes: cache.NewLRUExpireCacheWithClock(maxVerdicts, c), no: cache.NewLRUExpireCacheWithClock(maxVerdicts, c), kept: lru.New(maxVerdicts),
	}
}

// Known returns a fresh verdict without a request. ok is false if there is none.
func (v *Verdicts[V]) Known(key string) (value V, refusal error, ok bool) {
	if e := v.find(key); e != nil && v.usable(e) {
		return e.Value, e.Refusal, true
	}
	return value, nil, false
}

// Old returns a positive verdict, fresh or outdated, for use while the API server is unreachable.
func (v *Verdicts[V]) Old(key string) (value V, ok bool) {
	if e := v.find(key); e != nil && e.Refusal == nil {
		return e.Value, true
	}
	return value, false
}

// usable reports whether e may be used without asking.
func (v *Verdicts[V]) usable(e *entry[V]) bool {
	now, away, retry := v.clock.Now(), v.away.Load(), e.retry.Load()
	return now.Before(e.until) || away != nil && now.Before(*away) || retry != nil && now.Before(*retry)
}

func (v *Verdicts[V]) find(key string) *entry[V] {
	for _, c := range []*cache.LRUExpireCache{v.yes, v.no} {
		if e, ok := c.Get(key); ok {
			return e.(*entry[V])
		}
	}
	return nil
}

// Get returns the verdict for key, and calls ask if there is none or it is not fresh. If ask fails, an outdated verdict is used for its
// Stale time.
func (v *Verdicts[V]) Get(ctx context.Context, key string, ask func(context.Context) (Answer[V], error)) (V, error) {
	old := v.find(key)
	if old != nil && v.usable(old) {
		return old.Value, old.Refusal
	}
	result := v.flight.DoChan(key, func() (any, error) {
		// Do not use the context of the first caller: its end must not fail the others. The values (the caller) are the same.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), askTime)
		defer cancel()
		answer, err := ask(ctx)
		if err != nil {
			return nil, v.failed(ctx, key, err)
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

// failed delays the next question: for this key, and for all keys if the API server cannot be reached. An error that the API server answers, such as
// too many requests, and a time-out may be caused by the caller, so they delay this key only.
func (v *Verdicts[V]) failed(ctx context.Context, key string, err error) error {
	until := v.clock.Now().Add(awayPause)
	if old := v.find(key); old != nil {
		old.retry.Store(&until)
	}
	var answered apierrors.APIStatus
	switch {
	case ctx.Err() != nil:
		return errNoAnswer
	case !errors.As(err, &answered):
		v.away.Store(&until)
	}
	return err
}

func (v *Verdicts[V]) keep(key string, a Answer[V]) *entry[V] {
	e := &entry[V]{Answer: a, until: v.clock.Now().Add(a.Fresh)}
	in, out := v.yes, v.no
	if a.Refusal != nil {
		in, out = v.no, v.yes
	}
	out.Remove(key)
	if in == v.no || v.room(key) {
		in.Add(key, e, a.Fresh+a.Stale)
	}
	return e
}

// room reports whether one more verdict may be cached for the caller of a key, which begins with Caller.Key. Otherwise the verdict is used once.
func (v *Verdicts[V]) room(key string) bool {
	owner := key[:min(len(key), sha256.Size)]
	if kept, ok := v.kept.Get(owner); ok {
		return kept.(*rate.Limiter).AllowN(v.clock.Now(), 1)
	}
	v.kept.Add(owner, rate.NewLimiter(keptRate, keptBurst-1))
	return true
}
