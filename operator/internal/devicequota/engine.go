// Package devicequota decides whether a Pod fits the ResourceQuotas of its namespace for shared devices: limits.<resource> of
// every resource in the registry of device families. Kubernetes accepts such limits but does not enforce them. It could not: Pods
// request device memory per slice, and a quota limits the sum of all slices.
//
// The usage is the sum over all Pods of the namespace that have not ended, including pending ones. Admission and usage compute it
// from the specs with the same function. The cache of Pods lags behind admission, so an admitted Pod is reserved until the cache
// has it, for a limited time. The UID that the API server assigned to the Pod before the request identifies the reservation, so
// clients cannot choose it.
//
// Each replica of the operator knows only its own reservations, so replicas that answer at the same moment may admit more than a
// quota allows. With a Ledger they share reservations, at the price of one write per Pod.
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

// DefaultTTL is how long a reservation lasts if the Pod is never seen, for example because a later admission step rejected it.
const DefaultTTL = 30 * time.Second

// Registry provides the current registry.
type Registry interface{ Program() *plan.Program }

// Options of an Engine. Registry and Clock are required.
type Options struct {
	Registry Registry
	Clock    clock.PassiveClock
	// Ledger shares reservations with other replicas. Nil means that each replica knows only its own.
	Ledger *Ledger
}

// Engine tracks the Pods and quotas of all namespaces. Informers feed it (see Watch). It is safe for concurrent use.
type Engine struct {
	o          Options
	mu         sync.Mutex
	namespaces map[string]*namespace
	synced     func() bool
}

// Ready reports whether all Pods and quotas are known.
func (e *Engine) Ready() bool { return e.synced != nil && e.synced() }

// namespace is the state of one namespace. The check of a Pod and its reservation are one critical section.
type namespace struct {
	mu      sync.Mutex
	quotas  map[string]*corev1.ResourceQuota
	entries map[types.UID]*entry // Pods and reservations
	program *plan.Program        // with which their totals were computed
	sums    sums                 // of the entries

	// reserved contains the expiry of each reservation in entries.
	reserved map[types.UID]time.Time
	// gone contains, for Pods that have ended or were deleted, how long the ledger may still have a record.
	gone map[types.UID]time.Time

	// turn admits one writer of this process to the ledger at a time, so that only other replicas can conflict.
	turn  chan struct{}
	table *table // part of the ledger as last read or written, nil if unknown; guarded by turn
}

// entry is a Pod that counts for quotas, or a reservation for one.
type entry struct {
	scopes facts
	state  podState
	pod    *plan.Pod // nil for a reservation of another replica
	totals map[string]int64
}

// New returns an empty engine.
func New(o Options) *Engine {
	return &Engine{o: o, namespaces: map[string]*namespace{}}
}

func (e *Engine) namespace(name string) *namespace {
	e.mu.Lock()
	defer e.mu.Unlock()
	n := e.namespaces[name]
	if n == nil {
		n = &namespace{
			quotas: map[string]*corev1.ResourceQuota{}, entries: map[types.UID]*entry{}, program: e.o.Registry.Program(), sums: sums{},
			reserved: map[types.UID]time.Time{}, gone: map[types.UID]time.Time{}, turn: make(chan struct{}, 1),
		}
		e.namespaces[name] = n
	}
	return n
}

// all returns the current namespaces by name.
func (e *Engine) all() map[string]*namespace {
	e.mu.Lock()
	defer e.mu.Unlock()
	return maps.Clone(e.namespaces)
}

// SetPod records the current state of a Pod. A Pod that has ended counts nothing; one that is being deleted still counts.
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

// DeletePod records that a Pod was deleted.
func (e *Engine) DeletePod(pod *corev1.Pod) {
	if !asksForDevices(pod) {
		return
	}
	n := e.namespace(pod.Namespace)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.remove(pod.UID)
	if e.o.Ledger != nil {
		n.gone[pod.UID] = e.o.Clock.Now().Add(DefaultTTL)
	}
}

// SetQuota records the current state of a quota.
func (e *Engine) SetQuota(q *corev1.ResourceQuota) {
	n := e.namespace(q.Namespace)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.quotas[q.Name] = q
}

// DeleteQuota records that a quota was deleted.
func (e *Engine) DeleteQuota(q *corev1.ResourceQuota) {
	n := e.namespace(q.Namespace)
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.quotas, q.Name)
}

// Knows reports whether the engine has this spec of the quota.
func (e *Engine) Knows(q *corev1.ResourceQuota) bool {
	n := e.namespace(q.Namespace)
	n.mu.Lock()
	defer n.mu.Unlock()
	has := n.quotas[q.Name]
	return has != nil && equality.Semantic.DeepEqual(has.Spec, q.Spec)
}

// planned returns the fields of a Pod that plans read.
func planned(pod *corev1.Pod) *plan.Pod {
	return plan.FromPod(pod.Annotations, &pod.Spec).WithLabels(pod.Labels)
}

// set replaces the entry of the UID.
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

// reserve records the demand of a Pod that the cache does not show yet.
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

// use recomputes the sums for another registry.
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
