package rayjob

import (
	"slices"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/pkg/dashboard"
)

// goesOn is a Ray job that goes on after what happened, and then succeeds.
func (w *world) goesOn(j *rayv1.RayJob) {
	w.T.Helper()
	asked := w.dash.Calls("GetJob")
	w.Eventually("more questions", func() bool { return w.dash.Calls("GetJob") > asked+1 })
	w.fence(j.Name)
	if st := w.get(j.Name).Status; st.JobDeploymentStatus != rayv1.JobDeploymentStatusRunning {
		w.T.Errorf("%s while the Ray job goes on: %s", st.JobDeploymentStatus, st.Message)
	}
	w.dash.Set(j.Status.JobId, dashboard.Succeeded, "")
}

// submitterEnds ends the Pod of the submitter, and waits for the end of the Job.
func (w *world) submitterEnds(name string, phase corev1.PodPhase) {
	w.T.Helper()
	w.endSubmitter(name, phase)
	submitter := &batchv1.Job{ObjectMeta: w.At(name)}
	w.Eventually("the end of the Job", func() bool {
		return w.Read(submitter) && slices.ContainsFunc(submitter.Status.Conditions, func(c batchv1.JobCondition) bool {
			return (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue
		})
	})
}

// TestLostJobs are what users of KubeRay report as lost.
func TestLostJobs(t *testing.T) {
	t.Parallel()
	away := &dashboard.Error{Call: "x", Kind: dashboard.ErrUnavailable}
	cases := map[string]struct {
		happens func(*world, *rayv1.RayJob)
		want    rayv1.JobDeploymentStatus
		reason  rayv1.JobFailedReason
		ray     rayv1.JobStatus
	}{
		"the head restarts and Ray has forgotten": {func(w *world, _ *rayv1.RayJob) { w.dash.Forget() },
			rayv1.JobDeploymentStatusFailed, rayv1.AppFailed, rayv1.JobStatusFailed},
		"the head restarts and Ray remembers": {func(w *world, j *rayv1.RayJob) {
			w.dash.Fail(away)
			w.Eventually("the outage", func() bool { return w.get(j.Name).Status.JobStatusCheckFailureStartTime != nil })
			w.dash.Fail(nil)
			w.Eventually("its end", func() bool { return w.get(j.Name).Status.JobStatusCheckFailureStartTime == nil })
			w.dash.Set(j.Status.JobId, dashboard.Succeeded, "")
			w.endSubmitter(j.Name, corev1.PodSucceeded)
		}, rayv1.JobDeploymentStatusComplete, "", rayv1.JobStatusSucceeded},
		"the submitter is deleted while the job goes on": {func(w *world, j *rayv1.RayJob) {
			submitter := &batchv1.Job{ObjectMeta: w.At(j.Name)}
			if err := w.Client.Delete(w.T.Context(), submitter, client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
				w.T.Fatal(err)
			}
			w.gone(submitter)
			w.goesOn(j)
		}, rayv1.JobDeploymentStatusComplete, "", rayv1.JobStatusSucceeded},
		"the submitter fails while the job goes on": {func(w *world, j *rayv1.RayJob) {
			w.submitterEnds(j.Name, corev1.PodFailed)
			w.goesOn(j)
		}, rayv1.JobDeploymentStatusComplete, "", rayv1.JobStatusSucceeded},
		"the submitter is cut off, which looks like a good end": {func(w *world, j *rayv1.RayJob) {
			w.submitterEnds(j.Name, corev1.PodSucceeded)
			w.goesOn(j)
		}, rayv1.JobDeploymentStatusComplete, "", rayv1.JobStatusSucceeded},
		"the cluster is deleted": {func(w *world, j *rayv1.RayJob) {
			if err := w.Client.Delete(w.T.Context(), &rayv1.RayCluster{ObjectMeta: w.At(j.Status.RayClusterName)}); err != nil {
				w.T.Fatal(err)
			}
		}, rayv1.JobDeploymentStatusFailed, rayv1.AppFailed, rayv1.JobStatusFailed},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.startOperator()
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
		})
	}
}
