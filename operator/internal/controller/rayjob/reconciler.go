package rayjob

import (
	"context"
	"errors"
	"time"

	utilrand "k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/archive"
	"github.com/raygate/raygate/operator/internal/build/pod"
	"github.com/raygate/raygate/operator/internal/build/service"
	"github.com/raygate/raygate/operator/internal/children"
	"github.com/raygate/raygate/operator/internal/dashboards"
	"github.com/raygate/raygate/operator/internal/gang"
	"github.com/raygate/raygate/operator/internal/gang/keeper"
	"github.com/raygate/raygate/operator/internal/jobplan"
	"github.com/raygate/raygate/operator/internal/metrics"
	"github.com/raygate/raygate/operator/internal/optionalapi"
	"github.com/raygate/raygate/operator/internal/ownerref"
	"github.com/raygate/raygate/operator/internal/poll"
	"github.com/raygate/raygate/operator/internal/reconcile"
	"github.com/raygate/raygate/operator/internal/report"
	"github.com/raygate/raygate/pkg/validation"
)

// EventSource is the reportingController of the events. It is the same as KubeRay's.
const EventSource = "rayjob-controller"

// Config configures the reconciler. Client, Live, Recorder, Clock and Connect are required.
type Config struct {
	// Client reads from a cache, and writes.
	Client client.Client
	// Live reads from the API server.
	Live client.Reader
	// Recorder sends events.
	Recorder events.EventRecorder
	// Clock also runs the poller.
	Clock clock.WithDelayedExecution
	// Connect connects to dashboards.
	Connect dashboards.Connect
	// Metrics counts events and violations; nil disables it.
	Metrics *metrics.RayJob
	// Archive stores the history of attempts; nil for none.
	Archive *archive.Archive
	// APIs are the optional kinds of the Kubernetes cluster; nil means that none is served.
	APIs *optionalapi.Kinds
	// Jitter returns a number in [0,1) by which intervals of requests to dashboards vary. Nil means a random one.
	Jitter func() float64
	// Suffix returns the random part of the names of an attempt. Nil means five letters and digits.
	Suffix func() string

	// Validation are the facts for validation rules.
	Validation validation.Options
	// Pod and Service are the options of the builders.
	Pod     pod.Options
	Service service.Options
	// Scheduler is the batch scheduler; nil for none.
	Scheduler gang.Scheduler
	// Limits are time limits of the life cycle.
	Limits jobplan.Limits
	// PollInterval is the interval of requests to a dashboard about one job; 0 means 3 seconds.
	PollInterval time.Duration
	// DeleteJob deletes a finished RayJob where shutdownAfterJobFinishes would delete its cluster.
	DeleteJob bool
	// IgnoreDeletionStrategy is set if the feature gate RayJobDeletionPolicy is off.
	IgnoreDeletionStrategy bool
	// SubmitterRestart restarts the submitter container after a failure (feature gate SidecarSubmitterRestart).
	SubmitterRestart bool
}

// Reconciler reconciles RayJobs.
type Reconciler struct {
	config   Config
	versions *reconcile.Versions
	children *children.Writer
	said     *report.Once
	known    *sightings
	over     sightings // since when attempts are over: they outlive what the tracker knows
	tracker  *tracker
	waker    ownerref.Waker
	keeper   *keeper.Keeper // of the objects of the batch scheduler
	actions  map[jobplan.Action]action
	steps    []reconcile.Step[*scope]
}

// poller queries dashboards.
type poller = poll.Poller[target, answer]

// New returns a reconciler. It does nothing until SetupWithManager or Reconcile is called.
func New(c Config) *Reconciler {
	if c.Suffix == nil {
		c.Suffix = func() string { return utilrand.String(5) }
	}
	if c.PollInterval <= 0 {
		c.PollInterval = 3 * time.Second
	}
	r := &Reconciler{
		config: c, said: &report.Once{}, known: &sightings{},
		children: children.New(children.Config{Client: c.Client, Live: c.Live, Clock: c.Clock}),
		keeper:   keeper.New(c.Client, c.Live, c.APIs, c.Clock),
	}
	r.tracker = &tracker{
		poller: poll.New[target, answer](poll.Options{Clock: c.Clock, Random: c.Jitter}), dashboards: dashboards.New(c.Connect, c.Live, c.Clock), questions: newQuestions(c.Clock), known: r.known,
		interval: c.PollInterval, wake: r.waker.Wake,
	}
	r.versions = reconcile.NewVersions(c.Clock, r.children.Forget, r.said.Forget, r.keeper.Forget, r.tracker.forget, r.over.Forget, c.Archive.Forget)
	r.steps, r.actions = r.list(), r.do()
	return r
}

// list returns the steps in the order in which they run.
func (r *Reconciler) list() []reconcile.Step[*scope] {
	return []reconcile.Step[*scope]{
		{Name: "cluster", Run: r.observeCluster},
		{Name: "dashboard", Run: r.observeRay},
		{Name: "submitter", Run: r.observeSubmitter},
		{Name: "history", Run: r.observeHistory},
		{Name: "finalize", Run: r.finalize}, // an invalid object must still be deletable
		{Name: "validate", Run: r.validate},
		{Name: "plan", Run: r.plan},
		{Name: "act", Run: r.act},
	}
}

// +kubebuilder:rbac:groups=ray.io,resources=rayjobs,verbs=get;list;watch
// +kubebuilder:rbac:groups=ray.io,resources=rayjobs/status,verbs=update
// +kubebuilder:rbac:groups=ray.io,resources=rayjobs/finalizers,verbs=update

// Reconcile implements reconcile.Reconciler.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	before := &rayv1.RayJob{}
	fresh, err := r.versions.Read(ctx, r.config.Client, req.NamespacedName, before)
	switch {
	case err != nil:
		return ctrl.Result{}, client.IgnoreNotFound(err)
	case !rayv1.ManagedHere(before.Spec.ManagedBy):
		return ctrl.Result{}, nil // includes its finalizer
	case !fresh:
		return ctrl.Result{RequeueAfter: reconcile.StaleCheck}, nil
	}
	now := r.config.Clock.Now()
	s := &scope{job: before.DeepCopy(), now: now}
	s.in = jobplan.Input{
		Job: s.job, Now: now, Suffix: r.config.Suffix, Limits: r.config.Limits,
		DeleteJob: r.config.DeleteJob, IgnoreDeletionStrategy: r.config.IgnoreDeletionStrategy,
	}
	progress, err := reconcile.Run(ctx, r.steps, s)
	s.after(progress.After)
	if !s.held || s.plan.After > reconcile.Soon { // the transition was held; the step that held it sets the retry time
		s.after(s.plan.After)
	}
	var saveErr error
	switch {
	case progress.Done("act"):
		saveErr = r.persist(ctx, before, s)
	case s.job.DeletionTimestamp != nil: // no status is saved any more
		report.Send(r.config.Recorder, before, s.events)
	default:
		report.Send(r.config.Recorder, before, report.Done(s.events))
	}
	if err := errors.Join(err, saveErr); err != nil {
		return ctrl.Result{}, err // a result next to an error is ignored by controller-runtime
	}
	return ctrl.Result{RequeueAfter: s.lookAgain}, nil
}

// plan computes the next state.
func (r *Reconciler) plan(_ context.Context, s *scope) (reconcile.Outcome, error) {
	s.plan = jobplan.Next(s.in)
	return reconcile.Outcome{}, nil
}
