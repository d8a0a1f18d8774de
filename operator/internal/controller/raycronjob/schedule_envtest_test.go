package raycronjob

import (
	"context"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/raytest"
	"github.com/raygate/raygate/test/controlplane"
)

var controlPlane = controlplane.Share(controlplane.Options{CRDs: controlplane.LightCRDs, Nodes: -1, WithoutScheduler: true})

func TestMain(m *testing.M) { controlPlane.Main(m) }

// TestControllerRunsInTime has a manager, watches and garbage collection. Its clock is ahead, so that a minute begins at once.
func TestControllerRunsInTime(t *testing.T) {
	w := controlPlane.Env(t).World(t, "cron-")
	demo := func() *rayv1.RayCronJob {
		return &rayv1.RayCronJob{ObjectMeta: w.At("demo"), Spec: rayv1.RayCronJobSpec{Schedule: "* * * * *", JobTemplate: rayv1.RayJobSpec{
			Entrypoint: "python -c 1", SubmissionMode: rayv1.K8sJobMode, RayClusterSpec: &raytest.RayCluster("x/y").Spec,
		}}}
	}
	made := func() []rayv1.RayJob {
		t.Helper()
		var list rayv1.RayJobList
		if err := w.Client.List(t.Context(), &list, client.InNamespace(w.Namespace), client.MatchingLabels{rayv1.LabelCronJobName: "demo"}); err != nil {
			t.Fatal(err)
		}
		return list.Items
	}
	begin := time.Now()
	clock := ahead{by: begin.Truncate(time.Minute).Add(time.Hour - 3*time.Second).Sub(begin)}
	mgr := w.Manager(nil, nil)
	r := New(Config{Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Recorder: mgr.GetEventRecorder(EventSource), Clock: clock, Local: time.UTC})
	if err := r.SetupWithManager(mgr, controller.Options{SkipNameValidation: new(true)}); err != nil {
		t.Fatal(err)
	}
	w.Start(mgr)
	cj := demo()
	w.Create(cj)
	cj.Status.LastScheduleTime = &metav1.Time{Time: clock.Now().Truncate(time.Second)}
	w.Eventually("the status to be as if it had run", func() bool {
		fresh := demo()
		w.Read(fresh)
		fresh.Status.LastScheduleTime = cj.Status.LastScheduleTime
		return w.Client.Status().Update(t.Context(), fresh) == nil
	})
	w.Eventually("the run of the new minute", func() bool {
		w.Read(cj)
		return len(made()) > 0 && cj.Status.NextScheduleTime != nil && cj.Status.NextScheduleTime.After(clock.Now())
	})
	if n := len(made()); n > 2 { // the one that was missed before the status was made up, and that of the minute
		t.Errorf("%d RayJobs", n)
	}
	for _, j := range made() {
		if !metav1.IsControlledBy(&j, cj) {
			t.Errorf("RayJob %s is not that of the RayCronJob", j.Name)
		}
	}
	w.Eventually("the event", func() bool { return len(w.Events("demo", "CreatedRayJob")) > 0 })
	if err := w.Client.Delete(context.Background(), cj, client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
		t.Fatal(err)
	}
	w.Eventually("the RayJobs to go with it", func() bool { return len(made()) == 0 })
}

// ahead is the real clock, moved.
type ahead struct {
	clock.RealClock
	by time.Duration
}

func (a ahead) Now() time.Time                  { return a.RealClock.Now().Add(a.by) }
func (a ahead) Since(t time.Time) time.Duration { return a.Now().Sub(t) }
