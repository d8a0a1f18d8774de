package raycluster

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// maxInFlight bounds the requests about Pods that all clusters together have in flight. It is enough to keep an API server
// busy whose admission webhooks take their time, and leaves room in its queues for everybody else.
const maxInFlight = 64

// fairSlots divides the requests in flight among clusters. One that is alone may have all of them; when several want more
// than there are, a slot that becomes free goes to the cluster with the fewest, so that a cluster of thousands of Pods
// cannot keep a small one waiting for longer than a single request takes.
type fairSlots struct {
	mu      sync.Mutex
	free    int
	held    map[types.UID]int
	waiting map[types.UID][]chan struct{}
	order   []types.UID // keys of waiting, longest unserved first
}

func newFairSlots(n int) *fairSlots {
	return &fairSlots{free: n, held: map[types.UID]int{}, waiting: map[types.UID][]chan struct{}{}}
}

// acquire waits for a slot for the cluster. It fails only when the context ends.
func (f *fairSlots) acquire(ctx context.Context, cluster types.UID) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	f.mu.Lock()
	if f.free > 0 { // nobody waits while a slot is free
		f.free--
		f.held[cluster]++
		f.mu.Unlock()
		return nil
	}
	turn := make(chan struct{})
	if len(f.waiting[cluster]) == 0 {
		f.order = append(f.order, cluster)
	}
	f.waiting[cluster] = append(f.waiting[cluster], turn)
	f.mu.Unlock()
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
		f.giveUp(cluster, turn)
		return ctx.Err()
	}
}

// release gives a slot of the cluster to whoever has the fewest.
func (f *fairSlots) release(cluster types.UID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.held[cluster]--; f.held[cluster] == 0 {
		delete(f.held, cluster)
	}
	if len(f.order) == 0 {
		f.free++
		return
	}
	next := 0
	for i, other := range f.order {
		if f.held[other] < f.held[f.order[next]] {
			next = i
		}
	}
	chosen := f.order[next]
	f.order = append(f.order[:next], f.order[next+1:]...)
	queue := f.waiting[chosen]
	close(queue[0])
	f.held[chosen]++
	if queue = queue[1:]; len(queue) == 0 {
		delete(f.waiting, chosen)
		return
	}
	f.waiting[chosen] = queue
	f.order = append(f.order, chosen)
}

// giveUp takes back a request for a slot, or the slot if it was granted at the same moment.
func (f *fairSlots) giveUp(cluster types.UID, turn chan struct{}) {
	f.mu.Lock()
	for i, t := range f.waiting[cluster] {
		if t != turn {
			continue
		}
		f.waiting[cluster] = append(f.waiting[cluster][:i], f.waiting[cluster][i+1:]...)
		if len(f.waiting[cluster]) == 0 {
			delete(f.waiting, cluster)
			for j, other := range f.order {
				if other == cluster {
					f.order = append(f.order[:j], f.order[j+1:]...)
					break
				}
			}
		}
		f.mu.Unlock()
		return
	}
	f.mu.Unlock()
	f.release(cluster)
}
