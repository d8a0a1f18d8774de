package poll

import (
	"cmp"
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// Options tune a Poller. The zero value of each field but Clock is usable.
type Options struct {
	Clock clock.Clock
	// Random returns a number from 0 to below 1 for jitter. Nil means one that differs.
	Random func() float64
	// MaxBackoff limits the pause after failures. 0 means 30 seconds.
	MaxBackoff time.Duration
	// MaxInFlight limits the requests in flight, for the memory and the connections that they hold. 0 means 1,024.
	MaxInFlight int
}

// Poller polls targets named by keys. All methods are safe for concurrent use and none waits for a target.
type Poller[K comparable, V any] struct {
	o      Options
	ctx    context.Context // ends all requests
	cancel context.CancelFunc
	wg     sync.WaitGroup
	places chan struct{} // has an element per request in flight

	mu      sync.Mutex
	closed  bool
	targets map[K]*target[V]
}

// target is one target. The lock of the Poller protects it.
type target[V any] struct {
	query     Query[V]
	observers map[string]*observing[V]
	answer    Answer[V]
	failures  int
	// next is when the query is due. Zero means now.
	next time.Time
	// again says that the query is due once more after the one in flight.
	again bool
	// cancel ends the query in flight, if any.
	cancel   context.CancelFunc
	commands map[string]*command
	pending  []*command
	// serving says that a goroutine serves the target. It listens to changed while it rests.
	serving bool
	changed chan struct{}
}

type observing[V any] struct {
	Observer[V]
	seen Answer[V]
}

type command struct {
	Command
	name    string
	outcome Outcome
	// forgotten says that nobody wants to know the outcome.
	forgotten bool
}

// New returns a Poller that works until Start returns.
func New[K comparable, V any](o Options) *Poller[K, V] {
	if o.Random == nil {
		o.Random = rand.Float64
	}
	o.MaxBackoff = cmp.Or(o.MaxBackoff, 30*time.Second)
	p := &Poller[K, V]{o: o, targets: map[K]*target[V]{}, places: make(chan struct{}, cmp.Or(o.MaxInFlight, 1024))}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	return p
}

// Start waits for the end of the context, ends all requests and returns when they have. Nobody is woken after that.
func (p *Poller[K, V]) Start(ctx context.Context) error {
	<-ctx.Done()
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.cancel()
	p.wg.Wait()
	return nil
}

// Observe registers an observer of a target under a name, or renews what it registered before, and returns the last
// answer. A new target is asked at once. The query of the last call counts for all observers of the target. Call it with
// each reconcile: it is cheap, and the answer that it returns is the one that changes are compared with.
func (p *Poller[K, V]) Observe(key K, name string, q Query[V], o Observer[V]) Answer[V] {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.get(key)
	if len(t.observers) == 0 || t.query.Revision != q.Revision {
		t.failures, t.next, t.again = 0, time.Time{}, true
		defer p.advance(key, t)
	}
	t.query = q
	t.observers[name] = &observing[V]{Observer: o, seen: t.answer}
	return t.answer
}

// Unobserve takes an observer away. A target that nobody observes and that has no commands is forgotten, with a request in
// flight cancelled. Names that are not known are ignored.
func (p *Poller[K, V]) Unobserve(key K, name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if t := p.targets[key]; t != nil {
		if delete(t.observers, name); len(t.observers) > 0 {
			return
		}
		if t.cancel != nil {
			t.cancel()
		}
		p.advance(key, t)
	}
}

// Answer returns the last answer of a target, which is the zero value for one that nobody observes.
func (p *Poller[K, V]) Answer(key K) Answer[V] {
	p.mu.Lock()
	defer p.mu.Unlock()
	if t := p.targets[key]; t != nil {
		return t.answer
	}
	return Answer[V]{}
}

// Refresh has a target asked as soon as possible, for an answer whose AskedAt is not before now. Targets that fail keep
// their pause.
func (p *Poller[K, V]) Refresh(key K) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if t := p.targets[key]; t != nil && t.failures == 0 && len(t.observers) > 0 {
		t.next, t.again = time.Time{}, true
		p.advance(key, t)
	}
}

// Do runs a command under a name, unless one of that name runs already or its outcome has not been forgotten, and returns
// what became of it. Commands go before queries and do not wait for the pause after failures. When one ends, its target is
// asked again, so that its effect is seen.
func (p *Poller[K, V]) Do(key K, name string, c Command) Outcome {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.get(key)
	known := t.commands[name]
	if known == nil {
		known = &command{Command: c, name: name}
		t.commands[name] = known
		t.pending = append(t.pending, known)
		p.advance(key, t)
	}
	known.forgotten = false
	return known.outcome
}

// Outcome returns what became of a command, and whether there is one of that name.
func (p *Poller[K, V]) Outcome(key K, name string) (Outcome, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if t := p.targets[key]; t != nil && t.commands[name] != nil {
		return t.commands[name].outcome, true
	}
	return Outcome{}, false
}

// Forget forgets the outcome of a command, so that the next Do of that name runs it again. One that is not done is carried
// out and forgotten when it ends.
func (p *Poller[K, V]) Forget(key K, name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if t := p.targets[key]; t != nil && t.commands[name] != nil {
		c := t.commands[name]
		if c.forgotten = true; c.outcome.Done {
			delete(t.commands, name)
			p.advance(key, t)
		}
	}
}

func (p *Poller[K, V]) get(key K) *target[V] {
	t := p.targets[key]
	if t == nil {
		t = &target[V]{observers: map[string]*observing[V]{}, commands: map[string]*command{}, changed: make(chan struct{}, 1)}
		p.targets[key] = t
	}
	return t
}
