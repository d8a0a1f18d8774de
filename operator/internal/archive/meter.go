package archive

import (
	"context"
	"maps"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/resources"
	"github.com/raygate/raygate/pkg/history"
)

// meter adds up what the Pods of each RayCluster requested while they ran. At its deletion a RayCluster may have no Pods any more, and
// an autoscaler removes some before. The count is in memory: a new process knows when running Pods began, but not those that are gone.
type meter struct {
	clusters client.Reader // a cache of RayClusters
	clock    clock.PassiveClock

	mu    sync.Mutex
	bills map[types.UID]*bill // by RayCluster
}

// bill is the usage of a RayCluster.
type bill struct {
	gone history.Months // of Pods that do not exist any more
	pods map[types.UID]stay
}

// stay is the time for which a Pod ran.
type stay struct {
	requests     history.Usage
	since, until time.Time // until is zero while the Pod runs
}

func newMeter(clusters client.Reader, c clock.PassiveClock) *meter {
	return &meter{clusters: clusters, clock: c, bills: map[types.UID]*bill{}}
}

// Pods returns the handler of events about Pods, from which usage is counted. Only one process of several may count, the leader.
func (a *Archive) Pods(ctx context.Context) toolscache.ResourceEventHandler {
	m := a.meter
	return toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { m.observe(ctx, o) },
		UpdateFunc: func(_, o any) { m.observe(ctx, o) },
		DeleteFunc: func(o any) {
			if last, ok := o.(toolscache.DeletedFinalStateUnknown); ok {
				o = last.Obj
			}
			m.remove(o)
		},
	}
}

func (m *meter) observe(ctx context.Context, o any) {
	p, ok := o.(*corev1.Pod)
	if !ok {
		return
	}
	owner := metav1.GetControllerOf(p)
	now, ok := stayOf(p, m.clock.Now())
	if owner == nil || !ok {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	b := m.bills[owner.UID]
	if b == nil {
		// Under the lock, so that take comes after a bill of a RayCluster that is deleted meanwhile.
		if !m.exists(ctx, client.ObjectKey{Namespace: p.Namespace, Name: owner.Name}, owner.UID) {
			return
		}
		b = &bill{history.Months{}, map[types.UID]stay{}}
		m.bills[owner.UID] = b
	}
	known, ok := b.pods[p.UID]
	switch {
	case !ok:
		now.requests = requested(p)
		b.pods[p.UID] = now
	case known.until.IsZero() && !now.until.IsZero():
		known.until = now.until
		b.pods[p.UID] = known
	}
}

// exists reports whether a RayCluster is in the cache.
func (m *meter) exists(ctx context.Context, key client.ObjectKey, uid types.UID) bool {
	rc := &rayv1.RayCluster{}
	return m.clusters.Get(ctx, key, rc, client.UnsafeDisableDeepCopy) == nil && rc.UID == uid
}

// stayOf returns when a Pod began to run and when it ended; false if it has not begun. now replaces times that the Pod does not have.
func stayOf(p *corev1.Pod, now time.Time) (s stay, ok bool) {
	var last time.Time
	for i := range p.Status.ContainerStatuses {
		c := &p.Status.ContainerStatuses[i]
		if r := c.State.Running; r != nil {
			s.startedAt(r.StartedAt.Time)
		}
		for _, t := range []*corev1.ContainerStateTerminated{c.State.Terminated, c.LastTerminationState.Terminated} {
			if t == nil {
				continue
			}
			s.startedAt(t.StartedAt.Time)
			if t.FinishedAt.After(last) {
				last = t.FinishedAt.Time
			}
		}
	}
	switch p.Status.Phase { //nolint:exhaustive // a Pod has not begun before, and Unknown may be any
	case corev1.PodRunning:
		if s.since.IsZero() {
			s.since = now
		}
		return s, true
	case corev1.PodSucceeded, corev1.PodFailed:
		s.until = last
		if last.IsZero() {
			s.until = now
		}
		return s, !s.since.IsZero()
	}
	return s, false
}

// startedAt notes the start of a container.
func (s *stay) startedAt(t time.Time) {
	if !t.IsZero() && (s.since.IsZero() || t.Before(s.since)) {
		s.since = t
	}
}

// requested returns what a Pod requests. GPUs and TPUs are those of the metric raygate_accelerator_seconds_total.
func requested(p *corev1.Pod) history.Usage {
	all, devices := resources.OfPod(&p.Spec), resources.Accelerators(p)
	return history.Usage{
		CPU: all.Cpu().AsApproximateFloat64(), Memory: all.Memory().AsApproximateFloat64() / (1 << 30), GPU: devices["GPU"], TPU: devices["TPU"],
	}
}

// remove moves a Pod to those that do not exist any more.
func (m *meter) remove(o any) {
	p, ok := o.(*corev1.Pod)
	if !ok {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	owner := metav1.GetControllerOf(p)
	if owner == nil || m.bills[owner.UID] == nil {
		return
	}
	b := m.bills[owner.UID]
	b.pods[p.UID].addTo(b.gone, m.clock.Now())
	delete(b.pods, p.UID)
}

// addTo adds the usage of a Pod, of a running one until a time. It adds nothing for a zero stay.
func (s stay) addTo(sum history.Months, until time.Time) {
	if !s.until.IsZero() {
		until = s.until
	}
	if !s.since.IsZero() {
		sum.Add(s.requests, s.since, until)
	}
}

// of returns the usage of a RayCluster, of running Pods until a time; nil if nothing was counted.
func (m *meter) of(cluster types.UID, until time.Time) history.Months {
	m.mu.Lock()
	defer m.mu.Unlock()
	b := m.bills[cluster]
	if b == nil {
		return nil
	}
	sum := maps.Clone(b.gone)
	for _, s := range b.pods {
		s.addTo(sum, until)
	}
	return sum
}

// take returns the usage of a RayCluster that was deleted, and forgets it.
func (m *meter) take(cluster types.UID) history.Months {
	sum := m.of(cluster, m.clock.Now())
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.bills, cluster)
	return sum
}
