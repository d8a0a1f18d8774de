// Package backoff says when something that failed may be tried again. It knows nothing about what is tried.
//
// The libraries have limiters that sleep or that count failures of a queue item (client-go's flowcontrol.Backoff does not tell
// how long is left, and none starts anew with another generation of the object that asks for the attempt).
package backoff

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
)

// Key is what is tried: an attempt of an owner.
type Key struct {
	// Owner asks for the attempt.
	Owner types.UID
	// Attempt tells the attempts of one owner apart.
	Attempt string
}

// Config is the shape of the waits. First is required.
type Config struct {
	// First is the wait after the first failure. Each further one doubles it, up to Last.
	First, Last time.Duration
	// Free is how many failures in a row cause no wait.
	Free int
}

// Limiter remembers failures in a row. All of it can be lost at any time: the next attempt then is due at once. It may be used
// from several goroutines.
type Limiter struct {
	config Config
	clock  clock.PassiveClock

	mu      sync.Mutex
	entries map[Key]entry
	swept   time.Time
}

type entry struct {
	generation int64
	failures   int
	until      time.Time // the next attempt is due
}

// New returns a limiter without failures.
func New(c clock.PassiveClock, config Config) *Limiter {
	return &Limiter{config: config, clock: c, entries: map[Key]entry{}, swept: c.Now()}
}

// Failed notes a failure of an attempt for this generation of the owner and returns after what time the next is due. Failures of
// another generation do not count: a changed spec is tried at once.
func (l *Limiter) Failed(k Key, generation int64) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock.Now()
	l.sweep(now)
	e, ok := l.entries[k]
	if !ok || e.generation != generation || l.over(e, now) {
		e = entry{generation: generation}
	}
	e.failures++
	var wait time.Duration
	if n := e.failures - l.config.Free; n > 0 {
		wait = min(l.config.First<<min(n-1, 20), max(l.config.First, l.config.Last))
	}
	e.until = now.Add(wait)
	l.entries[k] = e
	return wait
}

// Wait returns how long the next attempt for this generation is too early, zero if it is not.
func (l *Limiter) Wait(k Key, generation int64) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	e, ok := l.entries[k]
	if !ok || e.generation != generation {
		return 0
	}
	return max(0, e.until.Sub(l.clock.Now()))
}

// Failing reports whether the last attempt for this generation failed, unless that is long ago.
func (l *Limiter) Failing(k Key, generation int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	e, ok := l.entries[k]
	return ok && e.generation == generation && !l.over(e, l.clock.Now())
}

// Succeeded forgets the failures.
func (l *Limiter) Succeeded(k Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.entries, k)
}

// Forget drops an owner that is gone.
func (l *Limiter) Forget(owner types.UID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for k := range l.entries {
		if k.Owner == owner {
			delete(l.entries, k)
		}
	}
}

// over reports whether nothing failed for so long that the next failure is a first one.
func (l *Limiter) over(e entry, now time.Time) bool {
	return now.Sub(e.until) > 2*max(l.config.First, l.config.Last)
}

// sweep drops what is over, now and then.
func (l *Limiter) sweep(now time.Time) {
	if now.Sub(l.swept) < l.config.Last {
		return
	}
	l.swept = now
	for k, e := range l.entries {
		if l.over(e, now) {
			delete(l.entries, k)
		}
	}
}
