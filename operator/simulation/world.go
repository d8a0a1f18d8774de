package simulation

import (
	"container/heap"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"sync"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/raygate/raygate/operator/internal/expiryplan"
	"github.com/raygate/raygate/operator/simulation/apiserver"
)

// world is everything that one seed runs. Its methods are called from the goroutine that runs it, unless they say otherwise.
type world struct {
	seed  uint64
	begin time.Time
	// policy is that of the operator for idle clusters.
	policy expiryplan.Policy
	store  *apiserver.Store
	op     *operator
	// version is that of the operator that runs, or of the next one while none does.
	version string
	rays    *rays
	// historyStore is that of the history of ended objects.
	historyStore *historyStore
	prometheus   *prometheus
	watch        *watchdog
	// confirms means that the user confirms canaries from now on.
	confirms bool

	mu      sync.Mutex // may be taken while the store is locked, and not the other way round
	streams map[string]*rand.Rand
	events  eventHeap
	count   int
	faults  []fault
	stuck   map[types.UID]bool // Pods that do not end
	// poke ends the rest of the loop because something was added.
	poke chan struct{}

	settings map[string]bool

	history []string // empty unless the history is kept
	keep    bool
	starts  int // of the operator
	steps   int
}

// event is something that happens at a time.
type event struct {
	at    time.Time
	order int
	name  string
	do    func()
}

type eventHeap []*event

func (h eventHeap) Len() int { return len(h) }
func (h eventHeap) Less(i, j int) bool {
	return h[i].at.Before(h[j].at) || h[i].at.Equal(h[j].at) && (h[i].name < h[j].name || h[i].name == h[j].name && h[i].order < h[j].order)
}
func (h eventHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *eventHeap) Push(x any)   { *h = append(*h, x.(*event)) }
func (h *eventHeap) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}

// after has something done after a time. It may be called from any goroutine.
func (w *world) after(d time.Duration, name string, do func()) {
	w.mu.Lock()
	w.count++
	heap.Push(&w.events, &event{at: time.Now().Add(d), order: w.count, name: name, do: do})
	w.mu.Unlock()
	w.signal()
}

// signal ends the rest of the loop. It may be called from any goroutine.
func (w *world) signal() {
	select {
	case w.poke <- struct{}{}:
	default:
	}
}

// stream is the source of choices of one name; the caller holds the lock.
func (w *world) stream(name string) *rand.Rand {
	r := w.streams[name]
	if r == nil {
		h := fnv.New64a()
		_, _ = h.Write([]byte(name))
		r = rand.New(rand.NewPCG(w.seed, h.Sum64())) //nolint:gosec // a simulation
		w.streams[name] = r
	}
	return r
}

// chance reports true with a probability. It may be called from any goroutine; so may between and pick.
func (w *world) chance(name string, p float64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.stream(name).Float64() < p
}

// between is a time in a range, more often short than long.
func (w *world) between(name string, least, most time.Duration) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	f := w.stream(name).Float64()
	return least + time.Duration(f*f*float64(most-least))
}

// pick is a number below n.
func (w *world) pick(name string, n int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.stream(name).IntN(n)
}

// jitter is a number in [0,1) that depends on the time alone: goroutines ask for it in any order.
func (w *world) jitter() float64 {
	return rand.New(rand.NewPCG(w.seed, uint64(w.now()))).Float64() //nolint:gosec // a simulation
}

func (w *world) now() time.Duration { return time.Since(w.begin) }

// log notes a line of the history. It may be called from any goroutine.
func (w *world) log(format string, args ...any) {
	if !w.keep {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.history = append(w.history, fmt.Sprintf("%9.3f  ", w.now().Seconds())+fmt.Sprintf(format, args...))
}

// due takes the next event if its time has come, else it returns when that will be.
func (w *world) due() (*event, time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.events) == 0 {
		return nil, time.Time{}
	}
	if next := w.events[0]; next.at.After(time.Now()) {
		return nil, next.at
	}
	return heap.Pop(&w.events).(*event), time.Time{}
}

// run runs the world for a time.
func (w *world) run(d time.Duration) {
	end := time.Now().Add(d)
	for !w.watch.broken() {
		synctest.Wait()
		if w.op.dispatch() {
			w.steps++
			continue
		}
		e, next := w.due()
		if e != nil {
			w.steps++
			e.do()
			continue
		}
		if next.IsZero() || next.After(end) {
			next = end
		}
		rest := time.Until(next)
		if rest <= 0 {
			return
		}
		timer := time.NewTimer(rest)
		select {
		case <-timer.C:
		case <-w.poke:
		}
		timer.Stop()
	}
}
