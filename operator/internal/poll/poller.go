package poll

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// Options tune a Poller. The zero value of each field but Clock is usable.
type Options struct {
	Clock clock.WithDelayedExecution
	// Random returns a number from 0 to below 1 for jitter. Nil means one that differs.
	Random func() float64
	// MaxBackoff limits the pause after failures. 0 means 30 seconds.
	MaxBackoff time.Duration
	// Workers and SlowWorkers are the widths of the two lanes. 0 means 16 and 64.
	Workers, SlowWorkers int
	// SlowAfter is how long a request may stay in the fast lane. 0 means half a second.
	SlowAfter time.Duration
}

// Poller polls targets named by keys. All methods are safe for concurrent use and none waits for a target.
type Poller[K comparable, V any] struct {
	o      Options
	ctx    context.Context // ends all requests
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu         sync.Mutex
	closed     bool
	targets    map[K]*target[V]
	fast, slow lane[V]
}

// target is one target. The lock of the Poller protects it.
type target[V any] struct {
	query     Query[V]
	observers map[string]*observing[V]
	answer    Answer[V]
	failures  int
	// slow says that the last request took long.
	slow bool
	// due says that the query is to be asked, and again that it is to be asked once more after the one in flight.
	due, again bool
	timer      clock.Timer
	// current waits for a place in a lane or is in flight.
	current  *work[V]
	commands map[string]*command
	pending  []*command
	remove   func() // takes the target out of the map
}

type observing[V any] struct {
	Observer[V]
	seen Answer[V]
}

type command struct {
	Command
	outcome Outcome
}

// New returns a Poller that works until Start returns.
func New[K comparable, V any](o Options) *Poller[K, V] {
	if o.Random == nil {
		o.Random = rand.Float64
	}
	orDefault(&o.MaxBackoff, 30*time.Second)
	orDefault(&o.Workers, 16)
	orDefault(&o.SlowWorkers, 64)
	orDefault(&o.SlowAfter, 500*time.Millisecond)
	p := &Poller[K, V]{o: o, targets: map[K]*target[V]{}}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.fast.free, p.slow.free = o.Workers, o.SlowWorkers
	return p
}

func orDefault[T time.Duration | int](value *T, byDefault T) {
	if *value <= 0 {
		*value = byDefault
	}
}

// Start waits for the end of the context, ends all requests and returns when they have. Nobody is woken after that.
func (p *Poller[K, V]) Start(ctx context.Context) error {
	<-ctx.Done()
	p.mu.Lock()
	p.closed = true
	for _, t := range p.targets {
		t.stopTimer()
	}
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
		t.failures, t.due, t.again = 0, true, true
	}
	t.query = q
	t.observers[name] = &observing[V]{Observer: o, seen: t.answer}
	p.advance(t)
	return t.answer
}

// Unobserve takes an observer away. A target that nobody observes and that has no commands is forgotten, with a request in
// flight cancelled. Names that are not known are ignored.
func (p *Poller[K, V]) Unobserve(key K, name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if t := p.targets[key]; t != nil {
		delete(t.observers, name)
		if len(t.observers) == 0 {
			t.drop()
		}
		p.advance(t)
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
		t.due, t.again = true, true
		p.advance(t)
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
		known = &command{Command: c}
		t.commands[name] = known
		t.pending = append(t.pending, known)
		p.advance(t)
	}
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

// Forget forgets the outcome of a command, so that the next Do of that name runs it again. One that is not done stays.
func (p *Poller[K, V]) Forget(key K, name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if t := p.targets[key]; t != nil && t.commands[name] != nil && t.commands[name].outcome.Done {
		delete(t.commands, name)
		p.advance(t)
	}
}

// Remove forgets a target, with its observers and the outcomes of its commands. Those that wait or run are carried out.
func (p *Poller[K, V]) Remove(key K) {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.targets[key]
	if t == nil {
		return
	}
	clear(t.observers)
	clear(t.commands)
	t.drop()
	p.advance(t)
}

// Targets is the number of targets that are known.
func (p *Poller[K, V]) Targets() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.targets)
}

func (p *Poller[K, V]) get(key K) *target[V] {
	t := p.targets[key]
	if t == nil {
		t = &target[V]{
			observers: map[string]*observing[V]{}, commands: map[string]*command{}, remove: func() { delete(p.targets, key) },
		}
		p.targets[key] = t
	}
	return t
}

// drop cancels a query in flight.
func (t *target[V]) drop() {
	if w := t.current; w != nil && w.command == nil && w.cancel != nil {
		w.dropped = true
		w.cancel()
	}
}

func (t *target[V]) stopTimer() {
	if t.timer != nil {
		t.timer.Stop()
		t.timer = nil
	}
}
