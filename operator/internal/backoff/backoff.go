// Package backoff says when something that failed may be tried again. Unlike flowcontrol.Backoff of client-go it reports how long is left,
// and starts again with another generation of the object that asks for the attempt.
package backoff

import (
	"iter"
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/raygate/raygate/operator/internal/byowner"
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

// keepFor is how long an attempt is remembered that is due and not made.
const keepFor = time.Hour

// Limiter remembers failures in a row, and why the last one failed. After a restart every attempt is due at once. It may be used from
// several goroutines, for one owner by one at a time.
type Limiter[Why any] struct {
	config  Config
	clock   clock.PassiveClock
	entries byowner.Map[string, entry[Why]]
}

type entry[Why any] struct {
	generation int64
	failures   int
	until      time.Time // the next attempt is due
	why        Why
}

// New returns a limiter without failures.
func New[Why any](c clock.PassiveClock, config Config) *Limiter[Why] {
	return &Limiter[Why]{config: config, clock: c}
}

// Failed notes a failed attempt for this generation of the owner and returns the wait before the next. Failures of another generation and
// those of long ago do not count.
func (l *Limiter[Why]) Failed(k Key, generation int64, why Why) time.Duration {
	now := l.clock.Now()
	e, _ := l.entries.Get(k.Owner, k.Attempt)
	if e.generation != generation || now.Sub(e.until) > 2*max(l.config.First, l.config.Last) {
		e = entry[Why]{generation: generation}
	}
	e.failures++
	e.why = why
	var wait time.Duration
	if n := e.failures - l.config.Free; n > 0 {
		wait = min(l.config.First<<min(n-1, 20), max(l.config.First, l.config.Last))
	}
	e.until = now.Add(wait)
	l.entries.DeleteFunc(func(e entry[Why]) bool { return now.Sub(e.until) > keepFor })
	l.entries.Set(k.Owner, k.Attempt, e)
	return wait
}

// Unknown notes that nobody knows how an attempt ended: no failure that the next has to wait for, and no success either.
func (l *Limiter[Why]) Unknown(k Key, generation int64) {
	if _, ok := l.Last(k, generation); !ok {
		l.entries.Set(k.Owner, k.Attempt, entry[Why]{generation: generation, until: l.clock.Now()})
	}
}

// Wait returns how long the next attempt for this generation is too early, zero if it is not.
func (l *Limiter[Why]) Wait(k Key, generation int64) time.Duration {
	e, ok := l.entries.Get(k.Owner, k.Attempt)
	if !ok || e.generation != generation {
		return 0
	}
	return max(0, e.until.Sub(l.clock.Now()))
}

// Last returns why the last attempt for this generation failed; ok is false if it succeeded, or there was none.
func (l *Limiter[Why]) Last(k Key, generation int64) (why Why, ok bool) {
	if e, found := l.entries.Get(k.Owner, k.Attempt); found && e.generation == generation {
		return e.why, true
	}
	return why, false
}

// Attempts are those of the owner that did not succeed, for whatever generation.
func (l *Limiter[Why]) Attempts(owner types.UID) iter.Seq[string] {
	return maps.Keys(l.entries.All(owner))
}

// Succeeded forgets the failures.
func (l *Limiter[Why]) Succeeded(k Key) { l.entries.Delete(k.Owner, k.Attempt) }

// Forget drops an owner that is gone.
func (l *Limiter[Why]) Forget(owner types.UID) { l.entries.Forget(owner) }
