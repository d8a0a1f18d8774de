package v1

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// TestStatus shows what only the operator writes, as clients wait for it.
func TestStatus(t *testing.T) {
	at := metav1.NewTime(now)
	rc := &rayv1.RayCluster{ObjectMeta: metav1.ObjectMeta{Name: "a", CreationTimestamp: at}}
	rc.Status.State, rc.Status.Endpoints = rayv1.ClusterStateReady, map[string]string{"dashboard": "8265"}
	job := &rayv1.RayJob{ObjectMeta: metav1.ObjectMeta{Name: "a", DeletionTimestamp: &at}}
	job.Spec.JobId = "wanted"
	job.Status = rayv1.RayJobStatus{JobId: "id", RayClusterName: "a-x", JobStatus: rayv1.JobStatusRunning, JobDeploymentStatus: rayv1.JobDeploymentStatusRunning, Message: "m", StartTime: new(metav1.NewTime(now.Add(time.Millisecond)))}
	rs := &rayv1.RayService{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	rs.Status.PendingServiceStatus.RayClusterName = "pending"
	rs.Status.ActiveServiceStatus = rayv1.RayServiceStatus{RayClusterName: "a-y", RayClusterStatus: rc.Status, Applications: map[string]rayv1.AppStatus{
		"b": {Status: "RUNNING", Deployments: map[string]rayv1.ServeDeploymentStatus{"z": {Status: "HEALTHY"}, "y": {Status: "UPDATING", Message: "m"}}}, "a": {Status: "DEPLOYING"},
	}}
	for name, tc := range map[string]struct {
		got  []byte
		want string
	}{
		"cluster": {jsonOf(t, ClusterFromRay(rc)), `{"name":"a","clusterSpec":{"headGroupSpec":{"rayStartParams":{}}},"createdAt":"2026-08-19T10:00:00Z","clusterState":"ready","serviceEndpoint":{"dashboard":"8265"}}`},
		"job":     {jsonOf(t, JobFromRay(job)), `{"name":"a","jobId":"id","deleteAt":"2026-08-19T10:00:00Z","jobStatus":"RUNNING","jobDeploymentStatus":"Running","message":"m","startTime":"2026-08-19T10:00:00.001Z","rayClusterName":"a-x"}`},
		"service": {jsonOf(t, ServiceFromRay(rs)), `{"name":"a","clusterSpec":{"headGroupSpec":{"rayStartParams":{}}},"rayServiceStatus":{"rayClusterName":"a-y","rayClusterState":"ready","serviceEndpoint":{"dashboard":"8265"},"serveApplicationStatus":[` +
			`{"name":"a","status":"DEPLOYING"},{"name":"b","status":"RUNNING","serveDeploymentStatus":[{"deploymentName":"y","status":"UPDATING","message":"m"},{"deploymentName":"z","status":"HEALTHY"}]}]}}`},
	} {
		if diff := cmp.Diff(tc.want, string(tc.got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
