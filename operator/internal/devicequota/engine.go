package devicequota

import (
	"maps"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/raygate/raygate/pkg/devices/plan"
)

// DefaultTTL is how long a reservation lasts for a Pod that is never seen: a later step of admission may have refused it.
const DefaultTTL = 30 * time.Second

// Registry is the one of now.
type Registry interface{ Program() *plan.Program }

// Options of an Engine. Registry and Clock are required.
type Options struct {
	Registry Registry
	Clock    clock.PassiveClock
	// TTL of reservations; 0 means DefaultTTL.
	TTL time.Duration
	// Ledger shares reservations with other replicas. Nil means that each replica knows its own only.
	Ledger *Ledger
}

// Engine knows the Pods and quotas of all namespaces. It is fed by informers (see Watch) and safe for use by many at once.
type Engine struct {
	o          Options
	mu         sync.Mutex
	namespaces map[string]*namespace
	synced     func() bool
}

// Ready reports whether all Pods and quotas are known.
func (e *Engine) Ready() bool { return e.synced != nil && e.synced() }

// namespace is what is known of one. Whether a Pod fits, and its reservation, are one critical section.
type namespace struct {
	mu      sync.Mutex
	quotas  map[string]*corev1.ResourceQuota
	entries map[types.UID]*entry // Pods and reservations
	program *plan.Program        // that their totals were computed with
	sums    sums                 // of the entries

	// reserved says when reservations among the entries end.
	reserved map[types.UID]time.Time
	// gone says until when a record of the ledger for a Pod that has ended, or is no more, may still be there.
	gone   map[types.UID]time.Time
	shared shared
}

// entry is a Pod that takes part in quotas, or a reservation for one.
type entry struct {
	scopes facts
	state  podState
	pod    *plan.Pod // nil for a reservation of another replica
	totals map[string]int64
}

// New returns an engine that knows of nothing yet.
func New(o Options) *Engine {
	if o.TTL == 0 {
		o.TTL = DefaultTTL
	}
	return &Engine{o: o, namespaces: map[string]*namespace{}}
}

func (e *Engine) namespace(name string) *namespace {
	e.mu.Lock()
	defer e.mu.Unlock()
	n := e.namespaces[name]
	if n == nil {
		n = &namespace{
			quotas: map[string]*corev1.ResourceQuota{}, entries: map[types.UID]*entry{}, program: e.o.Registry.Program(), sums: sums{},
			reserved: map[types.UID]time.Time{}, gone: map[types.UID]time.Time{}, shared: newShared(),
		}
		e.namespaces[name] = n
	}
	return n
}

// all are the namespaces of now, by name.
func (e *Engine) all() map[string]*namespace {
	e.mu.Lock()
	defer e.mu.Unlock()
	return maps.Clone(e.namespaces)
}

// SetPod notes a Pod as it is now. One that has ended takes nothing; one that is being deleted still does.
func (e *Engine) SetPod(pod *corev1.Pod) {
	if !asksForDevices(pod) {
		return
	}
	if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		e.DeletePod(pod)
		return
	}
	n := e.namespace(pod.Namespace)
	n.mu.Lock()
	defer n.mu.Unlock()
	t := &entry{scopes: factsOf(pod), state: pending, pod: planned(pod)}
	if pod.Status.Phase == corev1.PodRunning {
		t.state = running
	}
	t.totals = n.program.Plan(t.pod).Demand.Totals
	n.set(pod.UID, t)
}

// DeletePod notes that a Pod is gone.
func (e *Engine) DeletePod(pod *corev1.Pod) {
	if !asksForDevices(pod) {
		return
	}
	n := e.namespace(pod.Namespace)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.remove(pod.UID)
	if e.o.Ledger != nil {
		n.gone[pod.UID] = e.o.Clock.Now().Add(e.o.TTL)
	}
}

// SetQuota notes a quota as it is now.
func (e *Engine) SetQuota(q *corev1.ResourceQuota) {
	n := e.namespace(q.Namespace)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.quotas[q.Name] = q
}

// DeleteQuota notes that a quota is gone.
func (e *Engine) DeleteQuota(q *corev1.ResourceQuota) {
	n := e.namespace(q.Namespace)
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.quotas, q.Name)
}

// Knows reports whether the quota is known as it is given.
func (e *Engine) Knows(q *corev1.ResourceQuota) bool {
	n := e.namespace(q.Namespace)
	n.mu.Lock()
	defer n.mu.Unlock()
	has := n.quotas[q.Name]
	return has != nil && equality.Semantic.DeepEqual(has.Spec, q.Spec)
}

// planned is what plans read of a Pod.
func planned(pod *corev1.Pod) *plan.Pod {
	return plan.FromPod(pod.Annotations, &pod.Spec).WithLabels(pod.Labels)
}

// set puts an entry in the place of that with the UID, if there is one.
func (n *namespace) set(uid types.UID, t *entry) {
	n.remove(uid)
	n.entries[uid] = t
	n.sums.change(t, 1)
}

func (n *namespace) remove(uid types.UID) {
	delete(n.reserved, uid)
	if t := n.entries[uid]; t != nil {
		delete(n.entries, uid)
		n.sums.change(t, -1)
	}
}

// reserve notes what a Pod takes that is not seen yet.
func (n *namespace) reserve(uid types.UID, t *entry, until time.Time) {
	n.set(uid, t)
	n.reserved[uid] = until
}

func (n *namespace) expire(now time.Time) {
	for uid, until := range n.reserved {
		if !now.Before(until) {
			n.remove(uid)
		}
	}
	maps.DeleteFunc(n.gone, func(_ types.UID, until time.Time) bool { return !now.Before(until) })
}

// use makes the sums those of a registry.
func (n *namespace) use(p *plan.Program) {
	if n.program == p {
		return
	}
	n.program, n.sums = p, sums{}
	for _, t := range n.entries {
		if t.pod != nil {
			t.totals = p.Plan(t.pod).Demand.Totals
		}
		n.sums.change(t, 1)
	}
}
