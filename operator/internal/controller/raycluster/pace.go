package raycluster

import (
	"context"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/raygate/raygate/operator/internal/build/pod"
)

const (
	// turn is how long a run goes on creating the workers of a group. Then the cluster is looked at anew: its status is due,
	// and its spec may have changed, or it may be gone.
	turn = 2 * time.Second
	// maxUnplaced is how many of them may wait for the scheduler while more are created. It is busy with that many, and
	// serves who comes first: more would not be placed sooner, and stand before the Pods of other clusters.
	maxUnplaced = maxParallel
	// placing is how long to wait for the scheduler, and placingStep how often to look.
	placing, placingStep = time.Second, 30 * time.Millisecond
)

// pace keeps a run from creating the workers of a group faster than the scheduler takes them, and from going on for long.
type pace struct {
	cache  client.Reader
	clock  clock.PassiveClock
	begun  time.Time
	places []*pod.Replica
	// over says that the turn ended before all were created.
	over bool
	// gang says that the scheduler places no Pod before all are there. It is found out where nobody knows.
	gang bool

	mu       sync.Mutex
	unplaced []client.ObjectKey
}

// created notes a Pod that the scheduler is to place.
func (p *pace) created(worker *corev1.Pod) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.unplaced = append(p.unplaced, client.ObjectKeyFromObject(worker))
}

// goOn waits until it is time for the worker of the next place, and reports whether it is to be created in this turn.
func (p *pace) goOn(ctx context.Context, next int) bool {
	if p.clock.Since(p.begun) >= turn && p.between(next) {
		p.over = true
		return false
	}
	if p.gang {
		return true
	}
	p.mu.Lock() // never waited for: nothing is being created meanwhile
	defer p.mu.Unlock()
	before := len(p.unplaced)
	keepsUp := func(ctx context.Context) (bool, error) {
		p.unplaced = slices.DeleteFunc(p.unplaced, func(worker client.ObjectKey) bool { return p.placed(ctx, worker) })
		return len(p.unplaced) <= maxUnplaced, nil
	}
	if wait.PollUntilContextTimeout(ctx, placingStep, placing, true, keepsUp) != nil {
		p.gang = len(p.unplaced) == before
		p.unplaced = nil // waited for once is enough
	}
	return true
}

// between reports whether the place is the first of a replica. A turn that ended within one would leave hosts that run
// without the others, as if those had been lost.
func (p *pace) between(next int) bool {
	place, last := p.places[next], p.places[next-1]
	return place == nil || last == nil || place.Name == "" || place.Name != last.Name
}

// placed reports whether the scheduler has looked at the Pod, whatever came of it.
func (p *pace) placed(ctx context.Context, worker client.ObjectKey) bool {
	found := &corev1.Pod{}
	if p.cache.Get(ctx, worker, found, client.UnsafeDisableDeepCopy) != nil {
		return false // not yet in the cache
	}
	return found.Spec.NodeName != "" || found.DeletionTimestamp != nil ||
		slices.ContainsFunc(found.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodScheduled })
}
