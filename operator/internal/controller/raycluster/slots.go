package raycluster

import (
	"context"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

const (
	// maxInFlight bounds the requests about Pods that all clusters together have in flight. It leaves room in the API server's
	// queues for everybody else.
	maxInFlight = 64
	// maxParallel bounds those of a single cluster. It is enough to keep an API server busy whose admission webhooks take
	// their time, and leaves half for clusters that come later, which then do not queue up behind it.
	maxParallel = 32
)

// fairSlots divides the requests in flight among clusters. When several want more than there are, a slot that becomes free
// goes to the cluster with the fewest, so that a cluster of thousands of Pods cannot keep a small one waiting.
type fairSlots struct {
	each int

	mu      sync.Mutex
	free    int
	held    map[types.UID]int
	waiting map[types.UID][]chan struct{}
	order   []types.UID // keys of waiting, longest unserved first
}

// newFairSlots returns n slots, of which a cluster can have as many as each says.
func newFairSlots(n, each int) *fairSlots {
	return &fairSlots{free: n, each: each, held: map[types.UID]int{}, waiting: map[types.UID][]chan struct{}{}}
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

// grant gives free slots to those who wait; the caller holds the lock.
func (f *fairSlots) grant() {
	for f.free > 0 && len(f.order) > 0 {
		next := slices.MinFunc(f.order, func(a, b types.UID) int { return f.held[a] - f.held[b] }) // the first of equals
		if f.held[next] >= f.each {
			return
		}
		f.free--
		f.held[next]++
		close(f.waiting[next][0])
		f.remove(next, 0)
		if len(f.waiting[next]) > 0 {
			f.order = append(f.order, next)
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
