package devicequota

import (
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
	mu       sync.Mutex
	pods     map[types.UID]*entry
	quotas   map[string]*corev1.ResourceQuota
	reserved map[types.UID]*reservation
}

// entry is a Pod that takes part in a quota.
type entry struct {
	scopes  facts
	running bool
	pod     *plan.Pod
	program *plan.Program // that totals were computed with
	totals  map[string]int64
}

type reservation struct {
	entry
	until time.Time
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
		n = &namespace{pods: map[types.UID]*entry{}, quotas: map[string]*corev1.ResourceQuota{}, reserved: map[types.UID]*reservation{}}
		e.namespaces[name] = n
	}
	return n
}

// SetPod notes a Pod as it is now. One that has ended takes nothing; one that is being deleted still does.
func (e *Engine) SetPod(pod *corev1.Pod) {
	n := e.namespace(pod.Namespace)
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.reserved, pod.UID)
	if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed || !asksForDevices(pod) {
		delete(n.pods, pod.UID)
		return
	}
	t := &entry{scopes: factsOf(pod), running: pod.Status.Phase == corev1.PodRunning, pod: plan.FromPod(pod.Annotations, &pod.Spec)}
	t.update(e.o.Registry.Program()) // here, and not in the first call of admission after a start
	n.pods[pod.UID] = t
}

// DeletePod notes that a Pod is gone.
func (e *Engine) DeletePod(pod *corev1.Pod) {
	n := e.namespace(pod.Namespace)
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.reserved, pod.UID)
	delete(n.pods, pod.UID)
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

// total is what the Pod takes by the registry of now.
func (t *entry) total(p *plan.Program, resource string) int64 {
	t.update(p)
	return t.totals[resource]
}

func (t *entry) update(p *plan.Program) {
	if t.program != p {
		t.program, t.totals = p, p.Plan(t.pod).Demand.Totals
	}
}
