package proc

import (
	"slices"
	"sync"
	"time"
)

// Group is a set of parts that are stopped together. The zero value is ready for use.
type Group struct {
	mu      sync.Mutex
	parts   []*part
	crashes chan *Process
}

type part struct {
	*Process
	layer    int
	grace    time.Duration
	expected bool // true if its end is not a crash
}

// Start runs a part. StopAll stops parts of a higher layer before those of a lower one, and parts of the same layer together.
// grace is how long a part may take to stop before it is killed.
func (g *Group) Start(spec Spec, layer int, grace time.Duration) (*Process, error) {
	p, err := Start(spec)
	if err != nil {
		return nil, err
	}
	pt := &part{Process: p, layer: layer, grace: grace}
	crashes := g.Crashes()
	g.mu.Lock()
	g.parts = append(g.parts, pt)
	g.mu.Unlock()
	go func() {
		<-p.Done()
		g.mu.Lock()
		expected := pt.expected
		g.mu.Unlock()
		if !expected {
			select {
			case crashes <- p:
			default: // only the first crash is reported
			}
		}
	}()
	return p, nil
}

// Crashes delivers the first part that ended by itself.
func (g *Group) Crashes() chan *Process {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.crashes == nil {
		g.crashes = make(chan *Process, 1)
	}
	return g.crashes
}

// Remove takes a part out of the group. Its end is then not a crash, and the caller has to stop it.
func (g *Group) Remove(p *Process) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, pt := range g.parts {
		if pt.Process == p {
			pt.expected = true
		}
	}
	g.parts = slices.DeleteFunc(g.parts, func(pt *part) bool { return pt.Process == p })
}

// Running returns the parts in the order they were started.
func (g *Group) Running() []*Process {
	g.mu.Lock()
	defer g.mu.Unlock()
	var out []*Process
	for _, pt := range g.parts {
		out = append(out, pt.Process)
	}
	return out
}

// StopAll stops the parts, the highest layer first. It calls logf for each part that had to be killed; logf may be nil.
func (g *Group) StopAll(logf func(format string, args ...any)) {
	g.mu.Lock()
	parts := g.parts
	g.parts = nil
	for _, pt := range parts {
		pt.expected = true
	}
	g.mu.Unlock()

	layers := map[int][]*part{}
	for _, pt := range parts {
		layers[pt.layer] = append(layers[pt.layer], pt)
	}
	order := make([]int, 0, len(layers))
	for l := range layers {
		order = append(order, l)
	}
	slices.Sort(order)
	slices.Reverse(order)
	for _, l := range order {
		var wg sync.WaitGroup
		for _, pt := range layers[l] {
			wg.Go(func() {
				if pt.Stop(pt.grace) && logf != nil {
					logf("%s did not end within %s and was killed", pt.Name, pt.grace)
				}
			})
		}
		wg.Wait()
	}
}
