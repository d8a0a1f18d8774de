package metrics

import (
	"cmp"
	"context"
	"maps"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// maxOwners is the number of owners with their own series. Series of a counter never end, so that later owners share one with an empty
// name.
const maxOwners = 1000

// queueLabels are the labels with the queue of a RayCluster, by any scheduler. The first one counts.
var queueLabels = []string{rayv1.LabelKueueQueue, rayv1.LabelVolcanoQueueName, rayv1.LabelYuniKornQueue, rayv1.LabelKAIQueue}

// Accelerators counts the seconds for which running Pods of Ray request accelerators. It counts from Begin on, so that the sum over all
// processes and restarts counts no second twice. Its methods are safe for concurrent use.
type Accelerators struct {
	reader    client.Reader // a cache of RayClusters
	requested func(*corev1.Pod) map[string]float64
	clock     clock.PassiveClock
	owners    bool
	desc      *prometheus.Desc

	mu      sync.Mutex
	begin   time.Time // zero before Begin
	running map[types.UID]usage
	sums    map[payer]map[string]float64 // seconds by resource
	named   map[owner]bool
}

// usage are the requests of a running Pod.
type usage struct {
	payer  payer
	amount map[string]float64 // by resource
	since  time.Time
}

// payer are the labels of a series, except the resource.
type payer struct {
	namespace, queue string
	owner
}

// owner is the object that a cluster was made for, or the cluster itself. Its name is empty where owners share a series.
type owner struct{ kind, name string }

// NewAccelerators returns a counter. requested returns what a Pod requests by the name of the resource in Ray, and reader must be a cache.
// Without owners, the label owner is empty.
func NewAccelerators(reader client.Reader, requested func(*corev1.Pod) map[string]float64, c clock.PassiveClock, owners bool) *Accelerators {
	return &Accelerators{
		reader: reader, requested: requested, clock: c, owners: owners,
		desc: prometheus.NewDesc("raygate_accelerator_seconds_total",
			"Seconds for which running Pods of Ray requested accelerators, times their number, by the queue and the owner of the RayCluster.",
			[]string{"namespace", "queue", "owner_kind", "owner", "resource"}, nil),
		running: map[types.UID]usage{}, sums: map[payer]map[string]float64{}, named: map[owner]bool{},
	}
}

// Begin starts to count. Only one process of several may count, the leader.
func (a *Accelerators) Begin() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.begin = a.clock.Now()
}

// Handler returns the handler of events about Pods. It must be registered after Begin.
func (a *Accelerators) Handler(ctx context.Context) toolscache.ResourceEventHandler {
	return toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { a.observe(ctx, o) },
		UpdateFunc: func(_, o any) { a.observe(ctx, o) },
		DeleteFunc: func(o any) {
			if last, ok := o.(toolscache.DeletedFinalStateUnknown); ok {
				o = last.Obj
			}
			if p, ok := o.(*corev1.Pod); ok {
				a.end(p.UID)
			}
		},
	}
}

func (a *Accelerators) observe(ctx context.Context, o any) {
	p, ok := o.(*corev1.Pod)
	switch {
	case !ok:
	case p.Status.Phase != corev1.PodRunning:
		a.end(p.UID)
	case !a.knows(p.UID):
		if amount := a.requested(p); len(amount) > 0 {
			a.start(p, a.payer(ctx, p), amount)
		}
	}
}

func (a *Accelerators) knows(pod types.UID) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	_, known := a.running[pod]
	return known
}

// payer finds the labels in the cluster of a Pod. If that is not in the cache, it is the owner.
func (a *Accelerators) payer(ctx context.Context, p *corev1.Pod) payer {
	rc := &rayv1.RayCluster{}
	key := client.ObjectKey{Namespace: p.Namespace, Name: p.Labels[rayv1.LabelCluster]}
	if err := a.reader.Get(ctx, key, rc, client.UnsafeDisableDeepCopy); err != nil {
		ctrllog.FromContext(ctx).V(2).Info("Counting accelerators of a cluster that cannot be read", "pod", p.Name, "reason", err.Error())
	}
	out := payer{namespace: p.Namespace, owner: owner{kind: "RayCluster", name: key.Name}}
	for _, label := range queueLabels {
		out.queue = cmp.Or(out.queue, rc.Labels[label])
	}
	if kind := ownerKind(rc); kind != "None" {
		out.owner = owner{kind, rc.Labels[rayv1.LabelOriginatedFromCRName]}
	}
	return out
}

func (a *Accelerators) start(p *corev1.Pod, by payer, amount map[string]float64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	unique := owner{by.kind, by.namespace + "/" + by.name}
	if !a.owners || !a.named[unique] && len(a.named) >= maxOwners {
		by.name = ""
	} else {
		a.named[unique] = true
	}
	since := a.clock.Now()
	if at := startOf(p); !at.IsZero() && at.Before(since) {
		since = at // seen late
	}
	if since.Before(a.begin) {
		since = a.begin
	}
	a.running[p.UID] = usage{by, amount, since}
}

// startOf returns when the first container started, or the zero time if the Pod does not say.
func startOf(p *corev1.Pod) (first time.Time) {
	for _, c := range p.Status.ContainerStatuses {
		if r := c.State.Running; r != nil && (first.IsZero() || r.StartedAt.Time.Before(first)) {
			first = r.StartedAt.Time
		}
	}
	return first
}

func (a *Accelerators) end(pod types.UID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if u, known := a.running[pod]; known {
		u.addTo(a.sums, a.clock.Now())
		delete(a.running, pod)
	}
}

// addTo adds the seconds until now.
func (u usage) addTo(sums map[payer]map[string]float64, now time.Time) {
	if sums[u.payer] == nil {
		sums[u.payer] = map[string]float64{}
	}
	for resource, amount := range u.amount {
		sums[u.payer][resource] += amount * max(0, now.Sub(u.since).Seconds())
	}
}

// Describe implements prometheus.Collector.
func (a *Accelerators) Describe(ch chan<- *prometheus.Desc) { ch <- a.desc }

// Collect implements prometheus.Collector.
func (a *Accelerators) Collect(ch chan<- prometheus.Metric) {
	for by, seconds := range a.total() {
		for resource, value := range seconds {
			ch <- prometheus.MustNewConstMetric(a.desc, prometheus.CounterValue, value, by.namespace, by.queue, by.kind, by.name, resource)
		}
	}
}

// total returns the sums with those of running Pods until now.
func (a *Accelerators) total() map[payer]map[string]float64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	sums := make(map[payer]map[string]float64, len(a.sums))
	for by, seconds := range a.sums {
		sums[by] = maps.Clone(seconds)
	}
	now := a.clock.Now()
	for _, u := range a.running {
		u.addTo(sums, now)
	}
	return sums
}
