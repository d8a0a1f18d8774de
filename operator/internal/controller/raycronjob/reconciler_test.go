package raycronjob

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/raytest"
	"github.com/raygate/raygate/internal/testing/testclient"
	"github.com/raygate/raygate/test/controlplane"
)

var midnight = time.Date(2026, time.March, 2, 0, 0, 0, 0, time.UTC)

// world is one RayCronJob without an API server.
type world struct {
	t      *testing.T
	client client.Client
	clock  *clocktesting.FakePassiveClock
	r      *Reconciler
	events recorded
}

// recorded are the events that were sent, as lines.
type recorded []string

// Eventf implements events.EventRecorder.
func (e *recorded) Eventf(_, _ runtime.Object, kind, reason, _, note string, args ...any) {
	*e = append(*e, kind+" "+reason+" "+fmt.Sprintf(note, args...))
}

func newWorld(t *testing.T, schedule string, opts ...func(*rayv1.RayCronJob)) *world {
	t.Helper()
	cj := &rayv1.RayCronJob{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "demo", UID: "cron", Generation: 1, CreationTimestamp: metav1.NewTime(midnight)},
		Spec: rayv1.RayCronJobSpec{Schedule: schedule, JobTemplate: rayv1.RayJobSpec{
			Entrypoint: "python -c 1", SubmissionMode: rayv1.K8sJobMode, ShutdownAfterJobFinishes: true,
			RayClusterSpec: &raytest.RayCluster("x/y").Spec,
		}},
	}
	for _, opt := range opts {
		opt(cj)
	}
	w := &world{t: t, clock: clocktesting.NewFakePassiveClock(midnight)}
	w.client = testclient.Fake(controlplane.Scheme(t)).WithStatusSubresource(&rayv1.RayCronJob{}).WithObjects(cj).Build()
	w.restart()
	return w
}

// restart replaces the operator by one that knows nothing.
func (w *world) restart() {
	w.r = New(Config{Client: w.client, Live: w.client, Recorder: &w.events, Clock: w.clock, Local: time.UTC})
}

func (w *world) look(at string) time.Duration {
	w.t.Helper()
	parsed, err := time.Parse(time.DateTime, at)
	if err != nil {
		w.t.Fatal(err)
	}
	w.clock.SetTime(parsed)
	result, err := w.r.Reconcile(context.Background(), ctrl.Request{NamespacedName: client.ObjectKey{Namespace: "default", Name: "demo"}})
	if err != nil {
		w.t.Fatal(err)
	}
	return result.RequeueAfter
}

func (w *world) jobs() []string {
	w.t.Helper()
	var list rayv1.RayJobList
	if err := w.client.List(context.Background(), &list); err != nil {
		w.t.Fatal(err)
	}
	var times []string
	for _, j := range list.Items {
		times = append(times, j.Annotations[rayv1.AnnotationCronJobScheduledTimestamp])
	}
	return times
}

func (w *world) get() *rayv1.RayCronJob {
	w.t.Helper()
	cj := &rayv1.RayCronJob{}
	if err := w.client.Get(context.Background(), client.ObjectKey{Namespace: "default", Name: "demo"}, cj); err != nil {
		w.t.Fatal(err)
	}
	return cj
}

func (w *world) want(jobs ...string) {
	w.t.Helper()
	if got := w.jobs(); strings.Join(got, " ") != strings.Join(jobs, " ") {
		w.t.Errorf("RayJobs for %v, want %v; events %q", got, jobs, w.events)
	}
}

func TestRunsOnSchedule(t *testing.T) {
	w := newWorld(t, "*/5 * * * *")
	if after := w.look("2026-03-02 00:01:00"); after != 4*time.Minute {
		t.Errorf("next look after %s", after)
	}
	w.want()
	if after := w.look("2026-03-02 00:05:30"); after != 4*time.Minute+30*time.Second {
		t.Errorf("next look after %s", after)
	}
	w.want("2026-03-02T00:05:00Z")
	cj := w.get()
	if got := cj.Status.LastScheduleTime.UTC(); !got.Equal(midnight.Add(5 * time.Minute)) {
		t.Errorf("last schedule time %s", got)
	}
	var list rayv1.RayJobList
	if err := w.client.List(t.Context(), &list); err != nil {
		t.Fatal(err)
	}
	j := &list.Items[0]
	if j.Name != "demo-29540165" || j.Labels[rayv1.LabelCronJobName] != "demo" || len(j.Annotations) != 1 || !metav1.IsControlledBy(j, cj) || j.Spec.Entrypoint != "python -c 1" {
		t.Errorf("RayJob %+v", j)
	}
	w.look("2026-03-02 00:05:40")
	w.look("2026-03-02 00:10:00")
	w.want("2026-03-02T00:05:00Z", "2026-03-02T00:10:00Z")
	if len(w.events) != 2 || !strings.Contains(w.events[1], "the next run is at 2026-03-02T00:15:00Z") {
		t.Errorf("events %q", w.events)
	}
}

// TestLongPauseRunsTheNewestOnly is about an operator that was away for a day.
func TestLongPauseRunsTheNewestOnly(t *testing.T) {
	w := newWorld(t, "0 * * * *")
	w.look("2026-03-03 00:30:00")
	w.want("2026-03-03T00:00:00Z")
	if len(w.events) != 2 || !strings.Contains(w.events[1], "MissedSchedule 23 runs") {
		t.Errorf("events %q", w.events)
	}
	w.look("2026-03-03 00:30:01")
	w.want("2026-03-03T00:00:00Z")
}

// TestKilledBeforeTheStatus creates nothing twice, also when the RayJob has been deleted since.
func TestKilledBeforeTheStatus(t *testing.T) {
	w := newWorld(t, "*/5 * * * *")
	w.look("2026-03-02 00:05:30")
	cj := w.get()
	cj.Status.LastScheduleTime = nil // as if the write had not come through
	if err := w.client.Status().Update(t.Context(), cj); err != nil {
		t.Fatal(err)
	}
	w.restart()
	w.look("2026-03-02 00:05:31")
	w.want("2026-03-02T00:05:00Z")
	if w.get().Status.LastScheduleTime == nil {
		t.Error("the status is not repaired")
	}
	if err := w.client.DeleteAllOf(t.Context(), &rayv1.RayJob{}, client.InNamespace("default")); err != nil {
		t.Fatal(err)
	}
	w.restart()
	w.look("2026-03-02 00:05:32")
	w.want()
}

func TestSuspendedRunsNothing(t *testing.T) {
	w := newWorld(t, "0 * * * *")
	w.look("2026-03-02 00:05:30")
	cj := w.get()
	cj.Spec.Suspend = new(true)
	if err := w.client.Update(t.Context(), cj); err != nil {
		t.Fatal(err)
	}
	for _, at := range []string{"2026-03-02 01:05:30", "2026-03-02 02:06:30"} {
		w.restart() // the event is not repeated
		if after := w.look(at); after != 0 {
			t.Errorf("another look after %s", after)
		}
	}
	w.want()
	if len(w.events) != 1 || !strings.HasPrefix(w.events[0], "Normal SuspendedRayCronJob") {
		t.Errorf("events %q", w.events)
	}
}

func TestTimeZone(t *testing.T) {
	w := newWorld(t, "0 9 * * *", func(cj *rayv1.RayCronJob) { cj.Spec.TimeZone = new("Asia/Taipei") })
	w.look("2026-03-02 00:59:59")
	w.want()
	w.look("2026-03-02 01:00:00")
	w.want("2026-03-02T01:00:00Z")
}

func TestInvalidIsToldOnce(t *testing.T) {
	for name, change := range map[string]func(*rayv1.RayCronJob){
		"schedule":  func(cj *rayv1.RayCronJob) { cj.Spec.Schedule = "TZ=UTC * * * * *" },
		"never":     func(cj *rayv1.RayCronJob) { cj.Spec.Schedule = "0 0 30 2 *" },
		"time zone": func(cj *rayv1.RayCronJob) { cj.Spec.TimeZone = new("Nowhere/Land") },
		"template":  func(cj *rayv1.RayCronJob) { cj.Spec.JobTemplate = rayv1.RayJobSpec{} },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "* * * * *", change)
			w.look("2026-03-02 00:05:30")
			w.look("2026-03-02 00:06:30")
			w.want()
			if len(w.events) != 1 || !strings.HasPrefix(w.events[0], "Warning InvalidRayCronJobSpec") {
				t.Errorf("events %q", w.events)
			}
		})
	}
}

func TestForeignJobIsNotTakenForARun(t *testing.T) {
	w := newWorld(t, "*/5 * * * *")
	foreign := &rayv1.RayJob{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "demo-29540165"}}
	if err := w.client.Create(t.Context(), foreign); err != nil {
		t.Fatal(err)
	}
	w.look("2026-03-02 00:05:30")
	if w.get().Status.LastScheduleTime != nil || len(w.events) != 1 || !strings.HasPrefix(w.events[0], "Warning FailedToCreateRayJob") {
		t.Errorf("status %+v, events %q", w.get().Status, w.events)
	}
	w.look("2026-03-02 00:10:00")
	w.want("", "2026-03-02T00:10:00Z")
}
