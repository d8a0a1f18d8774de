// Package backoff decides when a failed operation may be retried. Unlike flowcontrol.Backoff of client-go, it reports the
// remaining wait and starts again when the generation of the owner changes.
package backoff

import (
	"iter"
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/raygate/raygate/operator/internal/objectmap"
)

// Key identifies an operation of an owner.
type Key struct {
	// Owner is the UID of the object for which the operation is done.
	Owner types.UID
	// Attempt identifies the operation among those of the same owner.
	Attempt string
}

// Config configures the waits. First is required.
type Config struct {
	// First is the wait after the first failure. Each further failure doubles it, up to Last.
	First, Last time.Duration
	// Free is the number of failures in a row that cause no wait.
	Free int
}

// keepFor is how long a due operation is remembered if it is not retried.
const keepFor = time.Hour

// Limiter remembers the consecutive failures of each operation and the cause of the last one. After a restart every operation is
// due at once. A Limiter is safe for concurrent use by several goroutines, but by only one per owner.
type Limiter[Why any] struct {
	config  Config
	clock   clock.PassiveClock
	entries objectmap.Map[string, entry[Why]]
}

type entry[Why any] struct {
	generation int64
	failures   int
	until      time.Time // when the next attempt is due
	why        Why
}

// New returns a limiter without failures.
func New[Why any](c clock.PassiveClock, config Config) *Limiter[Why] {
	return &Limiter[Why]{config: config, clock: c}
}

// Failed records a failed attempt for this generation of the owner and returns the wait before the next one. It ignores failures
// of another generation and old ones.
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

// Unknown records that the result of an attempt is unknown. It causes no wait and does not count as a success.
func (l *Limiter[Why]) Unknown(k Key, generation int64) {
	if _, ok := l.Last(k, generation); !ok {
		l.entries.Set(k.Owner, k.Attempt, entry[Why]{generation: generation, until: l.clock.Now()})
	}
}

// Wait returns the remaining wait before the next attempt for this generation, or 0 if it is due.
func (l *Limiter[Why]) Wait(k Key, generation int64) time.Duration {
	e, ok := l.entries.Get(k.Owner, k.Attempt)
	if !ok || e.generation != generation {
		return 0
	}
	return max(0, e.until.Sub(l.clock.Now()))
}

// Last returns the cause of the last failure for this generation. ok is false if the attempt succeeded or there was none.
func (l *Limiter[Why]) Last(k Key, generation int64) (why Why, ok bool) {
	if e, found := l.entries.Get(k.Owner, k.Attempt); found && e.generation == generation {
		return e.why, true
	}
	return why, false
}

// Attempts returns the owner's operations that have not succeeded, of any generation.
func (l *Limiter[Why]) Attempts(owner types.UID) iter.Seq[string] {
	return maps.Keys(l.entries.All(owner))
}

// Succeeded removes the recorded failures.
func (l *Limiter[Why]) Succeeded(k Key) { l.entries.Delete(k.Owner, k.Attempt) }

// Forget removes all records of a deleted owner.
func (l *Limiter[Why]) Forget(owner types.UID) { l.entries.Forget(owner) }
