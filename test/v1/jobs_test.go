package v1

import (
	"fmt"
	"testing"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/proto/gen/go/kuberay"
)

// ended waits until V1 shows the end of a job.
func (w *world) ended(name, status string) *kuberay.RayJob {
	w.Helper()
	got := &kuberay.RayJob{}
	eventually(w.T, name+" ends", func() error {
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
var varies = []string{"created_at", "delete_at", "start_time", "end_time", "job_status", "job_deployment_status", "message", "ray_cluster_name", "version"}

func TestJobs(t *testing.T) {
	inline := map[string]struct{ entrypoint, want string }{"succeeding script": {"echo it is $counter_name", "SUCCEEDED"}, "failing script": {"exit 7", "FAILED"}}
	for name, tc := range inline {
		t.Run("create with inline cluster/"+name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			sent, got := w.job("demo", tc.entrypoint), &kuberay.RayJob{}
			w.ok("POST", w.path("jobs"), sent, got)
			wantSame(t, sent, got, names(varies)...) // jobId is not echoed, either
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
				wantSame(t, sent, got, names(varies)...)
				w.ended(sent.GetName(), tc.want)
			})
		}
	})
	t.Run("create/refused", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		for name, edit := range map[string]func(*kuberay.RayJob){
			"without namespace":          func(j *kuberay.RayJob) { j.Namespace = "" },
			"without name":               func(j *kuberay.RayJob) { j.Name = "" },
			"without user":               func(j *kuberay.RayJob) { j.User = "" },
			"no entry point and no spec": func(j *kuberay.RayJob) { j.Entrypoint, j.ClusterSpec = "", nil },
			"nil spec":                   func(j *kuberay.RayJob) { j.ClusterSpec = nil },
		} {
			t.Run(name, func(t *testing.T) {
				j := w.job("demo", "true")
				edit(j)
				w.in(t).refused(400, "POST", w.path("jobs"), j)
			})
		}
		t.Run("nil job", func(t *testing.T) { w.in(t).refused(400, "POST", w.path("jobs"), nil) })
		t.Run("empty namespace", func(t *testing.T) { w.in(t).refused(404, "POST", pathIn("", "jobs"), w.job("demo", "true")) })
	})
	t.Run("get and delete", func(t *testing.T) {
		t.Parallel()
		w, got := newWorld(t), &kuberay.RayJob{}
		w.ok("POST", w.path("jobs"), w.job("demo", "true"), got)
		w.ok("GET", w.path("jobs", "demo"), nil, got)
		if got.GetName() != "demo" || got.GetNamespace() != w.namespace {
			t.Errorf("got %v", got)
		}
		for _, method := range []string{"GET", "DELETE"} {
			w.refused(404, method, w.path("jobs", "unknown"), nil)
			w.refused(404, method, pathIn("", "jobs", "demo"), nil)
			w.refused(400, method, w.path("jobs", ""), nil)
		}
		w.ok("DELETE", w.path("jobs", "demo"), nil, nil)
		w.gone("demo", &rayv1.RayJob{})
	})
}

func TestSubmissions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	base := w.path("jobsubmissions", "demo")
	job := &kuberay.RayJobSubmission{
		Entrypoint: "echo it is $counter_name; sleep 600", RuntimeEnv: "env_vars:\n  counter_name: test_counter\npip: [requests==2.26.0]\n", EntrypointNumCpus: 0.5,
	}
	w.ok("POST", w.path("clusters"), w.cluster("demo"), &kuberay.Cluster{})
	w.refused(400, "POST", base, job) // not ready, which is no failure of the server
	eventually(t, "the cluster is ready", func() error {
		c := &kuberay.Cluster{}
		if w.ok("GET", w.path("clusters", "demo"), nil, c); c.GetClusterState() != "ready" {
			return fmt.Errorf("state %q", c.GetClusterState())
		}
		return nil
	})
	id := ""
	t.Run("submit with wrong namespace", func(t *testing.T) { w.in(t).refused(404, "POST", pathIn("wrong", "jobsubmissions", "demo"), job) })
	t.Run("submit", func(t *testing.T) {
		reply := &kuberay.SubmitRayJobReply{}
		w.in(t).ok("POST", base, job, reply)
		if id = reply.GetSubmissionId(); id == "" {
			t.Fatal("no id")
		}
		job.SubmissionId = id
		w.in(t).refused(409, "POST", base, job)
	})
	t.Run("details", func(t *testing.T) {
		info := &kuberay.JobSubmissionInfo{}
		w.in(t).refused(404, "GET", base+"/bogus", nil)
		w.in(t).ok("GET", base+"/"+id, nil, info)
		if info.GetSubmissionId() != id || info.GetEntrypoint() != job.GetEntrypoint() || info.GetStartTime() == 0 || info.GetRuntimeEnv()["env_vars"] != `{"counter_name":"test_counter"}` {
			t.Errorf("details %v", info)
		}
	})
	t.Run("list", func(t *testing.T) {
		list := &kuberay.ListJobSubmissionInfo{}
		if w.in(t).ok("GET", base, nil, list); len(list.GetSubmissions()) != 1 {
			t.Errorf("listed %v", list)
		}
	})
	t.Run("log", func(t *testing.T) {
		w.in(t).refused(404, "GET", base+"/log/bogus", nil)
		eventually(t, "the log is there", func() error {
			log := &kuberay.GetJobLogReply{}
			if w.in(t).ok("GET", base+"/log/"+id, nil, log); log.GetLog() != "it is test_counter\n" {
				return fmt.Errorf("the log is %q", log.GetLog())
			}
			return nil
		})
	})
	t.Run("stop", func(t *testing.T) {
		w.in(t).refused(404, "POST", base+"/bogus", nil)
		w.in(t).ok("POST", base+"/"+id, nil, nil)
	})
	t.Run("delete", func(t *testing.T) {
		w.in(t).ok("DELETE", base+"/"+id, nil, nil)
		w.in(t).refused(404, "DELETE", base+"/"+id, nil)
	})
}
