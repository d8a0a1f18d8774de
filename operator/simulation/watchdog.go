package simulation

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/simulation/apiserver"
)

// Invariants are what users count on, by name.
var Invariants = map[string]string{
	// Safety: checked at every step.
	"entrypointOnce":     "An entrypoint runs once for each attempt that backoffLimit or the user asked for.",
	"attemptsApart":      "An attempt of a RayJob does not begin on a cluster where another one runs.",
	"suspensionWaits":    "A suspension of a RayJob with a grace does not delete the cluster while the program saves its state.",
	"oneSubmitter":       "A RayJob never has two submitters at a time.",
	"nothingAfterEnd":    "No entrypoint begins after its RayJob has ended or is gone.",
	"resultStays":        "The result of a finished RayJob never changes.",
	"podsWithinSpec":     "A cluster never has more Pods than its spec asks for, but for those that are being replaced.",
	"trafficIsServed":    "Requests are not led to a cluster without the application while another cluster has it.",
	"isConfigured":       "A head that is in use and ready has the applications of its service soon after it has started.",
	"givesUp":            "A RayJob whose dashboard takes no job for longer than the limit of an outage ends.",
	"warningHasCause":    "A warning about a child has a cause: a fault, or an object of somebody else.",
	"pauseHolds":         "An upgrade that is paused, or a canary that is neither confirmed nor analysed well, moves no traffic to the new cluster, and the new cluster is neither promoted nor deleted.",
	"podsStayPaused":     "A rolling upgrade that is paused replaces no worker that is ready.",
	"withinLimits":       "Never more replicas are unavailable than a rolling upgrade allows.",
	"drainEnds":          "A worker that Ray drains is deleted, at the latest after the limit.",
	"drainIsAwaited":     "A worker that Ray drains is not deleted before its work has ended, or the limit.",
	"abortHolds":         "A cluster that is given up gets no more traffic and is not promoted while the one before it serves.",
	"neverIdleInUse":     "A cluster is not suspended or deleted as idle while something has been running on it, nor while it is kept, nor before the time of its schedule.",
	"expiredEnds":        "An interactive RayJob has the reason before its cluster is suspended or deleted as idle or old, and does not recreate it.",
	"resumedBySchedule":  "The operator resumes only clusters that it has suspended, and only by their schedule.",
	"foreignUntouched":   "No object of somebody else is changed or deleted.",
	"requestsBounded":    "The number of requests is bounded by the number of changes.",
	"eventsBounded":      "The number of events is bounded by the number of changes.",
	"storeDelaysNothing": "A deletion does not wait longer than the limit for the history store.",
	"storedLogIsKept":    "A record has the log that was stored while the job ran.",
	"noPanic":            "Nothing panics, and no part of the operator ends by itself.",
	// Safety and liveness at rest: once faults stop.
	"ends":          "Every object is at the end that its spec asks for within a bounded time, or says why it cannot be.",
	"quiet":         "Nothing is written while nothing changes.",
	"editIsActed":   "Every edit is acted upon, and the status tells of which generation.",
	"historyIsKept": "Each RayJob that has ended has a record, unless the store fails.",
	"nothingLeft":   "Nothing of an object that has ended or is gone still runs.",
}

// Violation is an invariant that does not hold.
type Violation struct {
	// Invariant is its name.
	Invariant string
	// Text is what was seen.
	Text string
	// At is the time of the simulation.
	At time.Duration
}

// watchdog checks the invariants. Its methods may be called from any goroutine.
type watchdog struct {
	world *world

	mu         sync.Mutex
	violation  *Violation
	requests   int
	changes    int // by others than the operator, each of which may cause requests
	events     map[string]int
	lastWrite  time.Time
	written    string // by it
	runs       map[string][]*ray
	submitters map[string]*submitter
	sizes      map[string][]size
	unsent     map[types.UID]time.Time // since when RayJobs wait for a dashboard to take them
	undeleted  map[types.UID]time.Time // since when RayJobs wait for a deletion that is due
	replaced   map[string]bool         // Pods that the operator asked to delete, also in vain
	controls   map[string]time.Time    // since when annotations of RayServices about upgrades have their values
	serving    map[string]serving      // Pods that take requests
	rayJobs    map[string]*rayv1.RayJob
	rolling    rollingWatch
	unrecorded map[types.UID]bool // head Pods that went before their RayJob said that Ray has the job
}

func newWatchdog(w *world) *watchdog {
	return &watchdog{
		world: w, events: map[string]int{}, runs: map[string][]*ray{}, submitters: map[string]*submitter{}, sizes: map[string][]size{},
		unsent: map[types.UID]time.Time{}, undeleted: map[types.UID]time.Time{}, replaced: map[string]bool{}, controls: map[string]time.Time{}, serving: map[string]serving{}, rayJobs: map[string]*rayv1.RayJob{}, unrecorded: map[types.UID]bool{},
		rolling: rollingWatch{paused: map[string]time.Time{}, disturbed: map[string]time.Time{}},
	}
}

// violate notes the first violation, which ends the run.
func (d *watchdog) violate(invariant, format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.violateLocked(invariant, format, args...)
}

func (d *watchdog) violateLocked(invariant, format string, args ...any) {
	if d.violation == nil {
		d.violation = &Violation{Invariant: invariant, Text: fmt.Sprintf(format, args...), At: d.world.now()}
		d.world.log("VIOLATION of %s: %s", invariant, d.violation.Text)
	}
}

func (d *watchdog) broken() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.violation != nil
}

// Eventf implements events.EventRecorder.
func (d *watchdog) Eventf(about, _ runtime.Object, kind, reason, _, note string, args ...any) { //nolint:revive // the interface has these parameters
	name := about.(client.Object).GetName()
	d.world.log("event %s %s %s: %s", name, kind, reason, fmt.Sprintf(note, args...))
	d.mu.Lock()
	defer d.mu.Unlock()
	d.events[name]++
	text := fmt.Sprintf(note, args...)
	if kind == corev1.EventTypeWarning && strings.HasPrefix(reason, "FailedTo") && !strings.Contains(reason, "Serve") &&
		!strings.Contains(text, "has no controller") && // those of somebody else have none
		!d.world.excused() && !d.world.rays.lostOneOf(text) {
		d.violateLocked("warningHasCause", "%s: %s: %s", name, reason, text)
	}
	if n := d.events[name]; n > 60+20*d.changes {
		d.violateLocked("eventsBounded", "%d events of %s after %d changes", n, name, d.changes)
	}
}

// request counts a request of the operator.
func (d *watchdog) request(r apiserver.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.requests++
	if r.Verb == "delete" && r.Kind == kindPod {
		d.replaced[r.Key.Name] = true
	}
	if limit := 400 + 60*d.changes; d.requests > limit {
		d.violateLocked("requestsBounded", "%d requests after %d changes, the last: %s %s %s", d.requests, d.changes, r.Verb, r.Kind.Kind, r.Key.Name)
	}
}

// changed is called by the store.
func (d *watchdog) changed(c apiserver.Change) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if c.Actor != actorOperator {
		d.changes++
	} else {
		d.lastWrite, d.written = time.Now(), c.Kind.Kind+" "+c.Object().GetName()
		if c.Old != nil && c.Old.GetLabels()[labelForeign] != "" {
			d.violateLocked("foreignUntouched", "%s %s of somebody else was changed", c.Kind.Kind, c.Old.GetName())
		}
	}
	d.noteRolling(c)
	switch c.Kind {
	case kindCluster:
		d.noteSize(c)
		d.checkIdle(c)
		d.checkExpiredJob(c)
		d.checkHeldCluster(c)
		d.checkSaving(c)
		if c.New == nil {
			w := d.world
			w.after(0, "end of "+c.Old.GetName(), func() {
				if h := w.rays.ownedBy(c.Old.GetUID()); h != nil {
					d.noteUnrecorded(h)
				}
			})
		}
	case kindPod:
		d.noteServing(c)
		if c.Old == nil && c.Actor == actorOperator {
			d.checkPods(c.New.(*corev1.Pod))
		}
		d.checkRolling(c)
		d.checkDrained(c)
	case kindRayJob:
		d.rayJobs[c.Object().GetName()], _ = c.New.(*rayv1.RayJob)
		d.checkResult(c)
	case kindRayService:
		d.noteControls(c)
		d.checkPromotion(c)
		d.checkHeld(c)
	}
}

// excused reports whether there are or were faults that justify a warning.
func (w *world) excused() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.ContainsFunc(w.faults, func(f fault) bool {
		switch f.kind {
		case "a name is awaited", faultWatch, faultNodes, faultAbsent, faultNodeDrain, faultPrometheus, faultCallers, "a user hesitates":
			return false
		}
		return time.Since(f.until) < memory
	})
}

// versions returns an object before and after a change; ok is false if it was created or deleted, or is no T.
func versions[T client.Object](c apiserver.Change) (before, after T, ok bool) {
	before, ok = c.Old.(T)
	if !ok {
		return before, after, false
	}
	after, ok = c.New.(T)
	return before, after, ok
}

// check looks at what has to come true within a time also while there are faults. It is called every few seconds.
func (d *watchdog) check() {
	w := d.world
	for _, o := range w.store.All(kindRayService) {
		if rs := o.(*rayv1.RayService); rs.DeletionTimestamp == nil && !rs.Spec.Suspend && !timedOut(rs) {
			d.checkConfigured(rs)
		}
	}
	alive := !w.recently(faultAbsent) && !w.op.dead.Load() && time.Since(w.op.started) > 30*time.Second
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, o := range w.store.All(kindRayJob) {
		d.checkUnsent(o.(*rayv1.RayJob), alive)
		d.checkHistory(o.(*rayv1.RayJob), alive)
	}
	for _, o := range w.store.All(kindPod) {
		d.checkDrain(o.(*corev1.Pod), alive)
	}
}

// checkConfigured is about the cluster that is used.
func (d *watchdog) checkConfigured(rs *rayv1.RayService) {
	w := d.world
	h := w.rays.of(rs.Status.ActiveServiceStatus.RayClusterName)
	// An operator that was restarted does not know which configuration a head had that has none.
	if h == nil || h.age() < 90*time.Second || w.excused() || w.starts > 1 || w.op.dead.Load() || w.recently(faultWatch) || time.Since(w.op.started) < time.Minute {
		return
	}
	if strings.Contains(rs.Spec.ServeConfigV2, "import_path: 'shop") && len(h.Configs()) == 0 {
		d.violate("isConfigured", "Ray of %s runs for %s without applications", h.cluster, h.age())
	}
}

// labelForeign marks objects of somebody else.
const labelForeign = "example.com/foreign"

// checkTraffic holds the places to which requests are led against those where the application runs.
func (d *watchdog) checkTraffic(rs *rayv1.RayService, to string) {
	w := d.world
	if to == "" || w.fault(faultDashboard, "") > 0 || w.fault(faultHang, "") > 0 || w.fault(faultUnreach, "") > 0 {
		return
	}
	if w.rays.serve(to) || w.rays.lately(to) {
		return
	}
	for _, o := range w.store.All(kindCluster) {
		rc := o.(*rayv1.RayCluster)
		if rc.Name != to && controlledBy(rc, "RayService") == rs.Name && w.servesOn(rc) {
			d.violate("trafficIsServed", "%s leads requests to %s, where nothing runs, while %s serves", rs.Name, to, rc.Name)
		}
	}
}

// servesOn reports whether a cluster serves and stays.
func (w *world) servesOn(rc *rayv1.RayCluster) bool {
	return rc.DeletionTimestamp == nil && w.rays.serve(rc.Name) && w.headStays(rc.Name)
}

// headStays reports whether the head of a cluster is not being deleted, with what it serves.
func (w *world) headStays(cluster string) bool {
	h := w.rays.of(cluster)
	return h != nil && slices.ContainsFunc(w.store.All(kindPod), func(o client.Object) bool { return o.GetUID() == h.pod && o.GetDeletionTimestamp() == nil })
}

// traffic is called when the operator changes where requests go.
func (d *watchdog) traffic(c apiserver.Change) {
	svc, ok := c.New.(*corev1.Service)
	if !ok || svc == nil || c.Old == nil || c.Actor != actorOperator {
		return
	}
	old := c.Old.(*corev1.Service)
	to := svc.Spec.Selector[rayv1.LabelCluster]
	name := controlledBy(svc, "RayService")
	if name == "" || svc.Labels[rayv1.LabelServe] == "" || to == old.Spec.Selector[rayv1.LabelCluster] {
		return
	}
	d.world.after(0, "traffic", func() {
		if rs, ok := d.world.store.Find(kindRayService, types.NamespacedName{Namespace: namespace, Name: name}).(*rayv1.RayService); ok {
			d.checkTraffic(rs, to)
		}
	})
}

var kindRayService = rayv1.GroupVersion.WithKind("RayService").GroupKind()

// rested reports how long the operator has written nothing, and what it wrote last.
func (d *watchdog) rested() (time.Duration, string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return time.Since(d.lastWrite), d.written
}
