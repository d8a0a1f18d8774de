package rayservice

import (
	"context"
	"errors"
	"time"

	utilrand "k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/archive"
	"github.com/raygate/raygate/operator/internal/build/service"
	"github.com/raygate/raygate/operator/internal/children"
	"github.com/raygate/raygate/operator/internal/dashboards"
	"github.com/raygate/raygate/operator/internal/objectmap"
	"github.com/raygate/raygate/operator/internal/optionalapi"
	"github.com/raygate/raygate/operator/internal/ownerref"
	"github.com/raygate/raygate/operator/internal/reconcile"
	"github.com/raygate/raygate/operator/internal/report"
	"github.com/raygate/raygate/operator/internal/servemetrics"
	"github.com/raygate/raygate/operator/internal/serveplan"
	"github.com/raygate/raygate/pkg/validation"
)

// EventSource is the reportingController of the events. It is the same as KubeRay's.
const EventSource = "rayservice-controller"

// Config configures the reconciler. Client, Live, Recorder, Clock, Connect and Probe are required.
type Config struct {
	// Client reads from a cache, and writes.
	Client client.Client
	// Live reads from the API server.
	Live client.Reader
	// Recorder sends events.
	Recorder events.EventRecorder
	// Clock also runs the pollers.
	Clock clock.WithDelayedExecution
	// Connect connects to dashboards, and Probe to the proxies of Ray Serve.
	Connect dashboards.Connect
	Probe   dashboards.Probe
	// Metrics reads from Prometheus; nil without one.
	Metrics servemetrics.Read
	// Archive stores the history of deleted objects; nil for none.
	Archive *archive.Archive
	// APIs are the optional kinds of the Kubernetes cluster; nil means that none is served.
	APIs *optionalapi.Kinds
	// Jitter returns a number in [0,1) by which intervals of requests to dashboards vary. Nil means a random one.
	Jitter func() float64
	// Suffix returns the random part of a cluster name. Nil means five letters and digits.
	Suffix func() string

	// Validation are the facts for validation rules.
	Validation validation.Options
	// Service are the options of the Service builders.
	Service service.Options
	// Version is the version of the operator, and ClusterDomain the DNS domain of Services; empty means cluster.local.
	Version, ClusterDomain string
	// Gates are the settings on which strategies depend.
	Gates serveplan.Gates
	// PollIntervals sets the poll intervals of dashboards and proxies.
	PollIntervals PollIntervals
}

// Reconciler reconciles RayServices.
type Reconciler struct {
	config   Config
	versions *reconcile.Versions
	children *children.Writer
	said     *report.Once
	tracker  *tracker
	waker    ownerref.Waker
	optional *optionalapi.Watches
	refusals objectmap.Map[string, []string]
	shown    objectmap.Map[string, []string]  // names of clusters in use that the cache has shown
	starting objectmap.Map[string, time.Time] // since when the status of a service that starts is not written
	steps    []reconcile.Step[*scope]
}

// New returns a reconciler. It does nothing until SetupWithManager or Reconcile is called.
func New(c Config) *Reconciler {
	if c.Suffix == nil {
		c.Suffix = func() string { return utilrand.String(5) }
	}
	c.PollIntervals = c.PollIntervals.orDefault()
	r := &Reconciler{
		config: c, said: &report.Once{},
		optional: &optionalapi.Watches{Kinds: c.APIs},
	}
	r.children = children.New(children.Config{Client: c.Client, Live: c.Live, Optional: r.optional, Clock: c.Clock})
	r.tracker = newTracker(c, r.waker.Wake)
	r.versions = reconcile.NewVersions(c.Clock, r.children.Forget, r.said.Forget, r.tracker.forget, r.refusals.Forget, r.shown.Forget, r.starting.Forget)
	r.steps = r.list()
	return r
}

// list returns the steps in the order in which they run.
func (r *Reconciler) list() []reconcile.Step[*scope] {
	return []reconcile.Step[*scope]{
		{Name: "clusters", Run: r.observeClusters},
		{Name: "finalize", Run: r.finalize}, // an invalid object must still be deletable
		{Name: "validate", Run: r.validate},
		{Name: "services", Run: r.observeServices},
		{Name: "routing", Run: r.observeRouting},
		{Name: "serve", Run: r.observeServe},
		{Name: "plan", Run: r.plan},
		{Name: "act", Run: r.act},
	}
}

// +kubebuilder:rbac:groups=ray.io,resources=rayservices,verbs=list;watch
// +kubebuilder:rbac:groups=ray.io,resources=rayservices/status,verbs=update
// +kubebuilder:rbac:groups=ray.io,resources=rayservices/finalizers,verbs=update

// Reconcile implements reconcile.Reconciler.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	before := &rayv1.RayService{}
	fresh, err := r.versions.Read(ctx, r.config.Client, req.NamespacedName, before)
	switch {
	case err != nil:
		return ctrl.Result{}, client.IgnoreNotFound(err)
	case !rayv1.ManagedHere(before.Spec.ManagedBy):
		return ctrl.Result{}, nil // includes its finalizer
	case !fresh:
		return ctrl.Result{RequeueAfter: reconcile.StaleCheck}, nil
	}
	s := newScope(before, r.config.Clock.Now(), r.said)
	s.in.Suffix, s.in.Strategy = r.config.Suffix, serveplan.StrategyOf(&before.Spec, r.config.Gates)
	s.in.Refusals, _ = r.refusals.Get(before.UID, "")
	progress, err := reconcile.Run(ctx, r.steps, s)
	s.after(progress.After)
	var saveErr error
	if progress.Done("plan") { // failed actions are repeated by the next reconcile; the status describes what exists
		saveErr = r.persist(ctx, before, s)
	} else {
		report.Send(r.config.Recorder, before, report.Done(s.events))
	}
	if err := errors.Join(append(s.errs, err, saveErr)...); err != nil {
		return ctrl.Result{}, err // a result next to an error is ignored by controller-runtime
	}
	return ctrl.Result{RequeueAfter: s.lookAgain}, nil
}

// plan computes the next state.
func (r *Reconciler) plan(ctx context.Context, s *scope) (reconcile.Outcome, error) {
	s.plan = serveplan.Next(s.in)
	if len(s.plan.Rules) > 0 {
		ctrllog.FromContext(ctx).V(2).Info("Applied rules of the life cycle", "rules", s.plan.Rules)
	}
	return reconcile.Outcome{After: s.plan.After}, nil
}
