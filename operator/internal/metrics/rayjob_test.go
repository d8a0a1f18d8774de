package metrics

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

func TestRayJobMetrics(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := rayv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	start := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	j := &rayv1.RayJob{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "demo", UID: "u"},
		Status: rayv1.RayJobStatus{
			JobDeploymentStatus: rayv1.JobDeploymentStatusRunning, StartTime: &metav1.Time{Time: start}, Failed: new(int32(1)),
		},
	}
	gone := j.DeepCopy()
	gone.UID = "gone"
	m := NewRayJob(fake.NewClientBuilder().WithScheme(scheme).WithObjects(j).Build())
	m.ObserveEnd(j, rayv1.JobDeploymentStatusComplete, start.Add(90*time.Second))
	m.ObserveEnd(gone, rayv1.JobDeploymentStatusFailed, start.Add(time.Second))
	m.ObserveEnd(&rayv1.RayJob{}, rayv1.JobDeploymentStatusFailed, start) // made by hand
	const want = `
# HELP kuberay_job_deployment_status One per RayJob, with its state.
# TYPE kuberay_job_deployment_status gauge
kuberay_job_deployment_status{deployment_status="Running",name="demo",namespace="ns",uid="u"} 1
# HELP kuberay_job_execution_duration_seconds Seconds from the start of an attempt at a RayJob to its end, with the attempts that had failed before.
# TYPE kuberay_job_execution_duration_seconds gauge
kuberay_job_execution_duration_seconds{job_deployment_status="Complete",name="demo",namespace="ns",retry_count="1",uid="u"} 90
# HELP kuberay_job_info One per RayJob.
# TYPE kuberay_job_info gauge
kuberay_job_info{name="demo",namespace="ns",uid="u"} 1
`
	const totals = `
# HELP raygate_job_attempts_ended_total Attempts at RayJobs that ended, by the state after it: Complete, Failed or Retrying.
# TYPE raygate_job_attempts_ended_total counter
raygate_job_attempts_ended_total{namespace="",state="Failed"} 1
raygate_job_attempts_ended_total{namespace="ns",state="Complete"} 1
raygate_job_attempts_ended_total{namespace="ns",state="Failed"} 1
`
	names := []string{"kuberay_job_deployment_status", "kuberay_job_execution_duration_seconds", "kuberay_job_info", "raygate_job_attempts_ended_total"}
	if err := testutil.CollectAndCompare(m, strings.NewReader(want+totals), names...); err != nil {
		t.Error(err)
	}
	if n := testutil.CollectAndCount(m, "raygate_job_attempt_seconds"); n != 2 { // one for each state
		t.Errorf("%d histograms, want 2", n)
	}
	m.TotalsOnly()
	if err := testutil.CollectAndCompare(m, strings.NewReader(totals), names...); err != nil {
		t.Error(err)
	}
	if len(m.ends.All("gone")) != 0 {
		t.Errorf("series of a RayJob that is gone are kept: %v", m.ends.All("gone"))
	}
}
