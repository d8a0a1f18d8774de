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
	"github.com/raygate/raygate/operator/internal/archive"
	"github.com/raygate/raygate/operator/internal/build/devicefacts"
	"github.com/raygate/raygate/operator/internal/build/pod"
	"github.com/raygate/raygate/operator/internal/build/service"
	"github.com/raygate/raygate/operator/internal/children"
	"github.com/raygate/raygate/operator/internal/dashboards"
	"github.com/raygate/raygate/operator/internal/deviceclaims"
	"github.com/raygate/raygate/operator/internal/expiryplan"
	"github.com/raygate/raygate/operator/internal/gang"
	"github.com/raygate/raygate/operator/internal/gang/keeper"
	"github.com/raygate/raygate/operator/internal/metrics"
	"github.com/raygate/raygate/operator/internal/optionalapi"
	"github.com/raygate/raygate/operator/internal/ownerref"
	"github.com/raygate/raygate/operator/internal/podexec"
	"github.com/raygate/raygate/operator/internal/reconcile"
	"github.com/raygate/raygate/operator/internal/report"
	"github.com/raygate/raygate/pkg/devices/claims"
	"github.com/raygate/raygate/pkg/validation"
)

// Config configures the reconciler. Client, Live, Recorder and Clock are required.
type Config struct {
	// Client reads from a cache made with CacheByObject and an index of Pods, and writes.
	Client client.Client
	// Live reads from the API server.
	Live client.Reader
	// Recorder sends events.
	Recorder events.EventRecorder
	// Clock also runs the poller.
	Clock clock.Clock
	// Metrics counts events and violations; nil disables it.
	Metrics *metrics.RayCluster
	// Archive stores the history of deleted objects; nil for none.
	Archive *archive.Archive
	// APIs are the optional kinds of the Kubernetes cluster; nil means that none is served.
	APIs *optionalapi.Kinds
	// Connect connects to dashboards, to find clusters that are idle. Nil means that no cluster is.
	Connect dashboards.Connect
	// Drain drains the Ray nodes of workers before their deletion (feature gate RayClusterDrain). Nil means that none is drained.
	Drain dashboards.OpenDraining
	// Expiry has defaults and bounds for idle and old clusters.
	Expiry expiryplan.Policies
	// Jitter returns a number in [0,1) for the intervals of polls; nil means a random one.
	Jitter func() float64
	// Random is the source of tokens; nil means crypto/rand.
	Random io.Reader

	// Validation are the facts for validation rules.
	Validation validation.Options
	// Pod and Service are the options of the builders.
	Pod     pod.Options
	Service service.Options
	// Scheduler is the batch scheduler; nil means the default scheduler of Kubernetes.
	Scheduler gang.Scheduler
	// ReplicaIndices labels each worker with its index in a replica, and creates and deletes the Pods of a multi-host replica
	// together (feature gate RayMultiHostIndexing).
	ReplicaIndices bool
	// ShrinkWithAutoscaler lets the operator choose the workers to remove even if the autoscaler is enabled.
	ShrinkWithAutoscaler bool
	// Namespaces are those that the operator watches; empty means all.
	Namespaces []string
	// Resync is the interval of reconciles without a change. 0 means never, which is enough because everything is watched.
	Resync time.Duration
	// CleanUpRedis keeps deleted clusters with GCS fault tolerance on Redis until their metadata is removed from Redis.
	CleanUpRedis bool
	// MTLS applies spec.tlsOptions (feature gate RayClusterMTLS).
	MTLS bool
	// NetworkPolicies applies spec.networkPolicy (feature gate RayClusterNetworkPolicy). If it is off, the operator only removes
	// policies of clusters without spec.networkPolicy. It keeps those of other clusters, because a Pod without a policy is worse
	// than an outdated policy.
	NetworkPolicies bool
	// IngressOnOpenShift publishes the dashboard by an Ingress even if Routes are served.
	IngressOnOpenShift bool
	// DeviceFacts stores in a RayCluster the facts about devices that its autoscaler cannot read elsewhere. If it is off, stored
	// facts are removed.
	DeviceFacts bool
	// DeviceClasses maps the classes of ResourceClaims to Ray resources.
	DeviceClasses claims.Classes
}

// Reconciler reconciles RayClusters.
type Reconciler struct {
	config     Config
	optional   *optionalapi.Watches
	versions   *reconcile.Versions
	children   *children.Writer
	executor   *podexec.Executor
	said       *report.Once
	sizes      sizes
	keeper     *keeper.Keeper // of the objects of the batch scheduler
	activities *activities    // nil without a way to connect to dashboards
	drains     *drains        // nil without Config.Drain
	claims     *deviceclaims.Reader
	budgets    bool // the operator may read PodDisruptionBudgets; known once it is set up
	steps      []reconcile.Step[*scope]
}

// Names of steps on which the status depends, see statusParts.
const (
	stepHeadService = "head Service"
	stepGangs       = "batch scheduler"
	stepDependents  = "dependents"
	stepPods        = "Pods"
	stepExpiry      = "expiry"
)

// New returns a reconciler. It does nothing until SetupWithManager or Reconcile is called.
func New(c Config) *Reconciler {
	if c.Random == nil {
		c.Random = rand.Reader
	}
	optional := &optionalapi.Watches{Kinds: c.APIs}
	r := &Reconciler{
		config:     c,
		optional:   optional,
		children:   children.New(children.Config{Client: c.Client, Live: c.Live, Optional: optional, Clock: c.Clock}),
		executor:   podexec.New(c.Client, c.Live, c.Clock),
		said:       &report.Once{},
		keeper:     keeper.New(c.Client, c.Live, c.APIs, c.Clock),
		claims:     deviceclaims.New(c.APIs, c.DeviceClasses),
		budgets:    true,
		activities: newActivities(c),
		drains:     newDrains(c),
	}
	r.versions = reconcile.NewVersions(c.Clock, r.children.Forget, r.executor.Forget, r.said.Forget, r.keeper.Forget, r.activities.forget, r.drains.forget)
	r.steps = r.list()
	return r
}

// list returns the steps in the order in which they run.
func (r *Reconciler) list() []reconcile.Step[*scope] {
	return []reconcile.Step[*scope]{
		{Name: "finalize", Run: r.finalize},                        // first: an object with an invalid spec must still be deletable
		{Name: "validate", Run: r.validate},                        // refuse an invalid spec before anything is created from it
		{Name: "finalizer", Run: r.ensureFinalizer},                // before anything that has to be cleaned up after
		{Name: "device claims", Run: always(r.deviceClaims)},       // before all that depends on devices
		{Name: "device facts", Run: r.deviceFacts},                 // the autoscaler reads them when the head starts
		{Name: "network policies", Run: always(r.networkPolicies)}, // before the Pods that they protect
		{Name: "autoscaler RBAC", Run: always(r.autoscalerRBAC)},   // the head Pod names this ServiceAccount
		{Name: "ingress", Run: always(r.ingress)},
		{Name: "token", Run: always(r.authSecret)},                 // Pods take their token from it
		{Name: stepHeadService, Run: always(r.headService)},        // workers find the head through it
		{Name: "headless Service", Run: always(r.headlessService)}, // hosts of a replica find each other through it
		{Name: "Serve Service", Run: always(r.serveService)},
		{Name: "GCS claim", Run: always(r.gcsClaim)},        // the head Pod mounts it
		{Name: "certificates", Run: always(r.certificates)}, // all Pods mount them
		{Name: "disruption budgets", Run: always(r.disruptionBudgets)},
		{Name: stepDependents, Run: always(r.checkDependents)}, // after the steps that find out
		{Name: stepGangs, Run: always(r.gangs)},                // the scheduler has to know of a gang before the first Pod of it appears
		{Name: stepPods, Run: always(r.pods)},
		{Name: stepExpiry, Run: r.expiry}, // after the head, which knows whether the cluster is used
	}
}

// always returns a step that never ends the list: a child that cannot be created does not block the others.
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
		// If the watch was interrupted, the cache may never show the own write. No event comes when the write expires, so reconcile
		// then.
		s.after(reconcile.StaleTimeout)
	}
	saveErr := r.persist(ctx, before, s)
	if err := errors.Join(append(s.errs, err, saveErr)...); err != nil {
		return ctrl.Result{}, err // a result next to an error is ignored by controller-runtime
	}
	s.after(r.config.Resync)
	result := ctrl.Result{RequeueAfter: s.lookAgain}
	if s.more {
		// At once, but with low priority: clusters with few Pods are reconciled between the batches of a cluster with thousands.
		result = ctrl.Result{RequeueAfter: time.Nanosecond, Priority: new(handler.LowPriority)}
	}
	return result, nil
}

// observe reads the Pods of the cluster.
func (r *Reconciler) observe(ctx context.Context, rc *rayv1.RayCluster) (*scope, error) {
	var list corev1.PodList
	if err := ownerref.List(ctx, r.config.Client, rc, &list); err != nil {
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

// key returns the key of the cluster in the work queue.
func key(rc *rayv1.RayCluster) types.NamespacedName { return client.ObjectKeyFromObject(rc) }

// sizes are the numbers of Pods of the clusters in their last reconciles. The zero value is ready for use.
type sizes struct{ clusters sync.Map } // int by types.NamespacedName

// set records a size; 0 removes the record.
func (s *sizes) set(cluster types.NamespacedName, pods int) {
	if pods == 0 {
		s.clusters.Delete(cluster)
		return
	}
	s.clusters.Store(cluster, pods)
}

// largeFrom is the number of Pods from which a cluster gets low priority.
const largeFrom = 100

// schedule returns how long to collect changes of Pods before a reconcile. The wait grows with the number of Pods, so that the
// cost of scaling to n Pods does not grow quadratically. Large clusters have low priority.
func (s *sizes) schedule(cluster types.NamespacedName) (after time.Duration, priority int) {
	size, _ := s.clusters.Load(cluster)
	n, _ := size.(int)
	if n >= largeFrom {
		priority = handler.LowPriority
	}
	return min(30*time.Millisecond+time.Duration(n)*time.Millisecond/2, 500*time.Millisecond), priority
}
