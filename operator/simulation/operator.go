package simulation

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/archive"
	"github.com/raygate/raygate/operator/internal/build/pod"
	"github.com/raygate/raygate/operator/internal/build/rayservice"
	"github.com/raygate/raygate/operator/internal/controller/raycluster"
	raycronjobcontroller "github.com/raygate/raygate/operator/internal/controller/raycronjob"
	rayjobcontroller "github.com/raygate/raygate/operator/internal/controller/rayjob"
	rayservicecontroller "github.com/raygate/raygate/operator/internal/controller/rayservice"
	"github.com/raygate/raygate/operator/internal/dashboards"
	"github.com/raygate/raygate/operator/internal/expiryplan"
	"github.com/raygate/raygate/operator/internal/jobplan"
	"github.com/raygate/raygate/operator/internal/optionalapi"
	"github.com/raygate/raygate/operator/internal/serveplan"
	"github.com/raygate/raygate/operator/simulation/apiserver"
	"github.com/raygate/raygate/pkg/validation"
)

// actorOperator marks the writes of operators in the store.
const actorOperator = "operator"

var errDead = errors.New("the process was killed")

// operator is one process of the operator, with the real controllers.
type operator struct {
	world   *world
	started time.Time
	cache   *apiserver.Cache
	cancel  context.CancelFunc
	ended   sync.WaitGroup
	dead    atomic.Bool
	// doomed is after how many changes the process dies, before it learns of the last of them; 0 for never.
	doomed atomic.Int32

	mu     sync.Mutex
	queues []*queue
	last   map[schema.GroupKind]time.Time // when the last event of a watch arrives
}

var scheme = sync.OnceValue(func() *runtime.Scheme {
	s := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(s), rayv1.AddToScheme(s)); err != nil {
		panic(err)
	}
	return s
})

// replaceOperator ends the operator, and starts another one of a version: at once, or when its absence ends.
func (w *world) replaceOperator(version string) {
	w.op.stop()
	w.version = version
	if w.fault(faultAbsent, "") == 0 {
		w.op = startOperator(w)
	}
}

// startOperator starts a process of w.version. It shares no memory with earlier ones.
func startOperator(w *world) *operator {
	o := &operator{world: w, started: time.Now(), last: map[schema.GroupKind]time.Time{}}
	w.starts++
	byObject := raycluster.CacheByObject()
	maps.Copy(byObject, rayservicecontroller.CacheByObject())
	o.cache = apiserver.NewCache(w.store, byObject, o.later)
	ctx, cancel := context.WithCancel(context.Background())
	o.cancel = cancel
	mgr := &processManager{operator: o, client: o.client(o.cache)}
	if err := o.setUp(ctx, mgr); err != nil {
		if !w.excused() {
			panic(err)
		}
		w.log("the operator does not start: %v", err)
		o.dead.Store(true)
		w.after(5*time.Second, "the operator starts again", func() {
			if w.op == o {
				restart("")(w)
			}
		})
		return o
	}
	for _, r := range mgr.runnables {
		o.ended.Go(func() {
			if err := r.Start(ctx); err != nil && ctx.Err() == nil {
				w.watch.violate("noPanic", "a part of the operator ended: %v", err)
			}
		})
	}
	return o
}

// setUp makes the controllers as the program does, with the gates that it has by default and those of RayCronJob, drains and upgrades in steps.
func (o *operator) setUp(ctx context.Context, mgr *processManager) error {
	w := o.world
	c, live := mgr.client, o.client(nil)
	rules := validation.Options{FromOperator: true, Gates: map[validation.Gate]bool{validation.GateDeletionPolicy: true}}
	podOptions := pod.Options{OperatorVersion: w.version}
	apis := optionalapi.NewWatched(mapper{gatewayAPI(), w}, live, o.cache, clock.RealClock{})
	options := controller.Options{MaxConcurrentReconciles: 1 + w.pick("concurrency", 2), NewQueue: o.newQueue}
	limits := jobplan.DefaultLimits()
	if w.setting("submitter finished", 0.3) {
		limits.SubmitterFinished = 30 * time.Second
	}
	var drain dashboards.OpenDraining
	if w.setting("drains", 0.5) {
		drain = w.rays.openDraining
	}
	podOptions.DeterministicHeadName = w.setting("deterministic head name", 0.3)
	past, err := o.archive(mgr, live)
	if err != nil {
		return err
	}
	suffix := func() string { return fmt.Sprintf("%05d", w.number("suffix")) }
	return errors.Join(
		raycluster.New(raycluster.Config{
			Client: c, Live: live, Recorder: w.watch, Clock: clock.RealClock{}, Validation: rules, Pod: podOptions, CleanUpRedis: true, Archive: past,
			Connect: w.rays.connect, Drain: drain, Jitter: w.jitter, Expiry: expiryplan.Policies{w.policy},
			ReplicaIndices: w.setting("replica indices "+w.version, 0.5), ShrinkWithAutoscaler: w.setting("shrink with autoscaler", 0.3),
		}).SetupWithManager(ctx, mgr, options),
		rayjobcontroller.New(rayjobcontroller.Config{
			Client: c, Live: live, Recorder: w.watch, Clock: clock.RealClock{}, Validation: rules, Pod: podOptions, Connect: w.rays.connect,
			Limits: limits, Suffix: suffix, Jitter: w.jitter, DeleteJob: w.setting("delete job", 0.05), SubmitterRestart: w.setting("submitter restart", 0.3),
			Archive: past,
		}).SetupWithManager(ctx, mgr, options),
		rayservicecontroller.New(rayservicecontroller.Config{
			Client: c, Live: live, Recorder: w.watch, Clock: clock.RealClock{}, Validation: rules, Connect: w.rays.connect, Probe: w.rays.probe, Metrics: w.prometheus.read,
			APIs: apis, Archive: past, Version: w.version, Gates: serveplan.Gates{IncrementalUpgrade: true}, Suffix: suffix, Jitter: w.jitter,
		}).SetupWithManager(ctx, mgr, options),
		raycronjobcontroller.New(raycronjobcontroller.Config{
			Client: c, Live: live, Recorder: w.watch, Clock: clock.RealClock{}, Validation: rules, Local: time.UTC,
		}).SetupWithManager(mgr, options),
	)
}

// archive returns the writer of the history; nil in a seed without a store.
func (o *operator) archive(mgr *processManager, live client.Client) (*archive.Archive, error) {
	w := o.world
	if w.historyStore.way == storeOff {
		return nil, nil
	}
	a := archive.New(archive.Config{
		Store: w.historyStore, Cache: mgr.client, Live: live, Clock: clock.RealClock{}, Dashboards: dashboards.New(w.rays.connect, live, clock.RealClock{}), Random: w.jitter,
	})
	return a, mgr.Add(a)
}

// setting is one of the operator, the same for all processes of a seed.
func (w *world) setting(name string, p float64) bool {
	if on, known := w.settings[name]; known {
		return on
	}
	w.settings[name] = w.chance(name, p)
	return w.settings[name]
}

// number counts under a name. It may be called from any goroutine.
func (w *world) number(name string) int { return w.pick(name, 1<<16) }

func gatewayAPI() meta.RESTMapper {
	m := meta.NewDefaultRESTMapper(nil)
	m.Add(rayservice.GatewayKind, meta.RESTScopeNamespace)
	m.Add(rayservice.RouteKind, meta.RESTScopeNamespace)
	m.Add(rayservice.GRPCKind, meta.RESTScopeNamespace)
	return m
}

// mapper knows the Gateway API unless it is not installed yet.
type mapper struct {
	meta.RESTMapper
	world *world
}

// RESTMapping implements meta.RESTMapper.
func (m mapper) RESTMapping(kind schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	if m.world.fault(faultGateway, "") > 0 {
		return nil, &meta.NoKindMatchError{GroupKind: kind, SearchedVersions: versions}
	}
	return m.RESTMapper.RESTMapping(kind, versions...)
}

// stop ends the process. A write that is on its way may still reach the API server, and its answer does not come.
func (o *operator) stop() {
	o.dead.Store(true)
	o.cache.Stop()
	o.cancel()
	o.ended.Wait()
}

func (o *operator) newQueue(name string, limiter workqueue.TypedRateLimiter[ctrl.Request]) workqueue.TypedRateLimitingInterface[ctrl.Request] {
	q := newQueue(o.world, name, limiter)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.queues = append(o.queues, q)
	return q
}

// dispatch hands one request to a worker, if there is one and a request for it.
func (o *operator) dispatch() bool {
	type work struct {
		queue   *queue
		request ctrl.Request
	}
	var list []work
	o.mu.Lock()
	queues := o.queues
	o.mu.Unlock()
	for _, name := range []string{"raycluster", "raycronjob", "rayjob", "rayservice"} { // queues are made in any order
		for _, q := range queues {
			if q.name == name {
				for _, r := range q.next() {
					list = append(list, work{q, r})
				}
			}
		}
	}
	if len(list) == 0 || o.dead.Load() {
		return false
	}
	next := list[o.world.pick("schedule", len(list))]
	o.world.log("reconcile %s %s", next.queue.name, next.request.Name)
	next.queue.give(next.request)
	return true
}

// later delays the events of a watch, which stay in their order.
func (o *operator) later(kind schema.GroupKind, deliver func()) {
	w := o.world
	delay := w.between("watch "+kind.Kind, time.Millisecond, 60*time.Millisecond)
	if lag := w.fault(faultWatch, kind.Kind); lag > 0 {
		delay += w.between("lag "+kind.Kind, 0, 10*time.Second)
	}
	at := time.Now().Add(delay)
	o.mu.Lock()
	if last := o.last[kind]; !at.After(last) {
		at = last.Add(time.Microsecond)
	}
	o.last[kind] = at
	o.mu.Unlock()
	w.after(time.Until(at), "watch "+kind.Kind, deliver)
}

// client is a client of the process.
func (o *operator) client(from client.Reader) client.Client {
	return &apiserver.Client{Store: o.world.store, Actor: actorOperator, Cache: from, Around: o.around}
}

// around is what happens to a request on its way to the API server and back.
func (o *operator) around(ctx context.Context, r apiserver.Request, do func() error) error {
	w := o.world
	if o.dead.Load() {
		return errDead
	}
	name := r.Verb + " " + r.Kind.Kind + " " + r.Key.Name
	w.watch.request(r)
	time.Sleep(w.between("request "+name, 500*time.Microsecond, 8*time.Millisecond))
	if ctx.Err() != nil || o.dead.Load() && w.chance("killed "+name, 0.5) {
		return errors.Join(errDead, ctx.Err())
	}
	if err := w.refuse(r, name); err != nil {
		w.log("%s: %v", name, err)
		return err
	}
	err := do()
	if r.Writes() {
		status := ""
		if r.Status {
			status = "/status"
		}
		w.log("%s%s: %v", name, status, err)
	}
	if r.Writes() && o.killed() || o.dead.Load() {
		return errDead
	}
	if w.strikes(faultLost, r.Kind.Kind, "lost "+name) {
		w.log("%s: the answer is lost", name)
		return apierrors.NewTimeoutError("the request timed out", 1)
	}
	return err
}

// killed is called after a change had its effect, and reports whether the process has died of it. Another one takes its place.
func (o *operator) killed() bool {
	if o.doomed.Load() == 0 || o.doomed.Add(-1) > 0 || !o.dead.CompareAndSwap(false, true) {
		return false
	}
	o.world.log("the operator is killed")
	o.world.after(0, "killed", func() {
		if o.world.op == o {
			restart("")(o.world)
		}
	})
	return true
}

// refuse is what the API server says against a request while there are faults; nil for nothing.
func (w *world) refuse(r apiserver.Request, name string) error {
	if w.strikes(faultRequests, r.Kind.Kind, "fails "+name) {
		return apierrors.NewInternalError(errors.New("etcdserver: request timed out"))
	}
	if r.Writes() && !r.Status && w.strikes(faultAdmission, r.Kind.Kind, "admission "+name) {
		gr := schema.GroupResource{Group: r.Kind.Group, Resource: strings.ToLower(r.Kind.Kind) + "s"}
		return apierrors.NewForbidden(gr, r.Key.Name, fmt.Errorf("admission webhook \"policy.example.com\" denied the request: request %d", w.number("denial")))
	}
	if r.Verb == "create" && r.Kind.Kind == "Pod" && w.chance("quota "+name, w.fault(faultQuota, "Pod")) {
		return apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, r.Key.Name, errors.New("exceeded quota: compute"))
	}
	return nil
}

// controlledBy returns the name of the controller of an object if it is of a kind; empty otherwise.
func controlledBy(o client.Object, kind string) string {
	if ref := metav1.GetControllerOf(o); ref != nil && ref.Kind == kind {
		return ref.Name
	}
	return ""
}

func isReady(p *corev1.Pod) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}
