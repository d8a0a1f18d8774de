package servesim

import (
	"maps"
	"slices"
	"sync"
	"time"
)

// Node is one on which replicas and a proxy may run.
type Node struct {
	ID, IP string
	Head   bool
	// Leaving means that the node is about to be removed: its replicas run until then, and are replaced elsewhere at once.
	Leaving bool
}

// Options configure a Serve. The zero value is usable except for Nodes.
type Options struct {
	// Nodes returns the nodes that are alive. Required; called with the Serve locked.
	Nodes func() []Node
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Build is how long an application is built, Start how long a replica starts, Drain how long a proxy without replicas stays at least;
	// 0 means 1 s, 500 ms and 30 s, which is Ray's own for the last.
	Build, Start, Drain time.Duration
	// Changed is called, in its own goroutine, after the answer of a proxy to a health check may have changed; nil is allowed.
	Changed func()
}

// loop is the period of Ray's control loop: as long a state lasts at least.
const loop = 100 * time.Millisecond

// Serve is Ray Serve on one cluster. It outlives its head where the head's storage does.
type Serve struct {
	opts Options

	mu        sync.Mutex
	started   bool
	options   instance // as at the start; later ones change nothing
	capacity  *float64
	apps      map[string]*app
	populated bool // an application with a route has been built
	proxies   map[string]*proxy
	puts      [][]byte
	replicas  int // made so far
	health    map[string]int
	timer     *time.Timer
	closed    bool
}

// New returns a Serve that has not been started.
func New(o Options) *Serve {
	if o.Now == nil {
		o.Now = time.Now
	}
	for _, d := range []struct {
		value     *time.Duration
		byDefault time.Duration
	}{{&o.Build, time.Second}, {&o.Start, 500 * time.Millisecond}, {&o.Drain, 30 * time.Second}} {
		if *d.value == 0 {
			*d.value = d.byDefault
		}
	}
	return &Serve{opts: o, apps: map[string]*app{}, proxies: map[string]*proxy{}}
}

// Close stops the background work.
func (s *Serve) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.timer != nil {
		s.timer.Stop()
	}
}

// Shutdown resets the Serve to one that has not been started, like the loss of a head without external state.
func (s *Serve) Shutdown() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shutdown()
}

func (s *Serve) shutdown() {
	s.started, s.populated, s.capacity = false, false, nil
	clear(s.apps)
	clear(s.proxies)
	s.advance()
}

// Puts are the bodies of the configs that were accepted, in their order.
func (s *Serve) Puts() [][]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.puts)
}

// Refresh reads the nodes again, after one was added or removed.
func (s *Serve) Refresh() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.advance()
}

// pass is one pass over all state: it applies all due changes, and keeps the time of the next one.
type pass struct {
	now  time.Time
	next time.Time
	opts Options
	// nodes by ID, and the number of replicas on each.
	nodes map[string]Node
	load  map[string]int
	// newReplica numbers replicas.
	newReplica func() int
	capacity   *float64
}

// due reports whether t is past; otherwise it schedules the next pass at t.
func (p *pass) due(t time.Time) bool {
	if !t.After(p.now) {
		return true
	}
	if p.next.IsZero() || t.Before(p.next) {
		p.next = t
	}
	return false
}

// advance applies all due changes. The caller holds s.mu.
func (s *Serve) advance() {
	p := &pass{now: s.opts.Now(), opts: s.opts, nodes: map[string]Node{}, load: map[string]int{}, capacity: s.capacity}
	p.newReplica = func() int { s.replicas++; return s.replicas }
	for _, n := range s.opts.Nodes() {
		p.nodes[n.ID] = n
	}
	names := slices.Sorted(maps.Keys(s.apps))
	for _, name := range names {
		s.apps[name].count(p)
	}
	for _, name := range names {
		a := s.apps[name]
		if a.advance(p) {
			delete(s.apps, name)
			continue
		}
		s.populated = s.populated || a.route != nil
	}
	s.placeProxies(p)
	s.schedule(p)
	health := map[string]int{}
	for id := range s.proxies {
		health[id], _ = s.healthOf(id)
	}
	if !maps.Equal(health, s.health) && s.opts.Changed != nil && !s.closed {
		go s.opts.Changed()
	}
	s.health = health
}

// schedule starts a timer for the next due change.
func (s *Serve) schedule(p *pass) {
	if s.timer != nil {
		s.timer.Stop()
	}
	if !p.next.IsZero() && !s.closed {
		s.timer = time.AfterFunc(p.next.Sub(p.now), s.Refresh)
	}
}
