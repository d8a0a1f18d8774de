package v1

import (
	"fmt"
	"testing"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/await"
	"github.com/raygate/raygate/proto/gen/go/kuberay"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// ended waits until V1 shows the end of a job.
func (w *world) ended(name, status string) *kuberay.RayJob {
	w.Helper()
	got := &kuberay.RayJob{}
	await.NoError(w.T, name+" ends", func() error {
		got.Reset()
		w.ok("GET", w.path("jobs", name), nil, got)
		if got.GetJobStatus() != status || got.GetEndTime() == nil {
			return fmt.Errorf("status %q, %q: %s", got.GetJobStatus(), got.GetJobDeploymentStatus(), got.GetMessage())
		}
		return nil
	})
	if got.GetStartTime() == nil || got.GetRayClusterName() == "" || got.GetJobId() == "" {
		w.Errorf("shown as %v", got)
	}
	return got
}

// varies is what an answer has that the request cannot have.
var varies = []protoreflect.Name{"created_at", "delete_at", "start_time", "end_time", "job_status", "job_deployment_status", "message", "ray_cluster_name", "version"}

func TestJobs(t *testing.T) {
	inline := map[string]struct{ entrypoint, want string }{"succeeding script": {"echo it is $counter_name", "SUCCEEDED"}, "failing script": {"exit 7", "FAILED"}}
	for name, tc := range inline {
		t.Run("create with inline cluster/"+name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			sent, got := w.job("demo", tc.entrypoint), &kuberay.RayJob{}
			w.ok("POST", w.path("jobs"), sent, got)
			wantSame(t, sent, got, varies...) // jobId is not echoed, either
			w.ended("demo", tc.want)
			w.ok("DELETE", w.path("jobs", "demo"), nil, nil)
			w.gone("demo", &rayv1.RayJob{})
		})
	}
	t.Run("create with selector", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.ok("POST", w.path("clusters"), w.cluster("demo"), &kuberay.Cluster{})
		w.provisioned("demo")
		for name, tc := range inline {
			t.Run(name, func(t *testing.T) {
				w := w.in(t)
				sent, got := w.job("on-"+tc.want[:4], tc.entrypoint), &kuberay.RayJob{}
				sent.Name = map[string]string{"SUCCEEDED": "good", "FAILED": "bad"}[tc.want]
				sent.ClusterSpec, sent.ClusterSelector, sent.ShutdownAfterJobFinishes, sent.TtlSecondsAfterFinished = nil, map[string]string{"ray.io/cluster": "demo"}, false, 0
				sent.JobSubmitter, sent.Metadata = &kuberay.RayJobSubmitter{Image: image}, map[string]string{}
				w.ok("POST", w.path("jobs"), sent, got)
				wantSame(t, sent, got, varies...)
				w.ended(sent.GetName(), tc.want)
			})
		}
	})
}
