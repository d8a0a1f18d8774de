package raycluster

import (
	"context"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
)

const (
	// maxInFlight bounds the requests about Pods that all clusters together have in flight. It leaves room in the API server's
	// queues for everybody else.
	maxInFlight = 64
	// maxParallel bounds those of a single cluster. It is enough to keep an API server busy whose admission webhooks take
	// their time, and leaves half for clusters that come later, which then do not queue up behind it.
	maxParallel = 32
	// fewParallel is what a cluster always gets that has asked for more than manyRequests while others are active. What a
	// Pod costs the control plane after its creation is several times as much, so that a single request at a time already
	// keeps a small one busy. None would not do: who waits without one in flight is not looked at again.
	fewParallel = 1
	// manyRequests tells a large change from a small one, which is let through as it comes.
	manyRequests = 2 * firstBatch
	// activeFor is how long a cluster counts as active after a request: about as long as its Pods take to become ready.
	activeFor = 5 * time.Second
)

// fairSlots divides the requests in flight among clusters. One that is alone may have maxParallel of them. When others are
// active, those that have had many make room, because the API server, the scheduler and the nodes behind the operator serve
// who comes first; and when several want more than there are, a slot that becomes free goes to the cluster with the
// fewest. So a cluster of thousands of Pods cannot keep a small one waiting.
type fairSlots struct {
	clock clock.PassiveClock
	n     int
	each  int

	mu      sync.Mutex
	free    int
	held    map[types.UID]int
	waiting map[types.UID][]chan struct{}
	order   []types.UID // keys of waiting, longest unserved first
	active  map[types.UID]activity
	swept   time.Time // when active was last cleared of what is over
}

// activity is what a cluster has had since it was last idle for activeFor.
type activity struct {
	requests int
	last     time.Time // of a request, or of the word that one will come
}

// large reports whether the cluster is in a change that is not let through as it comes.
func (a activity) large() bool { return a.requests >= manyRequests }

// newFairSlots returns n slots, of which a cluster can have as many as each says.
func newFairSlots(c clock.PassiveClock, n, each int) *fairSlots {
	return &fairSlots{
		clock: c, n: n, free: n, each: each,
		held: map[types.UID]int{}, waiting: map[types.UID][]chan struct{}{}, active: map[types.UID]activity{},
	}
}

// acquire waits for a slot for the cluster. It fails only when the context ends.
func (f *fairSlots) acquire(ctx context.Context, cluster types.UID) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	turn := make(chan struct{})
	f.mu.Lock()
	if len(f.waiting[cluster]) == 0 {
		f.order = append(f.order, cluster)
	}
	f.waiting[cluster] = append(f.waiting[cluster], turn)
	f.grant()
	f.mu.Unlock()
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
		f.giveUp(cluster, turn)
		return ctx.Err()
	}
}

// announce says that the cluster is going to ask for slots, so that large ones make room before it does.
func (f *fairSlots) announce(cluster types.UID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.active[cluster] = activity{requests: f.active[cluster].requests, last: f.clock.Now()}
}

// makesRoom reports whether the cluster gets less than it could use because there are small ones.
func (f *fairSlots) makesRoom(cluster types.UID) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.active[cluster].large() && f.small() > 0
}

// release gives back a slot of the cluster.
func (f *fairSlots) release(cluster types.UID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.free++
	if f.held[cluster]--; f.held[cluster] == 0 {
		delete(f.held, cluster)
	}
	f.grant()
}

// grant gives free slots to those who wait; the caller holds the lock. Whoever waits although slots are free has one in
// flight, and is looked at again when that is done.
func (f *fairSlots) grant() {
	f.sweep()
	small := f.small()
	for f.free > 0 {
		var next types.UID
		found := false
		for _, cluster := range f.order {
			if f.held[cluster] < f.limit(cluster, small) && (!found || f.held[cluster] < f.held[next]) {
				next, found = cluster, true
			}
		}
		if !found {
			return
		}
		f.free--
		f.held[next]++
		f.active[next] = activity{requests: f.active[next].requests + 1, last: f.clock.Now()}
		close(f.waiting[next][0])
		f.remove(next, 0)
		if len(f.waiting[next]) > 0 {
			f.order = append(f.order, next)
		}
	}
}

// small is how many of the active clusters have not asked for much.
func (f *fairSlots) small() int {
	n := 0
	for _, a := range f.active {
		if !a.large() {
			n++
		}
	}
	return n
}

// limit is how many slots the cluster may have now. Large ones share what there is; beside small ones they share what one
// could have alone.
func (f *fairSlots) limit(cluster types.UID, small int) int {
	others := len(f.active)
	if _, ok := f.active[cluster]; ok {
		others--
	}
	switch {
	case others == 0:
		return f.each
	case !f.active[cluster].large():
		return min(firstBatch, f.each)
	case small == 0:
		return min(max(fewParallel, f.n/(1+others)), f.each)
	default:
		return max(fewParallel, f.each/(1+others))
	}
}

// sweep forgets clusters that are no longer active, now and then.
func (f *fairSlots) sweep() {
	now := f.clock.Now()
	if now.Sub(f.swept) < activeFor/10 {
		return
	}
	f.swept = now
	for cluster, a := range f.active {
		if now.Sub(a.last) >= activeFor && f.held[cluster] == 0 {
			delete(f.active, cluster)
		}
	}
}

// remove takes one request of the cluster out, and the cluster out of the order.
func (f *fairSlots) remove(cluster types.UID, i int) {
	if f.waiting[cluster] = slices.Delete(f.waiting[cluster], i, i+1); len(f.waiting[cluster]) == 0 {
		delete(f.waiting, cluster)
	}
	at := slices.Index(f.order, cluster)
	f.order = slices.Delete(f.order, at, at+1)
}

// giveUp takes back a request for a slot, or the slot if it was granted at the same moment.
func (f *fairSlots) giveUp(cluster types.UID, turn chan struct{}) {
	f.mu.Lock()
	if i := slices.Index(f.waiting[cluster], turn); i >= 0 {
		defer f.mu.Unlock()
		at := slices.Index(f.order, cluster)
		if f.remove(cluster, i); len(f.waiting[cluster]) > 0 {
			f.order = slices.Insert(f.order, at, cluster)
		}
		return
	}
	f.mu.Unlock()
	f.release(cluster)
}
