package raycronjob

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/raytest"
	"github.com/raygate/raygate/test/controlplane"
)

var controlPlane = controlplane.Share(controlplane.Options{CRDs: controlplane.LightCRDs, Nodes: -1, WithoutScheduler: true})

func TestMain(m *testing.M) { controlPlane.Main(m) }

// served is a namespace of a control plane with one RayCronJob, whose operator goes by a clock of the test.
type served struct {
	*controlplane.World
	clock  *clocktesting.FakePassiveClock
	r      *Reconciler
	events recorded
}

func newServed(t *testing.T, schedule, zone, last string) *served {
	t.Helper()
	s := &served{World: controlPlane.Env(t).World(t, "cron-"), clock: clocktesting.NewFakePassiveClock(at(t, last))}
	cj := s.cron(schedule)
	if zone != "" {
		cj.Spec.TimeZone = &zone
	}
	s.Create(cj)
	cj.Status.LastScheduleTime = &metav1.Time{Time: at(t, last)} // the clock of the API server is the real one
	if err := s.Client.Status().Update(t.Context(), cj); err != nil {
		t.Fatal(err)
	}
	s.restart()
	return s
}

func (s *served) cron(schedule string) *rayv1.RayCronJob {
	return &rayv1.RayCronJob{ObjectMeta: s.At("demo"), Spec: rayv1.RayCronJobSpec{Schedule: schedule, JobTemplate: rayv1.RayJobSpec{
		Entrypoint: "python -c 1", SubmissionMode: rayv1.K8sJobMode, RayClusterSpec: &raytest.RayCluster("x/y").Spec,
	}}}
}

func (s *served) restart() {
	s.r = New(Config{Client: s.Client, Live: s.Client, Recorder: &s.events, Clock: s.clock, Local: time.UTC})
}

func at(t *testing.T, text string) time.Time {
	t.Helper()
	parsed, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

// look sets the clock, and returns what is there then: for which times RayJobs were made, and when the next one is due.
func (s *served) look(when string) (made []string, next string) {
	s.T.Helper()
	s.clock.SetTime(at(s.T, when))
	if _, err := s.r.Reconcile(s.T.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Namespace: s.Namespace, Name: "demo"}}); err != nil {
		s.T.Fatal(err)
	}
	for _, j := range s.made() {
		tick := at(s.T, j.Annotations[rayv1.AnnotationCronJobScheduledTimestamp])
		if want := fmt.Sprint("demo-", tick.Unix()/60); j.Name != want {
			s.T.Errorf("RayJob %s for %s, want %s", j.Name, tick, want)
		}
		made = append(made, tick.UTC().Format("02 15:04"))
	}
	slices.Sort(made)
	cj := s.cron("")
	s.Read(cj)
	if t := cj.Status.NextScheduleTime; t != nil {
		next = t.UTC().Format("02 15:04")
	}
	return made, next
}

func (s *served) made() []rayv1.RayJob {
	s.T.Helper()
	var list rayv1.RayJobList
	if err := s.Client.List(s.T.Context(), &list, client.InNamespace(s.Namespace), client.MatchingLabels{rayv1.LabelCronJobName: "demo"}); err != nil {
		s.T.Fatal(err)
	}
	return list.Items
}

type looks []struct {
	when string
	made []string
	next string
}

// TestScheduleOnAServer walks through times: what is there after each look, all that was made before included.
func TestScheduleOnAServer(t *testing.T) {
	cases := map[string]struct {
		schedule, zone, last string
		looks                looks
	}{
		"every five minutes": {"*/5 * * * *", "", "2027-03-01T00:00:00Z", looks{
			{"2027-03-01T00:04:59Z", nil, "01 00:05"},
			{"2027-03-01T00:05:00Z", []string{"01 00:05"}, "01 00:10"},
			{"2027-03-01T00:05:30Z", []string{"01 00:05"}, "01 00:10"},
			{"2027-03-01T00:10:01Z", []string{"01 00:05", "01 00:10"}, "01 00:15"},
		}},
		"no burst after a pause of a day": {"* * * * *", "", "2027-03-01T00:00:00Z", looks{
			{"2027-03-02T00:00:30Z", []string{"02 00:00"}, "02 00:01"},
			{"2027-03-02T00:00:31Z", []string{"02 00:00"}, "02 00:01"},
			{"2027-03-02T00:01:00Z", []string{"02 00:00", "02 00:01"}, "02 00:02"},
		}},
		"a time zone": {"0 9 * * *", "Asia/Taipei", "2027-03-01T00:00:00Z", looks{
			{"2027-03-01T00:59:59Z", nil, "01 01:00"},
			{"2027-03-01T01:00:00Z", []string{"01 01:00"}, "02 01:00"},
		}},
		"a time that spring leaves out": {"30 2 * * *", "Europe/Vienna", "2027-03-27T01:30:00Z", looks{
			{"2027-03-28T12:00:00Z", nil, "29 00:30"},
			{"2027-03-29T00:30:00Z", []string{"29 00:30"}, "30 00:30"},
		}},
		"a time that autumn has twice": {"30 2 * * *", "Europe/Vienna", "2027-10-30T00:30:00Z", looks{
			{"2027-10-31T00:30:00Z", []string{"31 00:30"}, "31 01:30"},
			{"2027-10-31T01:30:00Z", []string{"31 00:30", "31 01:30"}, "01 01:30"},
		}},
		"each hour of a short day": {"0 * * * *", "America/New_York", "2027-03-14T06:00:00Z", looks{
			{"2027-03-14T07:00:00Z", []string{"14 07:00"}, "14 08:00"},
			{"2027-03-14T08:00:00Z", []string{"14 07:00", "14 08:00"}, "14 09:00"},
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServed(t, tc.schedule, tc.zone, tc.last)
			for _, l := range tc.looks {
				made, next := s.look(l.when)
				if diff := cmp.Diff(l.made, made); diff != "" || next != l.next {
					t.Errorf("at %s the next run is at %q, want %q; made (-want +got):\n%s", l.when, next, l.next, diff)
				}
				s.restart() // the operator knows nothing but what is stored
			}
		})
	}
}

// TestSuspensionOnAServer makes nothing while it lasts, and only the newest run after it.
func TestSuspensionOnAServer(t *testing.T) {
	s := newServed(t, "*/10 * * * *", "", "2027-03-01T00:00:00Z")
	suspend := func(yes bool) {
		s.Eventually("a change", func() bool {
			cj := s.cron("")
			s.Read(cj)
			cj.Spec.Suspend = &yes
			return s.Client.Update(t.Context(), cj) == nil
		})
	}
	s.look("2027-03-01T00:05:00Z")
	suspend(true)
	for _, when := range []string{"2027-03-01T00:06:00Z", "2027-03-01T00:15:00Z", "2027-03-01T02:00:30Z"} {
		if made, next := s.look(when); len(made) > 0 || next != "" {
			t.Errorf("suspended, at %s: made %v, next at %q", when, made, next)
		}
	}
	suspend(false)
	if made, next := s.look("2027-03-01T02:05:00Z"); !slices.Equal(made, []string{"01 02:00"}) || next != "01 02:10" {
		t.Errorf("resumed: made %v, next at %q", made, next)
	}
	if n := s.events.count("MissedSchedule"); n != 1 {
		t.Errorf("%d events about what was missed: %v", n, s.events)
	}
}

// TestNothingIsWrittenForNothing looks again and again between two times.
func TestNothingIsWrittenForNothing(t *testing.T) {
	s := newServed(t, "0 * * * *", "", "2027-03-01T00:00:00Z")
	s.look("2027-03-01T00:10:00Z")
	cj := s.cron("")
	s.Read(cj)
	before := cj.ResourceVersion
	for minute := 11; minute < 60; minute += 6 {
		s.look(fmt.Sprintf("2027-03-01T00:%02d:00Z", minute))
		s.restart()
	}
	if s.Read(cj); cj.ResourceVersion != before {
		t.Errorf("written: %+v", cj.Status)
	}
}

// TestControllerRunsInTime has a manager, watches and garbage collection. Its clock is ahead, so that a minute begins at once.
func TestControllerRunsInTime(t *testing.T) {
	w := controlPlane.Env(t).World(t, "cron-")
	s := &served{World: w}
	begin := time.Now()
	clock := ahead{by: begin.Truncate(time.Minute).Add(time.Hour - 3*time.Second).Sub(begin)}
	mgr := w.Manager(nil, nil)
	r := New(Config{Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Recorder: mgr.GetEventRecorder(EventSource), Clock: clock, Local: time.UTC})
	if err := r.SetupWithManager(mgr, controller.Options{SkipNameValidation: new(true)}); err != nil {
		t.Fatal(err)
	}
	w.Start(mgr)
	cj := s.cron("* * * * *")
	w.Create(cj)
	cj.Status.LastScheduleTime = &metav1.Time{Time: clock.Now().Truncate(time.Second)}
	w.Eventually("the status to be as if it had run", func() bool {
		fresh := s.cron("")
		w.Read(fresh)
		fresh.Status.LastScheduleTime = cj.Status.LastScheduleTime
		return w.Client.Status().Update(t.Context(), fresh) == nil
	})
	w.Eventually("the run of the new minute", func() bool {
		w.Read(cj)
		return len(s.made()) > 0 && cj.Status.NextScheduleTime != nil && cj.Status.NextScheduleTime.After(clock.Now())
	})
	if n := len(s.made()); n > 2 { // the one that was missed before the status was made up, and that of the minute
		t.Errorf("%d RayJobs", n)
	}
	for _, j := range s.made() {
		if !metav1.IsControlledBy(&j, cj) {
			t.Errorf("RayJob %s is not that of the RayCronJob", j.Name)
		}
	}
	w.Eventually("the event", func() bool { return len(w.Events("demo", "CreatedRayJob")) > 0 })
	if err := w.Client.Delete(context.Background(), cj, client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
		t.Fatal(err)
	}
	w.Eventually("the RayJobs to go with it", func() bool { return len(s.made()) == 0 })
}

// ahead is the real clock, moved.
type ahead struct {
	clock.RealClock
	by time.Duration
}

func (a ahead) Now() time.Time                  { return a.RealClock.Now().Add(a.by) }
func (a ahead) Since(t time.Time) time.Duration { return a.Now().Sub(t) }

func (e recorded) count(reason string) int {
	n := 0
	for _, line := range e {
		if strings.Contains(line, " "+reason+" ") {
			n++
		}
	}
	return n
}
