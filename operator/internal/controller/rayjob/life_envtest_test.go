package rayjob

import (
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/raytest"
	"github.com/raygate/raygate/operator/internal/build/pod"
	"github.com/raygate/raygate/pkg/dashboard"
)

// headPod makes the head Pod of a cluster, as its controller would.
func (w *world) headPod(rc *rayv1.RayCluster) *corev1.Pod {
	w.T.Helper()
	p := pod.Head(rc, pod.Options{})
	w.Create(p)
	return p
}

func terminated(exitCode int32) corev1.ContainerState {
	now := metav1.Now()
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: exitCode, Reason: "Error", StartedAt: now, FinishedAt: now}}
}

// sidecar sets the state of the container that submits.
func (w *world) sidecar(p *corev1.Pod, status corev1.ContainerStatus) {
	w.T.Helper()
	status.Name = rayv1.ContainerJobSubmitter
	w.Eventually("the status of the head Pod", func() bool {
		w.Read(p)
		p.Status.Phase = corev1.PodRunning
		p.Status.ContainerStatuses = []corev1.ContainerStatus{
			{Name: "ray-head", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}}},
			status,
		}
		return w.Client.Status().Update(w.T.Context(), p) == nil
	})
}

// TestSidecarIsRestarted is about the feature gate SidecarSubmitterRestart: a submitter that fails attaches again, two times.
func TestSidecarIsRestarted(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		restarts int32 // before the last run
		exitCode int32
		ray      dashboard.Status
		want     rayv1.JobDeploymentStatus
		reason   rayv1.JobFailedReason
	}{
		"attaches and follows to the end": {1, 0, dashboard.Succeeded, rayv1.JobDeploymentStatusComplete, ""},
		"third run is the last":           {2, 1, "", rayv1.JobDeploymentStatusFailed, rayv1.SubmissionFailed},
		"third run ends well":             {2, 0, dashboard.Failed, rayv1.JobDeploymentStatusFailed, rayv1.AppFailed},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.startOperator(func(c *Config) { c.SubmitterRestart = true })
			w.Create(w.job("demo", inMode(rayv1.SidecarMode)))
			rc := w.clusterOf("demo")
			containers := rc.Spec.HeadGroupSpec.Template.Spec.Containers
			if p := containers[len(containers)-1].RestartPolicy; p == nil || *p != corev1.ContainerRestartPolicyOnFailure {
				t.Errorf("restart policy %v", p)
			}
			head := w.headPod(rc)
			w.ready(rc)
			j := w.eventuallyIn("demo", rayv1.JobDeploymentStatusRunning)
			if tc.ray != "" {
				w.submits(j)
			}
			for restart := range tc.restarts {
				w.sidecar(head, corev1.ContainerStatus{
					RestartCount:         restart,
					State:                corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
					LastTerminationState: terminated(1),
				})
				w.fence("demo")
				if st := w.get("demo").Status; st.JobDeploymentStatus != rayv1.JobDeploymentStatusRunning {
					t.Fatalf("%s after failure %d: %s", st.JobDeploymentStatus, restart+1, st.Message)
				}
			}
			if tc.ray != "" {
				w.dash.Set(j.Status.JobId, tc.ray, "")
			}
			w.sidecar(head, corev1.ContainerStatus{RestartCount: tc.restarts, State: terminated(tc.exitCode)})
			if j = w.eventuallyIn("demo", tc.want); j.Status.Reason != tc.reason {
				t.Errorf("reason %q, want %q: %s", j.Status.Reason, tc.reason, j.Status.Message)
			}
			if n := w.dash.Submissions(j.Status.JobId); n > 1 || w.written("create RayCluster") != 1 {
				t.Errorf("%d submissions, %d clusters", n, w.written("create RayCluster"))
			}
		})
	}
}

// onShared runs the job on the cluster of somebody else.
func onShared(j *rayv1.RayJob) {
	j.Spec.RayClusterSpec, j.Spec.ClusterSelector, j.Spec.ShutdownAfterJobFinishes = nil, map[string]string{rayv1.LabelCluster: "shared"}, false
}

func (w *world) shared() *rayv1.RayCluster {
	w.T.Helper()
	rc := raytest.RayCluster(w.Namespace + "/shared")
	rc.UID, rc.Generation = "", 0
	w.Create(rc)
	w.ready(rc)
	return rc
}

// TestSubmitterGoesBeforeTheRayJob deletes a RayJob whose submitter is about to submit. Its Pod takes a while to end.
func TestSubmitterGoesBeforeTheRayJob(t *testing.T) {
	t.Parallel()
	const held = "example.com/held"
	w := newWorld(t)
	w.startOperator()
	w.shared()
	w.Create(w.job("demo", onShared))
	j := w.eventuallyIn("demo", rayv1.JobDeploymentStatusRunning)
	pod := &corev1.Pod{}
	w.Eventually("the Pod of the submitter", func() bool {
		var pods corev1.PodList
		if err := w.Client.List(t.Context(), &pods, client.InNamespace(w.Namespace), client.MatchingLabels{batchv1.JobNameLabel: "demo"}); err != nil || len(pods.Items) == 0 {
			return false
		}
		pod = &pods.Items[0]
		pod.Finalizers = append(pod.Finalizers, held)
		return w.Client.Update(t.Context(), pod) == nil
	})
	if err := w.Client.Delete(t.Context(), j, client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
		t.Fatal(err)
	}
	w.gone(&batchv1.Job{ObjectMeta: w.At("demo")})
	w.Eventually("the deletion of the Pod", func() bool { return w.Read(pod) && pod.DeletionTimestamp != nil })
	w.fence("demo")
	if !w.Read(j) || w.dash.Calls("StopJob") > 0 {
		t.Errorf("the RayJob did not wait for the Pod; %d requests to stop the job", w.dash.Calls("StopJob"))
	}
	w.Eventually("the end of the Pod", func() bool {
		w.Read(pod)
		pod.Finalizers = nil
		return w.Client.Update(t.Context(), pod) == nil
	})
	w.gone(j)
	if w.dash.Calls("StopJob") == 0 {
		t.Error("Ray was not asked after the Pod had ended")
	}
}

func TestSelectedClusterIsLeftAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.startOperator()
	w.Create(w.job("demo", inMode(rayv1.HTTPMode), onShared))
	w.Eventually("the missing cluster to be named", func() bool { return strings.Contains(w.get("demo").Status.Message, "shared") })
	rc := w.shared()
	j := w.eventuallyIn("demo", rayv1.JobDeploymentStatusRunning)
	w.Eventually("the submission", func() bool { return w.dash.Submissions(j.Status.JobId) == 1 })
	w.dash.Set(j.Status.JobId, dashboard.Succeeded, "")
	w.eventuallyIn("demo", rayv1.JobDeploymentStatusComplete)
	before := w.get("demo")
	if err := w.Client.Delete(t.Context(), before); err != nil {
		t.Fatal(err)
	}
	w.gone(before)
	if !w.Read(rc) || rc.DeletionTimestamp != nil {
		t.Error("the cluster of the user is gone")
	}
	for _, line := range w.writes {
		if strings.Contains(line, "RayCluster") || strings.Contains(line, "Service") {
			t.Errorf("the operator wrote: %s", line)
		}
	}
}

func TestManagedElsewhereIsLeftAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.startOperator()
	w.Create(w.job("demo", withSpec(func(s *rayv1.RayJobSpec) { s.ManagedBy = new(rayv1.ManagedByMultiKueue) })))
	w.Create(w.job("other"))
	w.clusterOf("other")
	if j := w.get("demo"); j.Status.JobDeploymentStatus != "" || len(j.Finalizers) != 0 {
		t.Errorf("touched: %+v", j)
	}
}
