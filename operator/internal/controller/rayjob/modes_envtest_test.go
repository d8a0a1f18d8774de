package rayjob

import (
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/pkg/dashboard"
)

func TestKubernetesJobSubmits(t *testing.T) {
	w := newWorld(t)
	w.startOperator()
	w.Create(w.job("demo", func(j *rayv1.RayJob) {
		j.Labels, j.Annotations = map[string]string{"team": "a"}, map[string]string{"note": "b"}
	}))
	rc := w.clusterOf("demo")
	first := w.get("demo")
	if first.Status.JobDeploymentStatus != rayv1.JobDeploymentStatusInitializing || first.Status.JobId == "" || first.Status.StartTime == nil ||
		!slices.Contains(first.Finalizers, rayv1.FinalizerRayJob) {
		t.Errorf("a job that begins: finalizers %v, status %+v", first.Finalizers, first.Status)
	}
	if rc.Labels["team"] != "a" || rc.Annotations["note"] != "b" || len(rc.Annotations) != 1 || rc.Labels[rayv1.LabelOriginatedFromCRName] != "demo" || !metav1.IsControlledBy(rc, first) {
		t.Errorf("cluster with labels %v, annotations %v", rc.Labels, rc.Annotations)
	}
	w.ready(rc)
	j := w.eventuallyIn("demo", rayv1.JobDeploymentStatusRunning)
	submitter := &batchv1.Job{ObjectMeta: w.At("demo")}
	if !w.Read(submitter) || *submitter.Spec.BackoffLimit != 2 || !metav1.IsControlledBy(submitter, j) {
		t.Fatalf("submitter %+v", submitter.ObjectMeta)
	}
	script := submitter.Spec.Template.Spec.Containers[0].Args[0]
	if !strings.HasPrefix(j.Status.DashboardURL, "demo-") || !strings.Contains(script, j.Status.DashboardURL) || !strings.Contains(script, j.Status.JobId) {
		t.Errorf("dashboard %s, script %s", j.Status.DashboardURL, script)
	}
	w.submits(j)
	w.Eventually("the state of Ray", func() bool { return w.get("demo").Status.JobStatus == rayv1.JobStatusRunning })
	svc := &corev1.Service{ObjectMeta: w.At("demo-head-svc")}
	if !w.Read(svc) || svc.Spec.Selector[rayv1.LabelCluster] != rc.Name {
		t.Errorf("Service of the job leads to %v", svc.Spec.Selector)
	}
	w.dash.Set(j.Status.JobId, dashboard.Succeeded, "done")
	w.Eventually("success", func() bool { return w.get("demo").Status.JobStatus == rayv1.JobStatusSucceeded })
	time.Sleep(time.Second)
	if st := w.get("demo").Status.JobDeploymentStatus; st != rayv1.JobDeploymentStatusRunning {
		t.Errorf("%s while the submitter still writes the log", st)
	}
	w.endSubmitter("demo", corev1.PodSucceeded)
	j = w.eventuallyIn("demo", rayv1.JobDeploymentStatusComplete)
	st := &j.Status
	if *st.Succeeded != 1 || *st.Failed != 0 || st.EndTime == nil || st.RayJobStatusInfo.EndTime == nil || st.RayClusterStatus.State != rayv1.ClusterStateReady ||
		st.ObservedGeneration != j.Generation {
		t.Errorf("status at the end: %+v", st)
	}
	if got := shown(st.Conditions); !slices.Equal(got, []string{"Complete True JobSucceeded", "Running False JobEnded"}) {
		t.Errorf("conditions at the end: %v", got)
	}
	w.gone(rc)
	if !w.Read(submitter) {
		t.Error("the submitter, which has the log, is gone")
	}
	if n := w.written("update status RayJob demo"); n > 8 {
		t.Errorf("%d writes of the status:\n%s", n, strings.Join(w.writes, "\n"))
	}
	if n := w.written("create Job"); n != 1 {
		t.Errorf("%d Jobs were created", n)
	}
	for _, reason := range []string{"CreatedRayCluster", "CreatedRayJobSubmitter", "CreatedService", "RayJobCompleted", "DeletedRayCluster"} {
		w.Eventually("the event "+reason, func() bool { return len(w.Events("demo", reason)) == 1 })
	}
}

func TestOperatorSubmits(t *testing.T) {
	cases := map[string]struct {
		end        dashboard.Status
		want       rayv1.JobDeploymentStatus
		wantReason rayv1.JobFailedReason
	}{
		"succeeds": {dashboard.Succeeded, rayv1.JobDeploymentStatusComplete, ""},
		"fails":    {dashboard.Failed, rayv1.JobDeploymentStatusFailed, rayv1.AppFailed},
		"stopped":  {dashboard.Stopped, rayv1.JobDeploymentStatusComplete, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.startOperator()
			w.Create(w.job("demo", inMode(rayv1.HTTPMode), withSpec(func(s *rayv1.RayJobSpec) {
				s.RuntimeEnvYAML, s.Metadata, s.JobId = "env_vars: {A: b}", map[string]string{"k": "v"}, "my-id"
			})))
			w.runs("demo")
			w.Eventually("the submission", func() bool { return w.dash.Submissions("my-id") == 1 })
			w.dash.Set("my-id", dashboard.Running, "")
			w.Eventually("the state of Ray", func() bool { return w.get("demo").Status.JobStatus == rayv1.JobStatusRunning })
			sent, err := w.dash.GetJob(t.Context(), "my-id")
			if err != nil || string(sent.RuntimeEnv) != `{"env_vars":{"A":"b"}}` || sent.Metadata["k"] != "v" {
				t.Errorf("sent %+v, %v", sent, err)
			}
			w.dash.Set("my-id", tc.end, "the end")
			j := w.eventuallyIn("demo", tc.want)
			if j.Status.Reason != tc.wantReason || string(j.Status.JobStatus) != string(tc.end) || j.Status.Message != "the end" {
				t.Errorf("reason %q, job %s, message %q", j.Status.Reason, j.Status.JobStatus, j.Status.Message)
			}
			if w.written("create Job") != 0 || w.dash.Submissions("my-id") != 1 {
				t.Errorf("%d Jobs, %d submissions", w.written("create Job"), w.dash.Submissions("my-id"))
			}
			if n := w.written("update status RayJob demo"); n > 8 {
				t.Errorf("%d writes of the status:\n%s", n, strings.Join(w.writes, "\n"))
			}
		})
	}
}

// TestSubmissionWithLostAnswerRunsOnce has Ray accept a job without the operator getting to know.
func TestSubmissionWithLostAnswerRunsOnce(t *testing.T) {
	w := newWorld(t)
	w.dash.LoseAnswers(1)
	w.startOperator()
	w.Create(w.job("demo", inMode(rayv1.HTTPMode)))
	id := w.runs("demo").Status.JobId
	w.Eventually("the submission", func() bool { return w.dash.Submissions(id) == 1 })
	w.dash.Set(id, dashboard.Succeeded, "")
	w.eventuallyIn("demo", rayv1.JobDeploymentStatusComplete)
	if n := w.dash.Submissions(id); n != 1 {
		t.Errorf("submitted %d times", n)
	}
}

func TestRefusedSubmissionFailsAtOnce(t *testing.T) {
	w := newWorld(t)
	w.startOperator()
	w.Create(w.job("demo", inMode(rayv1.HTTPMode)))
	w.dash.Fail(&dashboard.Error{Call: "x", Kind: dashboard.ErrUnavailable})
	w.runs("demo")
	w.Eventually("the outage", func() bool { return w.get("demo").Status.JobStatusCheckFailureStartTime != nil })
	w.dash.Fail(nil)
	w.Eventually("its end", func() bool { return w.get("demo").Status.JobStatusCheckFailureStartTime == nil })
	w.Create(w.job("broken", inMode(rayv1.HTTPMode), withSpec(func(s *rayv1.RayJobSpec) { s.EntrypointResources = `{"a":1}` })))
	w.ready(w.clusterOf("broken"))
	w.eventuallyIn("broken", rayv1.JobDeploymentStatusRunning)
}

func TestDeletionStopsTheRayJob(t *testing.T) {
	for name, hangs := range map[string]bool{"dashboard answers": false, "dashboard is away": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.startOperator()
			w.Create(w.job("demo", inMode(rayv1.HTTPMode)))
			j := w.runs("demo")
			id := j.Status.JobId
			w.Eventually("the submission", func() bool { return w.dash.Submissions(id) == 1 })
			w.Eventually("the state of Ray", func() bool { return w.get("demo").Status.JobStatus == rayv1.JobStatusPending })
			if hangs {
				w.dash.Fail(&dashboard.Error{Call: "x", Kind: dashboard.ErrUnavailable})
			}
			if err := w.Client.Delete(t.Context(), j); err != nil {
				t.Fatal(err)
			}
			w.gone(j)
			w.dash.Fail(nil)
			got, err := w.dash.GetJob(t.Context(), id)
			if want := map[bool]dashboard.Status{false: dashboard.Stopped, true: dashboard.Pending}[hangs]; err != nil || got.Status != want {
				t.Errorf("job %+v, %v", got, err)
			}
			w.gone(&rayv1.RayCluster{ObjectMeta: w.At(j.Status.RayClusterName)})
		})
	}
}

// TestTokenIsReadAndSent also deletes a RayJob whose token is missing, which must not hold it.
func TestTokenIsReadAndSent(t *testing.T) {
	w := newWorld(t)
	w.startOperator()
	guarded := withSpec(func(s *rayv1.RayJobSpec) {
		s.RayClusterSpec.AuthOptions = &rayv1.AuthOptions{Mode: rayv1.AuthModeToken}
	})
	w.Create(w.job("demo", inMode(rayv1.HTTPMode), guarded))
	rc := w.clusterOf("demo")
	w.Create(&corev1.Secret{ObjectMeta: w.At(rc.Name), Data: map[string][]byte{rayv1.AuthTokenSecretKey: []byte("s3cret")}})
	w.ready(rc)
	w.Eventually("a call with the token", func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return slices.ContainsFunc(w.dialed, func(d string) bool { return strings.HasSuffix(d, " s3cret") })
	})
	w.Create(w.job("bare", inMode(rayv1.HTTPMode), guarded))
	w.runs("bare")
	w.Eventually("the failure", func() bool { return w.get("bare").Status.JobStatusCheckFailureStartTime != nil })
	bare := w.get("bare")
	if err := w.Client.Delete(t.Context(), bare, client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
		t.Fatal(err)
	}
	w.gone(bare)
}

func TestInvalidSpecCanBeRepaired(t *testing.T) {
	w := newWorld(t)
	w.startOperator()
	w.Create(w.job("demo", inMode(rayv1.HTTPMode), withSpec(func(s *rayv1.RayJobSpec) { s.RuntimeEnvYAML = "not a map" })))
	j := w.eventuallyIn("demo", rayv1.JobDeploymentStatusValidationFailed)
	if j.Status.Reason != rayv1.ValidationFailed || !strings.Contains(j.Status.Message, "runtimeEnvYAML") || j.Status.RayClusterName != "" {
		t.Errorf("status %+v", j.Status)
	}
	w.Eventually("the event", func() bool { return len(w.Events("demo", "InvalidRayJobSpec")) == 1 })
	w.change("demo", func(j *rayv1.RayJob) { j.Spec.RuntimeEnvYAML = "" })
	w.runs("demo")
}
