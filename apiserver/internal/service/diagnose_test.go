package service_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

func reasons(findings []*raygatev2.Finding) (all []string) {
	for _, f := range findings {
		all = append(all, f.GetSeverity()+" "+f.GetReason())
	}
	return all
}

func TestDiagnoseJob(t *testing.T) {
	status := func(edit func(*rayv1.RayJobStatus)) func(*rayv1.RayJob) {
		return func(j *rayv1.RayJob) { edit(&j.Status) }
	}
	failed := func(reason rayv1.JobFailedReason) func(*rayv1.RayJob) {
		return status(func(st *rayv1.RayJobStatus) { st.Reason, st.Message = reason, "why" })
	}
	submitter := corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "train-x", Labels: map[string]string{rayv1.LabelOriginatedFromCRD: "RayJob", rayv1.LabelOriginatedFromCRName: "train"}},
		Status:     corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "mine", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error"}}}}},
	}
	unschedulable := corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "demo-head", Labels: map[string]string{rayv1.LabelNodeType: "head"}},
		Status:     corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: "0/3 nodes"}}},
	}
	ready := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "demo-head", Labels: map[string]string{rayv1.LabelNodeType: "head"}}}
	for name, tc := range map[string]struct {
		state rayv1.JobDeploymentStatus
		ray   rayv1.JobStatus
		edit  func(*rayv1.RayJob)
		pods  []corev1.Pod
		do    func(*world)
		ready bool
		want  []string
		text  string
	}{
		"running":      {state: running, ray: rayv1.JobStatusRunning, pods: []corev1.Pod{ready}, ready: true},
		"complete":     {state: complete, ray: rayv1.JobStatusSucceeded, ready: true, do: func(w *world) { delete(w.objects, "RayCluster/demo") }},
		"stopped":      {state: complete, ray: rayv1.JobStatusStopped, ready: true, want: []string{"INFO Stopped"}},
		"not observed": {edit: status(func(st *rayv1.RayJobStatus) { *st = rayv1.RayJobStatus{} }), want: []string{"WARNING NotObserved"}},
		"suspended": {state: rayv1.JobDeploymentStatusSuspended, edit: func(j *rayv1.RayJob) {
			j.Spec.Suspend, j.Spec.ShutdownAfterJobFinishes, j.Status.RayClusterName = true, true, ""
		}, want: []string{"INFO Suspended"}},
		"in a queue": {
			state: rayv1.JobDeploymentStatusSuspended, want: []string{"INFO Queued"}, text: "queue gpus",
			edit: func(j *rayv1.RayJob) {
				j.Spec.Suspend, j.Spec.ShutdownAfterJobFinishes, j.Status.RayClusterName, j.Labels = true, true, "", map[string]string{"kueue.x-k8s.io/queue-name": "gpus"}
			},
		},
		"elsewhere":         {edit: func(j *rayv1.RayJob) { j.Spec.ManagedBy, j.Status.RayClusterName = new(rayv1.ManagedByMultiKueue), "" }, want: []string{"INFO ManagedElsewhere"}},
		"invalid":           {state: rayv1.JobDeploymentStatusValidationFailed, edit: func(j *rayv1.RayJob) { j.Spec.BackoffLimit, j.Status.RayClusterName = new(int32(-1)), "" }, want: []string{"ERROR InvalidSpec"}, text: "backoffLimit"},
		"invalid once":      {state: rayv1.JobDeploymentStatusValidationFailed, edit: status(func(st *rayv1.RayJobStatus) { st.Message, st.RayClusterName = "a newer rule", "" }), want: []string{"ERROR InvalidSpec"}, text: "a newer rule"},
		"entrypoint":        {state: rayv1.JobDeploymentStatusFailed, ray: rayv1.JobStatusFailed, edit: failed(rayv1.AppFailed), pods: []corev1.Pod{submitter}, want: []string{"ERROR EntrypointFailed"}, text: "why"},
		"deadline":          {state: rayv1.JobDeploymentStatusFailed, edit: failed(rayv1.DeadlineExceeded), want: []string{"ERROR DeadlineExceeded"}},
		"early deadline":    {state: rayv1.JobDeploymentStatusFailed, edit: failed(rayv1.PreRunningDeadlineExceeded), want: []string{"ERROR DeadlineExceeded"}},
		"dashboard was off": {state: rayv1.JobDeploymentStatusFailed, edit: failed(rayv1.JobStatusCheckTimeoutExceeded), want: []string{"ERROR DashboardUnreachable"}},
		"submission": {
			state: rayv1.JobDeploymentStatusFailed, edit: failed(rayv1.SubmissionFailed), pods: []corev1.Pod{submitter}, want: []string{"ERROR SubmissionFailed", "ERROR SubmitterFailing"}, text: "no such file",
		},
		"another attempt": {state: rayv1.JobDeploymentStatusRetrying, edit: failed(rayv1.AppFailed), pods: []corev1.Pod{ready}, want: []string{"WARNING Retrying"}},
		"no room for the cluster": {
			state: rayv1.JobDeploymentStatusInitializing, pods: []corev1.Pod{unschedulable}, want: []string{"ERROR Unschedulable", "INFO WaitingForCluster"},
		},
		"no cluster":   {state: rayv1.JobDeploymentStatusInitializing, do: func(w *world) { delete(w.objects, "RayCluster/demo") }, want: []string{"WARNING ClusterMissing", "INFO WaitingForCluster"}},
		"interactive":  {state: rayv1.JobDeploymentStatusWaiting, edit: func(j *rayv1.RayJob) { j.Spec.SubmissionMode = rayv1.InteractiveMode }, pods: []corev1.Pod{ready}, want: []string{"INFO WaitingForJob"}},
		"no dashboard": {state: running, ray: rayv1.JobStatusRunning, pods: []corev1.Pod{ready}, edit: status(func(st *rayv1.RayJobStatus) { st.JobStatusCheckFailureStartTime = new(metav1.Now()) }), ready: true, want: []string{"WARNING DashboardUnreachable"}},
		"earlier attempts": {state: running, ray: rayv1.JobStatusRunning, pods: []corev1.Pod{ready}, ready: true, want: []string{"INFO PreviousAttempts"}, text: "1 on RayCluster train-a at 0001-01-01T00:00:00Z (AppFailed), 2 on",
			edit: status(func(st *rayv1.RayJobStatus) {
				st.PreviousAttempts = []rayv1.RayJobAttempt{{Attempt: 1, RayClusterName: "train-a", Reason: rayv1.AppFailed}, {Attempt: 2, RayClusterName: "train-b"}}
			})},
		"not submitted": {state: running, pods: []corev1.Pod{ready}, want: []string{"INFO NotSubmitted"}},
		"may not see the cluster": {
			state: running, ray: rayv1.JobStatusRunning, ready: true, pods: []corev1.Pod{ready}, do: func(w *world) { w.denied["get rayclusters"] = true },
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			edit := tc.edit
			if edit == nil {
				edit = func(*rayv1.RayJob) {}
			}
			w.job(tc.state, tc.ray, edit)
			w.pods = tc.pods
			w.podLog = func(rw http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(rw, "python: no such file\n") }
			if tc.do != nil {
				tc.do(w)
			}
			resp, err := w.jobs.DiagnoseJob(t.Context(), &raygatev2.DiagnoseJobRequest{Namespace: "default", Name: "train"})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, reasons(resp.GetFindings())); diff != "" || resp.GetReady() != tc.ready {
				t.Errorf("ready %v, findings (-want +got):\n%s\n%v", resp.GetReady(), diff, resp.GetFindings())
			}
			if !strings.Contains(fmt.Sprint(resp.GetFindings()), tc.text) {
				t.Errorf("nothing is said of %q: %v", tc.text, resp.GetFindings())
			}
		})
	}
}

func TestDiagnoseCronJob(t *testing.T) {
	for name, tc := range map[string]struct {
		edit  func(*rayv1.RayCronJob)
		run   string // state of the last one
		ready bool
		want  []string
	}{
		"fine":        {ready: true},
		"suspended":   {edit: func(cj *rayv1.RayCronJob) { cj.Spec.Suspend = new(true) }, want: []string{"INFO Suspended"}},
		"invalid":     {edit: func(cj *rayv1.RayCronJob) { cj.Spec.Schedule = "never" }, want: []string{"ERROR InvalidSpec"}},
		"gate is off": {edit: func(cj *rayv1.RayCronJob) { cj.CreationTimestamp.Time = time.Now().Add(-time.Hour) }, want: []string{"WARNING NotScheduled"}},
		"on time": {ready: true, edit: func(cj *rayv1.RayCronJob) {
			cj.CreationTimestamp.Time = time.Now().Add(-time.Hour)
			cj.Status.LastScheduleTime = new(metav1.Now())
		}},
		"last run failed": {ready: true, run: "Failed", want: []string{"WARNING LastRunFailed"}},
		"last run ended":  {ready: true, run: "Complete"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			cj := &rayv1.RayCronJob{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "nightly", CreationTimestamp: metav1.Now()}}
			cj.Kind = "RayCronJob"
			cj.Spec.Schedule, cj.Spec.TimeZone = "* * * * *", new("Etc/UTC")
			cj.Spec.JobTemplate.Entrypoint, cj.Spec.JobTemplate.ClusterSelector = "x", map[string]string{rayv1.LabelCluster: "demo"}
			if tc.edit != nil {
				tc.edit(cj)
			}
			w.put("RayCronJob", cj)
			if tc.run != "" {
				w.job(rayv1.JobDeploymentStatus(tc.run), rayv1.JobStatusFailed, func(j *rayv1.RayJob) { j.Labels = map[string]string{rayv1.LabelCronJobName: "nightly"} })
			}
			resp, err := w.cronJobs.DiagnoseCronJob(t.Context(), &raygatev2.DiagnoseCronJobRequest{Namespace: "default", Name: "nightly"})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, reasons(resp.GetFindings())); diff != "" || resp.GetReady() != tc.ready {
				t.Errorf("ready %v, findings (-want +got):\n%s\n%v", resp.GetReady(), diff, resp.GetFindings())
			}
		})
	}
}
