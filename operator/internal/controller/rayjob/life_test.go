package rayjob

import (
	"cmp"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/raytest"
	"github.com/raygate/raygate/pkg/dashboard"
)

// runsOnRay reports whether the operator knows that Ray runs the job.
func runsOnRay(j *rayv1.RayJob) bool { return j.Status.JobStatus == rayv1.JobStatusRunning }

// TestDeletionRules carries out three rules, each in its time.
func TestDeletionRules(t *testing.T) {
	rule := func(p rayv1.DeletionPolicyType, ttl int32) rayv1.DeletionRule {
		return rayv1.DeletionRule{Policy: p, Condition: rayv1.DeletionCondition{JobStatus: new(rayv1.JobStatusSucceeded), TTLSeconds: ttl}}
	}
	synctest.Test(t, func(t *testing.T) {
		j := storyJob(rayv1.HTTPMode)
		j.Spec.RayClusterSpec, j.Spec.ShutdownAfterJobFinishes = &raytest.RayCluster("x/y", raytest.Workers("cpu", 1)).Spec, false
		j.Spec.DeletionStrategy = &rayv1.DeletionStrategy{DeletionRules: []rayv1.DeletionRule{
			rule(rayv1.DeleteWorkers, 20), rule(rayv1.DeleteCluster, 60), rule(rayv1.DeleteSelf, 120),
		}}
		s := newStage(t, j)
		s.play(onlooker, finished, dashboard.Succeeded)
		ended := s.get().Status.EndTime.Time
		for _, step := range []struct {
			after time.Duration
			what  string
			over  func(*rayv1.RayJob) bool
		}{
			{20 * time.Second, "the workers were suspended", func(j *rayv1.RayJob) bool { return s.workersSuspended(j) }},
			{60 * time.Second, "the cluster was deleted", func(*rayv1.RayJob) bool { return s.clusters() == 0 }},
			{120 * time.Second, "the RayJob was deleted", func(j *rayv1.RayJob) bool { return j == nil }},
		} {
			s.play(onlooker, step.over)
			if age := time.Since(ended); age < step.after || age > step.after+5*time.Second {
				t.Errorf("%s after %s, want %s", step.what, age, step.after)
			}
		}
		if n := strings.Count(strings.Join(s.log, "\n"), "patch *v1.RayCluster"); n != 1 {
			t.Errorf("the workers were suspended %d times", n)
		}
	})
}

func (s *stage) workersSuspended(j *rayv1.RayJob) bool {
	s.t.Helper()
	rc := &rayv1.RayCluster{}
	s.must(s.store.Get(s.t.Context(), client.ObjectKey{Namespace: "default", Name: j.Status.RayClusterName}, rc))
	suspended := rc.Spec.WorkerGroupSpecs[0].Suspend
	return suspended != nil && *suspended
}

// TestOperatorSubmits what the user wrote, and a job that is stopped is complete.
func TestOperatorSubmits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := storyJob(rayv1.HTTPMode)
		j.Spec.RuntimeEnvYAML, j.Spec.Metadata, j.Spec.JobId = "env_vars: {A: b}", map[string]string{"k": "v"}, "my-id"
		s := newStage(t, j)
		s.play(onlooker, finished, dashboard.Stopped)
		if st := s.get().Status; st.JobDeploymentStatus != rayv1.JobDeploymentStatusComplete || st.JobStatus != rayv1.JobStatusStopped || st.Message != "the end" {
			t.Errorf("%s, job %s, message %q", st.JobDeploymentStatus, st.JobStatus, st.Message)
		}
		sent, err := s.dash.GetJob(t.Context(), "my-id")
		if err != nil || string(sent.RuntimeEnv) != `{"env_vars":{"A":"b"}}` || sent.Metadata["k"] != "v" || s.dash.Submissions("my-id") != 1 {
			t.Errorf("sent %+v %d times, %v", sent, s.dash.Submissions("my-id"), err)
		}
	})
}

// TestSubmissionWithLostAnswerRunsOnce has Ray accept a job without the operator getting to know.
func TestSubmissionWithLostAnswerRunsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, storyJob(rayv1.HTTPMode))
		s.dash.LoseAnswers(1)
		s.play(onlooker, finished, dashboard.Succeeded)
		if st := s.get().Status; st.JobDeploymentStatus != rayv1.JobDeploymentStatusComplete || s.dash.Submissions(st.JobId) != 1 {
			t.Errorf("%s, submitted %d times", st.JobDeploymentStatus, s.dash.Submissions(st.JobId))
		}
	})
}

// TestDeletionDoesNotWaitForADashboard that does not answer.
func TestDeletionDoesNotWaitForADashboard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, storyJob(rayv1.HTTPMode))
		s.play(onlooker, runsOnRay)
		id := s.get().Status.JobId
		s.dash.Fail(&dashboard.Error{Call: "x", Kind: dashboard.ErrUnavailable})
		s.play(deleteWhenRunning(s), func(j *rayv1.RayJob) bool { return j == nil })
		s.dash.Fail(nil)
		if got, err := s.dash.GetJob(t.Context(), id); err != nil || got.Status != dashboard.Running {
			t.Errorf("job %+v, %v", got, err)
		}
	})
}

// TestLateOperatorFailsNoSuccess has an operator come back long after everything ended. KubeRay marks such a job failed.
func TestLateOperatorFailsNoSuccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := storyJob(rayv1.K8sJobMode)
		j.Spec.ActiveDeadlineSeconds = new(int32(600))
		s := newStage(t, j)
		s.play(onlooker, runsOnRay)
		s.asking.Stop()
		s.others(s.get(), []dashboard.Status{dashboard.Succeeded})
		time.Sleep(time.Hour)
		s.restart()
		s.play(onlooker, finished)
		if st := s.get().Status; st.JobDeploymentStatus != rayv1.JobDeploymentStatusComplete || st.JobStatus != rayv1.JobStatusSucceeded || *st.Failed != 0 {
			t.Errorf("%s %s: %s", st.JobDeploymentStatus, st.JobStatus, st.Message)
		}
	})
}

func TestInteractiveJobWaitsForTheUser(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := storyJob(rayv1.InteractiveMode)
		j.Spec.Entrypoint, j.Spec.BackoffLimit = "", nil
		s := newStage(t, j)
		s.play(onlooker, func(j *rayv1.RayJob) bool { return j.Status.JobDeploymentStatus == rayv1.JobDeploymentStatusWaiting })
		if j = s.get(); j.Status.JobId != "" {
			t.Errorf("job %s without a word of the user", j.Status.JobId)
		}
		j.Spec.JobId = "mine"
		if err := s.store.Update(t.Context(), j); err != nil {
			t.Fatal(err)
		}
		s.dash.Put(dashboard.Job{SubmissionID: "mine", Status: dashboard.Pending})
		s.play(onlooker, finished, dashboard.Succeeded)
		if st := s.get().Status; st.JobDeploymentStatus != rayv1.JobDeploymentStatusComplete || s.dash.Calls("SubmitJob") != 0 {
			t.Errorf("%s after %d submissions", st.JobDeploymentStatus, s.dash.Calls("SubmitJob"))
		}
	})
}

// TestNameThatIsTooLong is refused by the controller, too: older definitions on the API server let it through.
func TestNameThatIsTooLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := storyJob(rayv1.HTTPMode)
		j.Name = strings.Repeat("n", 48)
		s := newStage(t, j)
		for range 3 {
			if _, err := s.r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(j)}); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.store.Get(t.Context(), client.ObjectKeyFromObject(j), j); err != nil {
			t.Fatal(err)
		}
		st := j.Status
		if st.JobDeploymentStatus != rayv1.JobDeploymentStatusValidationFailed || !strings.Contains(st.Message, "47") || !meta.IsStatusConditionTrue(st.Conditions, rayv1.RayJobInvalidSpec) {
			t.Errorf("status %+v", st)
		}
		if got := strings.Join(s.events, " "); got != "InvalidRayJobMetadata" {
			t.Errorf("events %s", got)
		}
	})
}

// TestLostJobs covers jobs that users of KubeRay report as lost: a job without head or cluster ends, and one without a submitter
// continues.
func TestLostJobs(t *testing.T) {
	for name, tc := range map[string]struct {
		happens func(*stage)
		lost    bool
		mode    rayv1.JobSubmissionMode // empty for K8sJobMode
	}{
		"the head Pod of a sidecar is deleted": {func(s *stage) {
			s.must(s.store.Delete(s.t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: s.get().Status.RayClusterName + "-head"}}))
		}, true, rayv1.SidecarMode},
		"the head restarts and Ray has forgotten": {func(s *stage) { s.dash.Forget() }, true, ""},
		"the cluster is deleted": {func(s *stage) {
			s.must(s.store.Delete(s.t.Context(), &rayv1.RayCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: s.get().Status.RayClusterName}}))
		}, true, ""},
		"the head restarts and Ray remembers": {func(s *stage) {
			s.dash.Fail(&dashboard.Error{Call: "x", Kind: dashboard.ErrUnavailable})
			s.play(onlooker, func(j *rayv1.RayJob) bool { return j.Status.JobStatusCheckFailureStartTime != nil })
			s.dash.Fail(nil)
			s.play(onlooker, func(j *rayv1.RayJob) bool { return j.Status.JobStatusCheckFailureStartTime == nil })
		}, false, ""},
		"the submitter is deleted while the job goes on": {func(s *stage) {
			s.must(s.store.Delete(s.t.Context(), &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "demo"}}))
		}, false, ""},
		"the submitter fails while the job goes on":             {func(s *stage) { s.endSubmitter(batchv1.JobFailed, time.Now()) }, false, ""},
		"the submitter is cut off, which looks like a good end": {func(s *stage) { s.endSubmitter(batchv1.JobComplete, time.Now()) }, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				j := storyJob(cmp.Or(tc.mode, rayv1.K8sJobMode))
				j.Spec.BackoffLimit = nil
				s := newStage(t, j)
				s.play(onlooker, runsOnRay)
				tc.happens(s)
				happened := time.Now()
				s.play(onlooker, func(j *rayv1.RayJob) bool { return finished(j) || time.Since(happened) > 10*time.Minute })
				if finished(s.get()) != tc.lost {
					t.Errorf("status %+v", s.get().Status)
				}
				s.play(onlooker, func(j *rayv1.RayJob) bool { return finished(j) && s.clusters() == 0 }, dashboard.Succeeded)
				st := s.get().Status
				if tc.lost && (st.JobDeploymentStatus != rayv1.JobDeploymentStatusFailed || st.Reason != rayv1.AppFailed || st.JobStatus != rayv1.JobStatusFailed) ||
					!tc.lost && (st.JobDeploymentStatus != rayv1.JobDeploymentStatusComplete || st.JobStatus != rayv1.JobStatusSucceeded) {
					t.Errorf("%s for %q, job %s: %s", st.JobDeploymentStatus, st.Reason, st.JobStatus, st.Message)
				}
				if s.made["*v1.Job"] > 1 || s.made["*v1.RayCluster"] != 1 || s.dash.Submissions(st.JobId) > 1 {
					t.Errorf("made %v with %d submissions", s.made, s.dash.Submissions(st.JobId))
				}
			})
		})
	}
}

func (s *stage) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// TestSubmissionThatAlwaysFails ends as an outage of the dashboard does, which answers all other questions.
func TestSubmissionThatAlwaysFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, storyJob(rayv1.HTTPMode))
		s.dash.FailSubmissions(&dashboard.Error{Call: "SubmitJob", Kind: dashboard.ErrUnavailable, Cause: errors.New("no available agent")})
		begun, flaps := time.Now(), 0
		was := false
		s.play(func(j *rayv1.RayJob) {
			if now := j.Status.JobStatusCheckFailureStartTime != nil; now != was {
				was = now
				flaps++
			}
		}, func(j *rayv1.RayJob) bool { return j.Status.JobDeploymentStatus == rayv1.JobDeploymentStatusFailed })
		st := s.get().Status
		if st.Reason != rayv1.JobStatusCheckTimeoutExceeded || !strings.Contains(st.Message, "no available agent") || time.Since(begun) > 10*time.Minute || flaps > 2 {
			t.Errorf("%s: %s after %s; the time of the failure came and went %d times", st.Reason, st.Message, time.Since(begun), flaps)
		}
	})
}

// TestJobOfAnotherController is left as it is.
func TestJobOfAnotherController(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := storyJob(rayv1.K8sJobMode)
		j.Spec.ManagedBy = new(rayv1.ManagedByMultiKueue)
		s := newStage(t, j)
		for range 3 {
			s.look()
		}
		if j := s.get(); j.Status.JobDeploymentStatus != "" || len(j.Finalizers) > 0 || len(s.log) > 0 {
			t.Errorf("touched: %+v, %v", j, s.log)
		}
	})
}
