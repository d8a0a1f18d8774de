package rayjob

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
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
