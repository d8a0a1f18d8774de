package rayjob

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/pkg/dashboard"
)

// evict ends the Pod of the submitter as a kubelet does that is short of something.
func (w *world) evict(name string) {
	w.T.Helper()
	w.endSubmitterAs(name, corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted", Message: "The node was low on resource: memory"})
}

// goesOn is a Ray job that goes on for a while after what happened, and then succeeds.
func (w *world) goesOn(j *rayv1.RayJob) {
	w.T.Helper()
	time.Sleep(2 * time.Second)
	if st := w.get(j.Name).Status; st.JobDeploymentStatus != rayv1.JobDeploymentStatusRunning {
		w.T.Errorf("%s while the Ray job goes on: %s", st.JobDeploymentStatus, st.Message)
	}
	w.dash.Set(j.Status.JobId, dashboard.Succeeded, "")
}

// TestLostJobs are what users of KubeRay report as lost.
func TestLostJobs(t *testing.T) {
	away := &dashboard.Error{Call: "x", Kind: dashboard.ErrUnavailable}
	cases := map[string]struct {
		config  func(*Config)
		happens func(*world, *rayv1.RayJob)
		want    rayv1.JobDeploymentStatus
		reason  rayv1.JobFailedReason
		ray     rayv1.JobStatus
	}{
		"the head restarts and Ray has forgotten": {nil, func(w *world, _ *rayv1.RayJob) { w.dash.Forget() },
			rayv1.JobDeploymentStatusFailed, rayv1.AppFailed, rayv1.JobStatusFailed},
		"the head restarts and Ray remembers": {nil, func(w *world, j *rayv1.RayJob) {
			w.dash.Fail(away)
			w.Eventually("the outage", func() bool { return w.get(j.Name).Status.JobStatusCheckFailureStartTime != nil })
			w.dash.Fail(nil)
			w.Eventually("its end", func() bool { return w.get(j.Name).Status.JobStatusCheckFailureStartTime == nil })
			w.dash.Set(j.Status.JobId, dashboard.Succeeded, "")
			w.endSubmitter(j.Name, corev1.PodSucceeded)
		}, rayv1.JobDeploymentStatusComplete, "", rayv1.JobStatusSucceeded},
		"the dashboard is away for good": {func(c *Config) { c.Limits.StatusCheck = 2 * time.Second }, func(w *world, _ *rayv1.RayJob) { w.dash.Fail(away) },
			rayv1.JobDeploymentStatusFailed, rayv1.JobStatusCheckTimeoutExceeded, rayv1.JobStatusFailed},
		"the submitter is deleted while the job goes on": {nil, func(w *world, j *rayv1.RayJob) {
			submitter := &batchv1.Job{ObjectMeta: w.At(j.Name)}
			if err := w.Client.Delete(w.T.Context(), submitter, client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
				w.T.Fatal(err)
			}
			w.gone(submitter)
			w.goesOn(j)
		}, rayv1.JobDeploymentStatusComplete, "", rayv1.JobStatusSucceeded},
		"the submitter fails while the job goes on": {nil, func(w *world, j *rayv1.RayJob) {
			w.endSubmitter(j.Name, corev1.PodFailed)
			w.goesOn(j)
		}, rayv1.JobDeploymentStatusComplete, "", rayv1.JobStatusSucceeded},
		"the submitter is evicted while the job goes on": {nil, func(w *world, j *rayv1.RayJob) {
			w.evict(j.Name)
			w.goesOn(j)
		}, rayv1.JobDeploymentStatusComplete, "", rayv1.JobStatusSucceeded},
		"the submitter is cut off, which looks like a good end": {nil, func(w *world, j *rayv1.RayJob) {
			w.endSubmitter(j.Name, corev1.PodSucceeded)
			w.goesOn(j)
		}, rayv1.JobDeploymentStatusComplete, "", rayv1.JobStatusSucceeded},
		"the same, and the job fails": {nil, func(w *world, j *rayv1.RayJob) {
			w.endSubmitter(j.Name, corev1.PodSucceeded)
			time.Sleep(time.Second)
			w.dash.Set(j.Status.JobId, dashboard.Failed, "exit code 1")
		}, rayv1.JobDeploymentStatusFailed, rayv1.AppFailed, rayv1.JobStatusFailed},
		"the same, with the limit of KubeRay": {func(c *Config) { c.Limits.SubmitterFinished = 2 * time.Second }, func(w *world, j *rayv1.RayJob) {
			w.endSubmitter(j.Name, corev1.PodSucceeded)
		}, rayv1.JobDeploymentStatusFailed, rayv1.JobDeploymentStatusTransitionGracePeriodExceeded, rayv1.JobStatusFailed},
		"Ray says FAILED while the submitter hangs": {func(c *Config) { c.Limits.Transition = 2 * time.Second }, func(w *world, j *rayv1.RayJob) {
			w.dash.Set(j.Status.JobId, dashboard.Failed, "exit code 1")
		}, rayv1.JobDeploymentStatusFailed, rayv1.JobDeploymentStatusTransitionGracePeriodExceeded, rayv1.JobStatusFailed},
		"the cluster is deleted": {nil, func(w *world, j *rayv1.RayJob) {
			if err := w.Client.Delete(w.T.Context(), &rayv1.RayCluster{ObjectMeta: w.At(j.Status.RayClusterName)}); err != nil {
				w.T.Fatal(err)
			}
		}, rayv1.JobDeploymentStatusFailed, rayv1.AppFailed, rayv1.JobStatusFailed},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			if tc.config == nil {
				tc.config = func(*Config) {}
			}
			w.startOperator(tc.config)
			w.Create(w.job("demo", withSpec(func(s *rayv1.RayJobSpec) { s.SubmitterConfig = &rayv1.SubmitterConfig{BackoffLimit: new(int32(0))} })))
			j := w.runs("demo")
			w.submits(j)
			w.Eventually("the state of Ray", func() bool { return w.get("demo").Status.JobStatus == rayv1.JobStatusRunning })
			tc.happens(w, j)
			j = w.eventuallyIn("demo", tc.want)
			if st := &j.Status; st.Reason != tc.reason || st.JobStatus != tc.ray {
				t.Errorf("reason %q, job %s, want %q and %s: %s", st.Reason, st.JobStatus, tc.reason, tc.ray, st.Message)
			}
			if w.written("create Job") != 1 || w.written("create RayCluster") != 1 || w.dash.Submissions(j.Status.JobId) != 1 {
				t.Errorf("%d Jobs, %d clusters, %d submissions, want one each",
					w.written("create Job"), w.written("create RayCluster"), w.dash.Submissions(j.Status.JobId))
			}
			w.gone(&rayv1.RayCluster{ObjectMeta: w.At(j.Status.RayClusterName)}) // and with it what it had of a quota
			w.dash.Fail(nil)
			if ray, err := w.dash.GetJob(t.Context(), j.Status.JobId); tc.reason == rayv1.JobDeploymentStatusTransitionGracePeriodExceeded && (err != nil || !ray.Status.Final()) {
				t.Errorf("the Ray job goes on: %+v, %v", ray, err)
			}
		})
	}
}

// TestLostJobIsRetried runs it on another head, once.
func TestLostJobIsRetried(t *testing.T) {
	w := newWorld(t)
	w.startOperator()
	w.Create(w.job("demo", inMode(rayv1.HTTPMode), withSpec(func(s *rayv1.RayJobSpec) { s.BackoffLimit = new(int32(1)) })))
	first := w.runs("demo")
	w.Eventually("the submission", func() bool { return w.dash.Submissions(first.Status.JobId) == 1 })
	w.dash.Set(first.Status.JobId, dashboard.Running, "")
	w.Eventually("the state of Ray", func() bool { return w.get("demo").Status.JobStatus == rayv1.JobStatusRunning })
	w.dash.Forget()
	w.Eventually("another attempt", func() bool {
		n := w.get("demo").Status.RayClusterName
		return n != "" && n != first.Status.RayClusterName
	})
	second := w.runs("demo")
	w.Eventually("the second submission", func() bool { return w.dash.Submissions(second.Status.JobId) == 1 })
	w.dash.Set(second.Status.JobId, dashboard.Succeeded, "")
	j := w.eventuallyIn("demo", rayv1.JobDeploymentStatusComplete)
	if *j.Status.Failed != 1 || *j.Status.Succeeded != 1 || w.dash.Submissions(first.Status.JobId) > 1 {
		t.Errorf("failed %d, succeeded %d, first submitted %d times", *j.Status.Failed, *j.Status.Succeeded, w.dash.Submissions(first.Status.JobId))
	}
}

// later is a clock that is ahead.
type later struct {
	clock.RealClock
	by time.Duration
}

func (l later) Now() time.Time                  { return l.RealClock.Now().Add(l.by) }
func (l later) Since(t time.Time) time.Duration { return l.Now().Sub(t) }

// TestLateOperatorFailsNoSuccess has an operator come back long after everything ended. KubeRay marks such a job failed.
func TestLateOperatorFailsNoSuccess(t *testing.T) {
	w := newWorld(t)
	stop := w.startOperator()
	w.Create(w.job("demo", withSpec(func(s *rayv1.RayJobSpec) { s.ActiveDeadlineSeconds = new(int32(600)) })))
	j := w.runs("demo")
	w.submits(j)
	w.Eventually("the state of Ray", func() bool { return w.get("demo").Status.JobStatus == rayv1.JobStatusRunning })
	stop()
	w.dash.Set(j.Status.JobId, dashboard.Succeeded, "")
	w.endSubmitter("demo", corev1.PodSucceeded)
	submitter := &batchv1.Job{ObjectMeta: w.At("demo")}
	w.Eventually("the end of the Job", func() bool { return w.Read(submitter) && submitter.Status.CompletionTime != nil })
	w.startOperator(func(c *Config) {
		c.Clock, c.Limits.SubmitterFinished = later{by: time.Hour}, 30*time.Second
	})
	j = w.eventuallyIn("demo", rayv1.JobDeploymentStatusComplete, rayv1.JobDeploymentStatusFailed)
	if st := &j.Status; st.JobDeploymentStatus != rayv1.JobDeploymentStatusComplete || st.JobStatus != rayv1.JobStatusSucceeded || *st.Failed != 0 {
		t.Errorf("%s %s: %s", st.JobDeploymentStatus, st.JobStatus, st.Message)
	}
}
