package simulation

import (
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
)

// queue is the work queue of a controller. It hands out requests when the world says, one at a time, in an order that the seed decides.
type queue struct {
	world   *world
	name    string
	limiter workqueue.TypedRateLimiter[ctrl.Request]
	hand    chan ctrl.Request
	closed  chan struct{}

	mu      sync.Mutex
	ready   map[ctrl.Request]bool
	waiting map[ctrl.Request]time.Time
	busy    map[ctrl.Request]bool
	workers int // that wait for a request
	once    sync.Once
}

func newQueue(w *world, name string, limiter workqueue.TypedRateLimiter[ctrl.Request]) *queue {
	return &queue{
		world: w, name: name, limiter: limiter, hand: make(chan ctrl.Request), closed: make(chan struct{}),
		ready: map[ctrl.Request]bool{}, waiting: map[ctrl.Request]time.Time{}, busy: map[ctrl.Request]bool{},
	}
}

// Add implements workqueue.TypedInterface.
func (q *queue) Add(r ctrl.Request) {
	q.mu.Lock()
	q.ready[r] = true
	delete(q.waiting, r)
	q.mu.Unlock()
	q.world.signal()
}

// AddAfter implements workqueue.TypedDelayingInterface. As in controller-runtime, the earliest time counts.
func (q *queue) AddAfter(r ctrl.Request, d time.Duration) {
	if d <= 0 {
		q.Add(r)
		return
	}
	at := time.Now().Add(d)
	q.mu.Lock()
	earlier, known := q.waiting[r]
	if q.ready[r] || known && !at.Before(earlier) {
		q.mu.Unlock()
		return
	}
	q.waiting[r] = at
	q.mu.Unlock()
	q.world.after(d, "queue "+q.name+" "+r.String(), func() {
		q.mu.Lock()
		mine := q.waiting[r].Equal(at)
		q.mu.Unlock()
		if mine {
			q.Add(r)
		}
	})
}

// AddRateLimited implements workqueue.TypedRateLimitingInterface.
func (q *queue) AddRateLimited(r ctrl.Request) { q.AddAfter(r, q.limiter.When(r)) }

// Forget implements workqueue.TypedRateLimitingInterface.
func (q *queue) Forget(r ctrl.Request) { q.limiter.Forget(r) }

// NumRequeues implements workqueue.TypedRateLimitingInterface.
func (q *queue) NumRequeues(r ctrl.Request) int { return q.limiter.NumRequeues(r) }

// Len implements workqueue.TypedInterface.
func (q *queue) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.ready)
}

// Get implements workqueue.TypedInterface.
func (q *queue) Get() (ctrl.Request, bool) {
	q.mu.Lock()
	q.workers++
	q.mu.Unlock()
	select {
	case r := <-q.hand:
		return r, false
	case <-q.closed:
		return ctrl.Request{}, true
	}
}

// Done implements workqueue.TypedInterface.
func (q *queue) Done(r ctrl.Request) {
	q.mu.Lock()
	delete(q.busy, r)
	q.mu.Unlock()
	q.world.signal()
}

// ShutDown implements workqueue.TypedInterface.
func (q *queue) ShutDown() { q.once.Do(func() { close(q.closed) }) }

// ShutDownWithDrain implements workqueue.TypedInterface.
func (q *queue) ShutDownWithDrain() { q.ShutDown() }

// ShuttingDown implements workqueue.TypedInterface.
func (q *queue) ShuttingDown() bool {
	select {
	case <-q.closed:
		return true
	default:
		return false
	}
}

// next are the requests that may be handed out now, sorted.
func (q *queue) next() []ctrl.Request {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.workers == 0 || q.ShuttingDown() {
		return nil
	}
	var list []ctrl.Request
	for r := range q.ready {
		if !q.busy[r] {
			list = append(list, r)
		}
	}
	slices.SortFunc(list, func(a, b ctrl.Request) int { return strings.Compare(a.String(), b.String()) })
	return list
}

// give hands out a request to a worker that waits.
func (q *queue) give(r ctrl.Request) {
	q.mu.Lock()
	delete(q.ready, r)
	q.busy[r] = true
	q.workers--
	q.mu.Unlock()
	q.hand <- r
}
