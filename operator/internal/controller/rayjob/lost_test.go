package rayjob

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/pkg/dashboard"
	"github.com/raygate/raygate/pkg/dashboard/dashboardfake"
)

// TestSidecarRunsOnceBeforeItsClusterIsComplete loses the head or the cluster while workers are still awaited.
func TestSidecarRunsOnceBeforeItsClusterIsComplete(t *testing.T) {
	again := func(s *stage, j *rayv1.RayJob) {
		s.dash.Put(dashboard.Job{SubmissionID: j.Status.JobId, Status: dashboard.Running, StartTime: time.Now()})
	}
	for name, happens := range map[string]func(*stage, *rayv1.RayJob){
		"the head is gone": func(s *stage, j *rayv1.RayJob) {
			s.must(s.store.Delete(s.t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: j.Status.RayClusterName + "-head"}}))
		},
		"the cluster is gone": func(s *stage, j *rayv1.RayJob) {
			s.must(s.store.Delete(s.t.Context(), &rayv1.RayCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: j.Status.RayClusterName}}))
		},
		"another head has not submitted yet": func(s *stage, j *rayv1.RayJob) {
			s.dash.Forget()
			time.AfterFunc(10*time.Second, func() { again(s, j) })
		},
		"another head has submitted": again,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				objects := left(t, rayv1.SidecarMode, rayv1.JobDeploymentStatusInitializing, "", false)
				objects[0].(*rayv1.RayJob).Spec.BackoffLimit = nil
				s := newStage(t, objects...)
				s.incomplete = true
				again(s, s.get())
				s.play(onlooker, runsOnRay)
				time.Sleep(5 * time.Second)
				happens(s, s.get())
				s.play(onlooker, finished)
				if st := s.get().Status; st.Reason != rayv1.AppFailed || *st.Failed != 1 || s.made["*v1.RayCluster"] > 0 {
					t.Errorf("%s, failed %d, made %v: %s", st.Reason, *st.Failed, s.made, st.Message)
				}
			})
		})
	}
}

// TestClockOfTheHeadIsBehind gives the submitter its time to end.
func TestClockOfTheHeadIsBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Hour)
		j := storyJob(rayv1.K8sJobMode)
		j.Spec.BackoffLimit = nil
		s := newStage(t, j)
		s.dash = dashboardfake.New(slow{clock.RealClock{}})
		s.play(onlooker, runsOnRay)
		s.dash.Set(s.get().Status.JobId, dashboard.Failed, "the end")
		s.play(onlooker, func(j *rayv1.RayJob) bool { return j.Status.JobStatus == rayv1.JobStatusFailed })
		for range 10 {
			s.look()
			time.Sleep(time.Second)
		}
		s.endSubmitter(batchv1.JobComplete, time.Now())
		s.play(onlooker, func(j *rayv1.RayJob) bool { return j.Status.Reason != "" })
		if st := s.get().Status; st.Reason != rayv1.AppFailed {
			t.Errorf("%s: %s", st.Reason, st.Message)
		}
	})
}

// slow is a clock that is ten minutes behind.
type slow struct{ clock.PassiveClock }

// Now implements clock.PassiveClock.
func (s slow) Now() time.Time { return s.PassiveClock.Now().Add(-10 * time.Minute) }

// TestClockOfTheKubeletIsBehind has a job that ends between two questions of an operator whose clock is ahead.
func TestClockOfTheKubeletIsBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, storyJob(rayv1.K8sJobMode))
		s.ownSubmitter = true
		s.play(onlooker, func(j *rayv1.RayJob) bool { return s.dash.Calls("GetJob") > 1 })
		_, err := s.dash.SubmitJob(t.Context(), dashboard.Submission{Entrypoint: "x", SubmissionID: s.get().Status.JobId})
		s.must(err)
		s.dash.Set(s.get().Status.JobId, dashboard.Succeeded, "the end")
		s.endSubmitter(batchv1.JobComplete, time.Now().Add(-10*time.Second))
		s.play(onlooker, func(j *rayv1.RayJob) bool { return finished(j) || j.Status.Reason != "" })
		if st := s.get().Status; st.JobDeploymentStatus != rayv1.JobDeploymentStatusComplete {
			t.Errorf("%s for %s: %s", st.JobDeploymentStatus, st.Reason, st.Message)
		}
	})
}

// TestSelectedClusterIsDeletedEarly says so, and ends with the submitter.
func TestSelectedClusterIsDeletedEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, onSharedCluster(rayv1.K8sJobMode)...)
		s.ownSubmitter = true
		s.play(onlooker, inState(rayv1.JobDeploymentStatusRunning))
		s.must(s.store.Delete(t.Context(), &rayv1.RayCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "shared"}}))
		s.play(onlooker, func(j *rayv1.RayJob) bool { return strings.Contains(j.Status.Message, "waiting for RayCluster shared") })
		s.endSubmitter(batchv1.JobFailed, time.Now())
		s.play(onlooker, finished)
		if st := s.get().Status; st.Reason != rayv1.SubmissionFailed {
			t.Errorf("%s: %s", st.Reason, st.Message)
		}
	})
}

// TestServiceFollowsManyAttempts is no fight with somebody else over the Service.
func TestServiceFollowsManyAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := storyJob(rayv1.HTTPMode)
		j.Spec.BackoffLimit = new(int32(7))
		s := newStage(t, j)
		s.change = func(c *Config) { c.Limits.Retry = time.Millisecond } // as fast as suspensions may follow each other
		s.restart()
		late := 0
		s.play(func(j *rayv1.RayJob) {
			svc := &corev1.Service{}
			if !runsOnRay(j) || s.store.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "demo-head-svc"}, svc) != nil {
				return
			}
			if svc.Spec.Selector[rayv1.LabelCluster] != j.Status.RayClusterName {
				late++
			}
		}, finished, dashboard.Failed)
		if n := *s.get().Status.Failed; n != 8 || late > 0 || strings.Contains(strings.Join(s.events, " "), "FailedTo") {
			t.Errorf("%d attempts, %d times the Service led to an earlier one, events %v", n, late, s.events)
		}
	})
}

// counting counts what is read from the API server.
type counting struct {
	client.Reader
	gets, lists atomic.Int32
}

// List implements client.Reader.
func (c *counting) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	c.lists.Add(1)
	return c.Reader.List(ctx, list, opts...)
}

// Get implements client.Reader.
func (c *counting) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	c.gets.Add(1)
	return c.Reader.Get(ctx, key, o, opts...)
}

// TestWhatIsGoneIsNotAskedForAgain looks often at a job whose submitter was deleted, and once more when all is over.
func TestWhatIsGoneIsNotAskedForAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, storyJob(rayv1.K8sJobMode))
		live := &counting{}
		s.change = func(c *Config) { live.Reader, c.Live = c.Live, live }
		s.restart()
		s.play(onlooker, runsOnRay)
		if n := live.gets.Load(); n != 0 { // a cluster with a new random name cannot exist, and the creation of the Job finds one of its name
			t.Errorf("%d reads from the API server before the first objects were made", n)
		}
		s.must(s.store.Delete(t.Context(), &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "demo"}}))
		before := live.gets.Load()
		for range 20 {
			s.look()
			time.Sleep(time.Second)
		}
		if n := live.gets.Load() - before; n != 1 {
			t.Errorf("%d reads from the API server for a submitter that is gone", n)
		}
		s.play(onlooker, func(j *rayv1.RayJob) bool { return finished(j) && s.clusters() == 0 }, dashboard.Succeeded)
		s.restart()
		before = live.gets.Load()
		s.look()
		if n := live.gets.Load() - before; n != 0 {
			t.Errorf("%d reads from the API server for a job that is over", n)
		}
	})
}

// TestPodsAreListedUntilTheyHaveEnded while Ray is asked whether it has got the job.
func TestPodsAreListedUntilTheyHaveEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, onSharedCluster(rayv1.K8sJobMode)...)
		live := &counting{}
		s.change = func(c *Config) { live.Reader, c.Live = c.Live, live }
		s.restart()
		s.stubborn(time.Hour)
		s.play(onlooker, inState(rayv1.JobDeploymentStatusRunning))
		s.must(s.store.Delete(t.Context(), s.get()))
		ended := int32(-1)
		s.play(func(*rayv1.RayJob) {
			if s.dash.Calls("StopJob") > 0 && ended < 0 {
				ended = live.lists.Load()
			}
		}, gone)
		if n := live.lists.Load(); ended < 1 || n > ended {
			t.Errorf("listed %d times until the Pods had ended, and %d times after that", ended, n-ended)
		}
	})
}

// TestRayJobSaysWhatItWaitsFor after a while, and an operator that is started anew says the same.
func TestRayJobSaysWhatItWaitsFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, storyJob(rayv1.K8sJobMode))
		s.incomplete = true
		said := func(j *rayv1.RayJob) string {
			if c := meta.FindStatusCondition(j.Status.Conditions, rayv1.RayJobRunning); c != nil {
				return c.Message
			}
			return ""
		}
		begun := time.Now()
		s.play(onlooker, func(j *rayv1.RayJob) bool { return said(j) != "" })
		what := said(s.get())
		if age := time.Since(begun); !strings.HasPrefix(what, "waiting since 2000-01-01T00:00:0") || !strings.HasSuffix(what, "to be ready") || age < time.Minute || age > 70*time.Second {
			t.Errorf("after %s: %s", age, what)
		}
		writes := len(s.log)
		s.restart()
		for range 70 {
			s.look()
			time.Sleep(time.Second)
		}
		if got := said(s.get()); got != what || len(s.log) != writes {
			t.Errorf("said %q, %d writes", got, len(s.log)-writes)
		}
		s.incomplete = false
		s.play(onlooker, runsOnRay)
		if got := said(s.get()); got != "" {
			t.Errorf("a job that runs says %q", got)
		}
	})
}
