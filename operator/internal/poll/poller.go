package poll

import (
	"cmp"
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// Options configure a Poller. Clock is required; the zero value of other fields is usable.
type Options struct {
	Clock clock.Clock
	// Random returns a number in [0,1) for jitter. Nil means a random one.
	Random func() float64
	// MaxBackoff limits the pause after failures. 0 means 30 seconds.
	MaxBackoff time.Duration
	// MaxInFlight limits the requests in flight, for the memory and the connections that they hold. 0 means 1,024.
	MaxInFlight int
}

// Poller polls targets by key. All methods are safe for concurrent use and never wait for a target.
type Poller[K comparable, V any] struct {
	o      Options
	ctx    context.Context // ends all requests
	cancel context.CancelFunc
	wg     sync.WaitGroup
	places chan struct{} // one element per request in flight

	mu      sync.Mutex
	closed  bool
	targets map[K]*target[V]
}

// target is the state of one target. The lock of the Poller guards it.
type target[V any] struct {
	query     Query[V]
	observers map[string]*observing[V]
	answer    Answer[V]
	failures  int
	// next is when the query is due; zero means now.
	next time.Time
	// again means that the query is due again after the one in flight.
	again bool
	// cancel ends the query in flight; nil if there is none.
	cancel   context.CancelFunc
	commands map[string]*command
	pending  []*command
	// serving means that a goroutine serves the target. While it waits, it receives from changed.
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
	// forgotten means that the outcome is no longer needed.
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

// Start waits for the end of the context, ends all requests and waits for them. No observer is woken after that.
func (p *Poller[K, V]) Start(ctx context.Context) error {
	<-ctx.Done()
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.cancel()
	p.wg.Wait()
	return nil
}

// Observe registers an observer of a target under a name, or updates it, and returns the last answer. A new target is queried at
// once. The last query applies to all observers of the target. Call Observe in each reconcile: it is cheap, and later answers are
// compared with the returned one.
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

// Unobserve removes an observer. A target without observers and commands is dropped, and its request in flight cancelled. Unknown
// names are ignored.
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

// Answer returns the last answer of a target; the zero value if it has no observers.
func (p *Poller[K, V]) Answer(key K) Answer[V] {
	p.mu.Lock()
	defer p.mu.Unlock()
	if t := p.targets[key]; t != nil {
		return t.answer
	}
	return Answer[V]{}
}

// Refresh queries a target as soon as possible, so that AskedAt of the answer is not before now. Failing targets keep their
// back-off.
func (p *Poller[K, V]) Refresh(key K) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if t := p.targets[key]; t != nil && t.failures == 0 && len(t.observers) > 0 {
		t.next, t.again = time.Time{}, true
		p.advance(key, t)
	}
}

// Do runs a command under a name and returns its outcome. It does nothing if a command of that name exists whose outcome was not
// forgotten. Commands precede queries and do not wait for the back-off. After a command ends, its target is queried to observe the
// effect.
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

// Outcome returns the outcome of a command, and whether a command of that name exists.
func (p *Poller[K, V]) Outcome(key K, name string) (Outcome, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if t := p.targets[key]; t != nil && t.commands[name] != nil {
		return t.commands[name].outcome, true
	}
	return Outcome{}, false
}

// Forget drops the outcome of a command, so that the next Do of that name runs it again. A command that is not done still runs and
// is dropped when it ends.
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
