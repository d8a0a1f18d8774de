package raycluster

import (
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
)

// expectationTimeout is how long a write is believed in that the cache never shows. Only a watch that is broken for
// this long, or an object that was created and deleted while the watch was re-established, comes near it.
const expectationTimeout = 30 * time.Second

// expectations makes a cache that lags behind look as if it did not: it remembers what was written until the cache
// shows it, and view lays that over what the cache says. Whoever decides from the view cannot create a Pod twice or
// delete one twice, and never has to wait for the cache.
//
// It is in memory only, and that is enough. After a restart nothing is expected, but no reconcile runs before the caches
// are filled from a list made after the start, which shows every write that the API server had accepted by then. A create
// that was still in flight when the process died can show up later: for the head Pod and the Service it cannot
// do harm, because their names are fixed and the second create is refused; a worker too many is surplus, which the next
// reconcile removes.
type expectations struct {
	clock    clock.PassiveClock
	mu       sync.Mutex
	clusters map[types.UID]*expected
}

// expected is what was written for one cluster and not seen yet, by UID.
type expected struct {
	pods     map[types.UID]expectedObject[*corev1.Pod]
	services map[types.UID]expectedObject[*corev1.Service]
	deleted  map[types.UID]time.Time
}

type expectedObject[T any] struct {
	object T
	at     time.Time
}

func newExpectations(c clock.PassiveClock) *expectations {
	return &expectations{clock: c, clusters: map[types.UID]*expected{}}
}

func (e *expectations) of(cluster types.UID) *expected {
	x, ok := e.clusters[cluster]
	if !ok {
		x = &expected{
			pods:     map[types.UID]expectedObject[*corev1.Pod]{},
			services: map[types.UID]expectedObject[*corev1.Service]{},
			deleted:  map[types.UID]time.Time{},
		}
		e.clusters[cluster] = x
	}
	return x
}

// podCreated notes the Pod as the API server answered it.
func (e *expectations) podCreated(cluster types.UID, p *corev1.Pod) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.of(cluster).pods[p.UID] = expectedObject[*corev1.Pod]{object: p, at: e.clock.Now()}
}

// podDeleted notes that the API server accepted the deletion.
func (e *expectations) podDeleted(cluster, pod types.UID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	x := e.of(cluster)
	delete(x.pods, pod)
	x.deleted[pod] = e.clock.Now()
}

// serviceCreated notes the Service as the API server answered it.
func (e *expectations) serviceCreated(cluster types.UID, s *corev1.Service) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.of(cluster).services[s.UID] = expectedObject[*corev1.Service]{object: s, at: e.clock.Now()}
}

// observeGone is told by the watch that an object is gone, whoever deleted it. Without it a Pod that lives for less
// than the lag of the cache would be believed in until the timeout.
func (e *expectations) observeGone(cluster, object types.UID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if x, ok := e.clusters[cluster]; ok {
		delete(x.pods, object)
		delete(x.services, object)
		delete(x.deleted, object)
	}
}

// pending reports whether there are writes that the cache has not shown at the last view.
func (e *expectations) pending(cluster types.UID) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	x, ok := e.clusters[cluster]
	return ok && len(x.pods)+len(x.services)+len(x.deleted) > 0
}

// forget drops everything about a cluster that is gone.
func (e *expectations) forget(cluster types.UID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.clusters, cluster)
}

// viewPods returns the Pods of the cluster as if the cache had seen all our writes: Pods that were created are
// there, Pods that were deleted are terminating. It drops what the cache has caught up with. The Pods are not copied.
func (e *expectations) viewPods(cluster types.UID, cached []*corev1.Pod) []*corev1.Pod {
	e.mu.Lock()
	defer e.mu.Unlock()
	x, ok := e.clusters[cluster]
	if !ok {
		return cached
	}
	now := e.clock.Now()
	view := make([]*corev1.Pod, 0, len(cached)+len(x.pods))
	seen := make(map[types.UID]struct{}, len(x.deleted))
	for _, p := range cached {
		delete(x.pods, p.UID)
		if at, ok := x.deleted[p.UID]; ok && p.DeletionTimestamp == nil && now.Sub(at) < expectationTimeout {
			seen[p.UID] = struct{}{}
			terminating := *p // shallow: only the pointer that is replaced here must not be shared with the cache
			terminating.DeletionTimestamp = new(metav1.NewTime(at))
			p = &terminating
		}
		view = append(view, p)
	}
	for uid := range x.deleted {
		if _, ok := seen[uid]; !ok {
			delete(x.deleted, uid)
		}
	}
	for uid, created := range x.pods {
		if now.Sub(created.at) >= expectationTimeout {
			delete(x.pods, uid)
			continue
		}
		view = append(view, created.object)
	}
	return view
}

// viewServices is viewPods for Services, which are never deleted here.
func (e *expectations) viewServices(cluster types.UID, cached []*corev1.Service) []*corev1.Service {
	e.mu.Lock()
	defer e.mu.Unlock()
	x, ok := e.clusters[cluster]
	if !ok {
		return cached
	}
	now := e.clock.Now()
	for _, s := range cached {
		delete(x.services, s.UID)
	}
	for uid, created := range x.services {
		if now.Sub(created.at) >= expectationTimeout {
			delete(x.services, uid)
			continue
		}
		cached = append(cached, created.object)
	}
	return cached
}
