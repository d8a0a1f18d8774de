package raycluster

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"time"

	"k8s.io/apimachinery/pkg/types"
	utilrand "k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/apply"
	"github.com/raygate/raygate/operator/internal/build/cert"
	"github.com/raygate/raygate/operator/internal/build/pod"
	"github.com/raygate/raygate/operator/internal/build/service"
	"github.com/raygate/raygate/operator/internal/gang"
	"github.com/raygate/raygate/operator/internal/metrics"
	"github.com/raygate/raygate/operator/internal/served"
	"github.com/raygate/raygate/pkg/validation"
)

// Config is what the reconciler needs. Client, Live, Recorder and Clock are required.
type Config struct {
	// Client reads from a cache made with CacheByObject and IndexFields, and writes.
	Client client.Client
	// Live reads from the API server.
	Live client.Reader
	// Recorder sends events.
	Recorder events.EventRecorder
	// Clock tells the time.
	Clock clock.WithTicker
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
	// NetworkPolicies knows of policies that cannot be had; nil says that nobody looks.
	NetworkPolicies NetworkPolicies
	// IngressOnOpenShift publishes the dashboard by an Ingress also where Routes are served.
	IngressOnOpenShift bool
}

// NetworkPolicies is what another controller finds out about the NetworkPolicies of clusters.
type NetworkPolicies interface {
	// Foreign names those that the cluster needs and that belong to someone else.
	Foreign(cluster *rayv1.RayCluster) []string
	// OnChange sets what is called when Foreign has a new answer about a cluster.
	OnChange(call func(cluster types.NamespacedName))
}

// Reconciler brings RayClusters to the state that their specs ask for.
type Reconciler struct {
	client       client.Client
	recorder     events.EventRecorder
	clock        clock.PassiveClock
	metrics      *metrics.RayCluster
	expectations *expectations
	memory       *memory
	retries      *retries
	resync       time.Duration
	gangs        *gangs
	policies     NetworkPolicies
	children     *children
	steps        []step
}

type step interface {
	Run(ctx context.Context, s *scope) (outcome, error)
}

// New returns a reconciler. It does nothing until SetupWithManager or Reconcile is called.
func New(c Config) *Reconciler {
	x := newExpectations(c.Clock)
	retries := newRetries(c.Clock)
	memory := newMemory()
	gangs := newGangs(c)
	slots := newFairSlots(c.Clock, maxInFlight, maxParallel)
	if c.Random == nil {
		c.Random = rand.Reader
	}
	children := &children{
		client: c.Client,
		live:   c.Live,
		served: &served.Watches{Kinds: c.APIs},
		clock:  c.Clock,
		memory: newChildMemory(),
	}
	return &Reconciler{
		client:       c.Client,
		recorder:     c.Recorder,
		clock:        c.Clock,
		metrics:      c.Metrics,
		expectations: x,
		memory:       memory,
		retries:      retries,
		resync:       c.Resync,
		gangs:        gangs,
		policies:     c.NetworkPolicies,
		children:     children,
		// The order of work.
		steps: []step{
			&finalize{ // first: an object with an invalid spec must still be deletable
				client:       c.Client,
				children:     children,
				clock:        c.Clock,
				expectations: x,
				slots:        slots,
				cleanUp:      c.CleanUpRedis,
				options:      c.Pod,
			},
			&admit{options: c.Validation, metrics: c.Metrics, memory: memory, certManager: certManager(c, children)}, // refuse an invalid spec before anything is created from it
			&announce{slots: slots},                                        // as early as it is known that Pods will be made
			&guard{client: c.Client, cleanUp: c.CleanUpRedis},              // before anything that has to be cleaned up after
			&autoscalerRBAC{children: children},                            // the head Pod names this ServiceAccount
			&ingress{children: children, neverRoute: c.IngressOnOpenShift}, // leads to the head Service, which may come later
			&authSecret{children: children, random: c.Random},              // Pods take their token from it
			&headService{ // workers find the head through it
				writer:       apply.Writer{Client: c.Client, Live: c.Live},
				options:      c.Service,
				expectations: x,
			},
			&headlessService{children: children}, // hosts of a replica find each other through it
			&serveService{children: children},
			&gcsClaim{children: children},                                                  // the head Pod mounts it
			&certificates{children: children, enabled: c.MTLS},                             // all Pods mount them
			&judge{options: c.Validation, metrics: c.Metrics, policies: c.NetworkPolicies}, // after the steps that find out
			gangs, // the scheduler has to know of a gang before the first Pod of it appears
			&pods{
				client:       c.Client,
				live:         c.Live,
				clock:        c.Clock,
				expectations: x,
				memory:       memory,
				retries:      retries,
				slots:        slots,
				gangs:        gangs,
				random:       func() string { return utilrand.String(5) },
				options:      c.Pod,
				replicas:     c.ReplicaIndices,
				shrink:       c.ShrinkWithAutoscaler,
			},
		},
	}
}

// certManager reports whether cert-manager is there; nil where nobody may want it.
func certManager(c Config, children *children) func() (bool, error) {
	if !c.MTLS {
		return nil
	}
	return func() (bool, error) { return children.served.Ready(cert.CertificateKind) }
}

// Reconcile implements reconcile.Reconciler.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	before := &rayv1.RayCluster{}
	if err := r.client.Get(ctx, req.NamespacedName, before); err != nil {
		if uid := r.memory.forget(req.NamespacedName); uid != "" {
			r.expectations.forget(uid)
			r.children.memory.forget(uid)
			r.retries.forget(uid)
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !managed(before) && !guarded(before) {
		return ctrl.Result{}, nil
	}
	if r.memory.stale(before) {
		// Deciding from a status that we have already replaced would repeat events and end in a conflict.
		return ctrl.Result{RequeueAfter: cacheLag}, nil
	}
	s, err := r.observe(ctx, before)
	if err != nil {
		return ctrl.Result{}, err
	}
	lookAgain, err := runSteps(ctx, r.steps, s)
	if r.expectations.pending(before.UID) {
		// Should the cache never show it, because the watch was interrupted, no event comes when it is no longer believed in.
		lookAgain = soonest(lookAgain, expectationTimeout)
	}
	later, saveErr := r.persist(ctx, before, s)
	if err := errors.Join(append(s.errs, err, saveErr)...); err != nil {
		return ctrl.Result{}, err // a result next to an error is ignored by controller-runtime
	}
	return ctrl.Result{RequeueAfter: soonest(soonest(r.resync, s.lookAgain), soonest(lookAgain, later))}, nil
}

// runSteps runs the list until one fails or says stop.
func runSteps(ctx context.Context, steps []step, s *scope) (time.Duration, error) {
	var lookAgain time.Duration
	for _, st := range steps {
		o, err := st.Run(ctx, s)
		if err != nil {
			return 0, err
		}
		lookAgain = soonest(lookAgain, o.lookAgain)
		if o.stop {
			break
		}
	}
	return lookAgain, nil
}

// managed reports whether the object is ours to reconcile, and not Kueue's.
func managed(rc *rayv1.RayCluster) bool {
	by := rc.Spec.ManagedBy
	return by == nil || *by == rayv1.ManagedByKubeRayOperator
}

// key is the name under which the work queue knows the cluster.
func key(rc *rayv1.RayCluster) types.NamespacedName { return client.ObjectKeyFromObject(rc) }
