package raycluster

import (
	"context"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/pod"
)

const (
	// longestRun is how long a run goes on creating workers before it looks at the cluster again, whose status is due.
	longestRun = 10 * time.Second
	// maxUnplaced is how many Pods of a cluster may wait for the scheduler while more are created. It is busy with that many,
	// and serves who comes first: more would not be placed sooner, and stand before the Pods of other clusters.
	maxUnplaced = maxParallel
	// fewUnplaced is how many they are while the cluster makes room for small ones.
	fewUnplaced = 2
	// placing is how long to wait for the scheduler at a time, and placingStep how often to look. One that is down or
	// overwhelmed delays the Pods, but does not keep them from being there.
	placing, placingStep = time.Second, 30 * time.Millisecond
)

// pace keeps a run from creating workers faster than the scheduler takes them, and from going on when the cluster is to be
// looked at again.
type pace struct {
	cache   client.Reader
	clock   clock.PassiveClock
	begun   time.Time
	cluster *rayv1.RayCluster // as the run knows it
	placing time.Duration

	mu       sync.Mutex
	unplaced []client.ObjectKey
}

func newPace(cache client.Reader, c clock.PassiveClock, s *scope) *pace {
	p := &pace{cache: cache, clock: c, begun: c.Now(), cluster: s.cluster, placing: placing}
	for _, earlier := range s.pods {
		if inOrder(&earlier.Spec) && !placed(earlier) {
			p.created(earlier)
		}
	}
	return p
}

// created notes a Pod that the scheduler is to place.
func (p *pace) created(worker *corev1.Pod) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.unplaced = append(p.unplaced, client.ObjectKeyFromObject(worker))
}

// wait gives the scheduler time to take what is there. The time is real: what is waited for is another process.
func (p *pace) wait(ctx context.Context, makesRoom bool) {
	atMost := maxUnplaced
	if makesRoom {
		atMost = fewUnplaced
	}
	// Whether it took them in time makes no difference.
	_ = wait.PollUntilContextTimeout(ctx, placingStep, p.placing, true, func(ctx context.Context) (bool, error) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.unplaced = slices.DeleteFunc(p.unplaced, func(worker client.ObjectKey) bool {
			found := &corev1.Pod{}
			// What is not found is not in the cache yet.
			return p.cache.Get(ctx, worker, found, client.UnsafeDisableDeepCopy) == nil && placed(found)
		})
		return len(p.unplaced) <= atMost, nil
	})
}

// over reports whether the run has lasted long enough, or has to do with a spec that no longer counts.
func (p *pace) over(ctx context.Context) bool {
	if p.clock.Since(p.begun) >= longestRun {
		return true
	}
	now := &rayv1.RayCluster{}
	if err := p.cache.Get(ctx, key(p.cluster), now, client.UnsafeDisableDeepCopy); err != nil {
		return apierrors.IsNotFound(err)
	}
	return now.UID != p.cluster.UID || now.Generation != p.cluster.Generation || now.DeletionTimestamp != nil
}

// inOrder reports whether the scheduler takes one Pod after the other. Others may wait for all Pods of a gang.
func inOrder(spec *corev1.PodSpec) bool {
	return spec.SchedulerName == "" || spec.SchedulerName == corev1.DefaultSchedulerName
}

// placed reports whether the scheduler need not look at the Pod for the first time, whatever came of it.
func placed(p *corev1.Pod) bool {
	return p.Spec.NodeName != "" || p.DeletionTimestamp != nil || podCondition(p, corev1.PodScheduled) != nil
}

// between reports whether the place is the first of a replica. A run that ended within one would leave hosts without the
// others, as if those had been lost.
func between(places []*pod.Replica, next int) bool {
	place, last := places[next], places[next-1]
	return place == nil || last == nil || place.Name == "" || place.Name != last.Name
}
