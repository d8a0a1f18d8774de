package raycluster

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/devicefacts"
	"github.com/raygate/raygate/operator/internal/build/pod"
	"github.com/raygate/raygate/operator/internal/build/service"
	"github.com/raygate/raygate/operator/internal/children"
	"github.com/raygate/raygate/operator/internal/gang"
	"github.com/raygate/raygate/operator/internal/gang/keeper"
	"github.com/raygate/raygate/operator/internal/metrics"
	"github.com/raygate/raygate/operator/internal/owned"
	"github.com/raygate/raygate/operator/internal/podexec"
	"github.com/raygate/raygate/operator/internal/reconcile"
	"github.com/raygate/raygate/operator/internal/report"
	"github.com/raygate/raygate/operator/internal/served"
	"github.com/raygate/raygate/pkg/validation"
)

// Config is what the reconciler needs. Client, Live, Recorder and Clock are required.
type Config struct {
	// Client reads from a cache made with CacheByObject and an index of Pods, and writes.
	Client client.Client
	// Live reads from the API server.
	Live client.Reader
	// Recorder sends events.
	Recorder events.EventRecorder
	// Clock tells the time.
	Clock clock.PassiveClock
	// Metrics counts what happens; nil counts nothing.
	Metrics *metrics.RayCluster
	// APIs are the kinds that the Kubernetes cluster may lack; nil says that it lacks all of them.
	APIs *served.Kinds
	// Random is where tokens come from; nil means crypto/rand.
	Random io.Reader

	// Validation are the facts that rules ask for.
	Validation validation.Options
	// Pod and Service are the facts that builders ask for.
	Pod     pod.Options
	Service service.Options
	// Scheduler is the batch scheduler; nil leaves Pods to the scheduler of Kubernetes, one by one.
	Scheduler gang.Scheduler
	// ReplicaIndices labels each worker with its place in a replica, and makes and removes the Pods of a replica of several
	// hosts together (feature gate RayMultiHostIndexing).
	ReplicaIndices bool
	// ShrinkWithAutoscaler lets the operator choose which workers to remove also while the autoscaler is on.
	ShrinkWithAutoscaler bool
	// Resync is how often to look at a cluster without cause; 0 means never, which is enough: everything is watched.
	Resync time.Duration
	// CleanUpRedis keeps clusters with GCS fault tolerance on Redis until their metadata is gone from there.
	CleanUpRedis bool
	// MTLS honours spec.tlsOptions (feature gate RayClusterMTLS).
	MTLS bool
	// NetworkPolicies honours spec.networkPolicy (feature gate RayClusterNetworkPolicy). Otherwise only policies are removed that no
	// spec asks for; those of a spec that does stay, because an unfenced Pod is worse than a stale fence.
	NetworkPolicies bool
	// IngressOnOpenShift publishes the dashboard by an Ingress also where Routes are served.
	IngressOnOpenShift bool
	// DeviceFacts stores in a RayCluster what its autoscaler cannot read elsewhere of Pod.Devices. Otherwise what is stored is removed.
	DeviceFacts bool
}

// Reconciler brings RayClusters to the state that their specs ask for.
type Reconciler struct {
	config   Config
	optional *served.Watches
	versions *reconcile.Versions
	children *children.Writer
	executor *podexec.Executor
	said     *report.Once
	sizes    sizes
	keeper   *keeper.Keeper // of the objects of the batch scheduler
	steps    []reconcile.Step[*scope]
}

// Steps that the status depends on, see statusParts.
const (
	stepHeadService = "head Service"
	stepGangs       = "batch scheduler"
	stepDependents  = "dependents"
	stepPods        = "Pods"
)

// New returns a reconciler. It does nothing until SetupWithManager or Reconcile is called.
func New(c Config) *Reconciler {
	if c.Random == nil {
		c.Random = rand.Reader
	}
	optional := &served.Watches{Kinds: c.APIs}
	r := &Reconciler{
		config:   c,
		optional: optional,
		children: children.New(children.Config{Client: c.Client, Live: c.Live, Optional: optional, Clock: c.Clock}),
		executor: podexec.New(podexec.Config{Client: c.Client, Live: c.Live, Clock: c.Clock}),
		said:     &report.Once{},
		keeper:   keeper.New(keeper.Config{Client: c.Client, Live: c.Live, Kinds: c.APIs, Clock: c.Clock}),
	}
	r.versions = reconcile.NewVersions(c.Clock, r.children.Forget, r.executor.Forget, r.said.Forget, r.keeper.Forget)
	r.steps = r.list()
	return r
}

// list is the order of work.
func (r *Reconciler) list() []reconcile.Step[*scope] {
	return []reconcile.Step[*scope]{
		{Name: "finalize", Run: r.finalize},                        // first: an object with an invalid spec must still be deletable
		{Name: "validate", Run: r.validate},                        // refuse an invalid spec before anything is created from it
		{Name: "finalizer", Run: r.ensureFinalizer},                // before anything that has to be cleaned up after
		{Name: "device facts", Run: r.deviceFacts},                 // the autoscaler reads them when the head starts
		{Name: "network policies", Run: always(r.networkPolicies)}, // before the Pods that they fence
		{Name: "autoscaler RBAC", Run: always(r.autoscalerRBAC)},   // the head Pod names this ServiceAccount
		{Name: "ingress", Run: always(r.ingress)},
		{Name: "token", Run: always(r.authSecret)},                 // Pods take their token from it
		{Name: stepHeadService, Run: always(r.headService)},        // workers find the head through it
		{Name: "headless Service", Run: always(r.headlessService)}, // hosts of a replica find each other through it
		{Name: "Serve Service", Run: always(r.serveService)},
		{Name: "GCS claim", Run: always(r.gcsClaim)},           // the head Pod mounts it
		{Name: "certificates", Run: always(r.certificates)},    // all Pods mount them
		{Name: stepDependents, Run: always(r.checkDependents)}, // after the steps that find out
		{Name: stepGangs, Run: always(r.gangs)},                // the scheduler has to know of a gang before the first Pod of it appears
		{Name: stepPods, Run: always(r.pods)},
	}
}

// always is a step that goes on whatever happens: a child that cannot be had keeps nothing else from being made.
func always(run func(context.Context, *scope)) func(context.Context, *scope) (reconcile.Outcome, error) {
	return func(ctx context.Context, s *scope) (reconcile.Outcome, error) {
		run(ctx, s)
		return reconcile.Outcome{}, nil
	}
}

// Reconcile implements reconcile.Reconciler.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	before := &rayv1.RayCluster{}
	fresh, err := r.versions.Read(ctx, r.config.Client, req.NamespacedName, before)
	switch {
	case err != nil:
		if apierrors.IsNotFound(err) {
			r.sizes.set(req.NamespacedName, 0)
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	case !rayv1.ManagedHere(before.Spec.ManagedBy) && !awaitsCleanUp(before):
		return ctrl.Result{}, nil
	case !fresh:
		return ctrl.Result{RequeueAfter: reconcile.StaleCheck}, nil
	}
	s, err := r.observe(ctx, before)
	if err != nil {
		return ctrl.Result{}, err
	}
	s.progress, err = reconcile.Run(ctx, r.steps, s)
	s.after(s.progress.After)
	if r.executor.Pending(before.UID) {
		// Should the cache never show it, because the watch was interrupted, no event comes when it is no longer laid over.
		s.after(reconcile.StaleTimeout)
	}
	saveErr := r.persist(ctx, before, s)
	if err := errors.Join(append(s.errs, err, saveErr)...); err != nil {
		return ctrl.Result{}, err // a result next to an error is ignored by controller-runtime
	}
	s.after(r.config.Resync)
	result := ctrl.Result{RequeueAfter: s.lookAgain}
	if s.more {
		// At once, but after everybody else: clusters with few Pods are served between the batches of one with thousands.
		result = ctrl.Result{RequeueAfter: time.Nanosecond, Priority: new(handler.LowPriority)}
	}
	return result, nil
}

// observe reads what belongs to the cluster.
func (r *Reconciler) observe(ctx context.Context, rc *rayv1.RayCluster) (*scope, error) {
	var list corev1.PodList
	if err := owned.List(ctx, r.config.Client, rc, &list); err != nil {
		return nil, fmt.Errorf("listing Pods: %w", err)
	}
	cached := make([]*corev1.Pod, 0, len(list.Items))
	for i := range list.Items {
		if rc.Owns(&list.Items[i]) {
			cached = append(cached, &list.Items[i])
		}
	}
	s := &scope{cluster: rc.DeepCopy(), stored: rc, now: r.config.Clock.Now(), said: r.said, pods: r.executor.View(rc.UID, cached)}
	devicefacts.Strip(s.cluster)
	r.sizes.set(key(rc), len(s.pods))
	return s, nil
}

// key is the name under which the work queue knows the cluster.
func key(rc *rayv1.RayCluster) types.NamespacedName { return client.ObjectKeyFromObject(rc) }

// sizes are the numbers of Pods that clusters had at the last look. The zero value is ready.
type sizes struct{ clusters sync.Map } // int by types.NamespacedName

// set notes a size; zero forgets it.
func (s *sizes) set(cluster types.NamespacedName, pods int) {
	if pods == 0 {
		s.clusters.Delete(cluster)
		return
	}
	s.clusters.Store(cluster, pods)
}

// largeFrom is the number of Pods from which on a cluster waits for smaller ones.
const largeFrom = 100

// schedule is how long to gather changes of Pods before looking at all of them: the more Pods a look has to go through, the longer,
// so that the cost of scaling to n Pods does not grow with n times n. Large clusters come after all others.
func (s *sizes) schedule(cluster types.NamespacedName) (after time.Duration, priority int) {
	size, _ := s.clusters.Load(cluster)
	n, _ := size.(int)
	if n >= largeFrom {
		priority = handler.LowPriority
	}
	return min(30*time.Millisecond+time.Duration(n)*time.Millisecond/2, 500*time.Millisecond), priority
}
