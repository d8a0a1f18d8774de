package raycronjob

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/children"
	"github.com/raygate/raygate/operator/internal/readiness"
	"github.com/raygate/raygate/operator/internal/reconcile"
	"github.com/raygate/raygate/operator/internal/report"
	"github.com/raygate/raygate/pkg/validation"
)

// EventSource is the reportingController of the events. It is the same as KubeRay's.
const EventSource = "raycronjob-controller"

// longestWait is the longest time between two reconciles. It limits how late a changed system clock is noticed.
const longestWait = time.Hour

// Config configures the reconciler. Client, Live, Recorder and Clock are required.
type Config struct {
	Client     client.Client        // reads from a cache, and writes
	Live       client.Reader        // reads from the API server
	Recorder   events.EventRecorder // sends events
	Clock      clock.PassiveClock
	Local      *time.Location     // the time zone of schedules without one; nil means that of the process
	Validation validation.Options // the facts that rules ask for
	Inherit    []string           // keys of labels that a RayJob gets from its RayCronJob
}

// Reconciler creates the RayJobs of RayCronJobs.
type Reconciler struct {
	config   Config
	versions *reconcile.Versions
	children *children.Writer
	said     *report.Once
	steps    []reconcile.Step[*scope]
}

// New returns a reconciler. It does nothing until SetupWithManager or Reconcile is called.
func New(c Config) *Reconciler {
	if c.Local == nil {
		c.Local = time.Local
	}
	r := &Reconciler{
		config: c, said: &report.Once{},
		children: children.New(children.Config{Client: c.Client, Live: c.Live, Clock: c.Clock}),
	}
	r.versions = reconcile.NewVersions(c.Clock, r.children.Forget, r.said.Forget)
	r.steps = []reconcile.Step[*scope]{
		{Name: "validate", Run: r.validate},
		{Name: "schedule", Run: r.schedule},
		{Name: "run", Run: r.run},
	}
	return r
}

// scope is the state of one reconcile.
type scope struct {
	cron      *rayv1.RayCronJob // a copy with the new status
	scheduled bool              // whether the stored status has a time of the next run
	now       time.Time         // start of the reconcile
	// tick is the scheduled time to run for; zero for none. missed is the number of skipped times before it, next the time after
	// it. Set by schedule.
	tick, next time.Time
	missed     int
	// invalid summarizes the broken rules, and refusal is why the RayJob cannot be created; empty for none. Set by refuse and run.
	invalid, refusal string
	events           []report.Event // sent after the status is saved
}

// +kubebuilder:rbac:groups=ray.io,resources=raycronjobs,verbs=list;watch
// +kubebuilder:rbac:groups=ray.io,resources=raycronjobs/status,verbs=update
// +kubebuilder:rbac:groups=ray.io,resources=raycronjobs/finalizers,verbs=update

// Reconcile implements reconcile.Reconciler.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	before := &rayv1.RayCronJob{}
	fresh, err := r.versions.Read(ctx, r.config.Client, req.NamespacedName, before)
	switch {
	case err != nil:
		return ctrl.Result{}, client.IgnoreNotFound(err)
	case before.DeletionTimestamp != nil:
		return ctrl.Result{}, nil
	case !fresh:
		return ctrl.Result{RequeueAfter: reconcile.StaleCheck}, nil
	}
	s := &scope{cron: before.DeepCopy(), scheduled: before.Status.NextScheduleTime != nil, now: r.config.Clock.Now()}
	progress, err := reconcile.Run(ctx, r.steps, s)
	s.cron.Status.NextScheduleTime = nil
	if !s.next.IsZero() {
		s.cron.Status.NextScheduleTime = &metav1.Time{Time: s.next}
	}
	readiness.RayCronJob(s.cron, s.invalid, s.refusal, s.now)
	if err == nil && !equality.Semantic.DeepEqual(before.Status, s.cron.Status) {
		var saved bool
		var again time.Duration
		if saved, again, err = r.versions.SaveStatus(ctx, r.config.Client, before, s.cron); !saved {
			s.events = report.Done(s.events)
		}
		progress.After = reconcile.Sooner(progress.After, again)
	}
	report.Send(r.config.Recorder, before, s.events)
	if err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: min(progress.After, longestWait)}, nil
}

// SetupWithManager registers the reconciler and its watch. RayJobs have a controller of their own.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, o controller.Options) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("raycronjob").
		For(&rayv1.RayCronJob{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		WithOptions(reconcile.Limited(o)).
		Complete(reconcile.Traced("raycronjob", r))
}
