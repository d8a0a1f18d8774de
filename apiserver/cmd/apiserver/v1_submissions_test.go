package main

import (
	"testing"

	"github.com/raygate/raygate/proto/gen/go/kuberay"
)

// testV1Submissions is the flow of KubeRay's own test: every call with an id that there is not, and with one that there is.
func testV1Submissions(t *testing.T, p *process, tokens map[string]string) {
	c := v1Client{base: p.http, authorization: "Bearer " + tokens["submitter"]}
	for _, cluster := range []string{"open", "guarded"} {
		base := "/apis/v1/namespaces/default/jobsubmissions/" + cluster
		job := &kuberay.RayJobSubmission{
			Entrypoint: "echo $counter_name; sleep 120", RuntimeEnv: "env_vars:\n  counter_name: test_counter\n", EntrypointNumCpus: 0.5,
			Metadata: map[string]string{"owner": "v1"}, EntrypointResources: map[string]string{"special": "0.5"},
		}
		reply := &kuberay.SubmitRayJobReply{}
		c.want(t, 403, "POST", "/apis/v1/namespaces/elsewhere/jobsubmissions/"+cluster, job, nil)
		c.want(t, 404, "POST", "/apis/v1/namespaces/default/jobsubmissions/nothing", job, nil)
		c.want(t, 200, "POST", base, job, reply)
		id := reply.GetSubmissionId()
		if id == "" {
			t.Fatal("no id")
		}
		info := &kuberay.JobSubmissionInfo{}
		c.want(t, 404, "GET", base+"/bogus", nil, nil)
		c.want(t, 200, "GET", base+"/"+id, nil, info)
		if info.GetEntrypoint() != job.GetEntrypoint() || info.GetSubmissionId() != id || info.GetStartTime() == 0 || info.GetMetadata()["owner"] != "v1" || info.GetRuntimeEnv()["env_vars"] != `{"counter_name":"test_counter"}` {
			t.Errorf("details: %v", info)
		}
		list, log := &kuberay.ListJobSubmissionInfo{}, &kuberay.GetJobLogReply{}
		c.want(t, 200, "GET", base, nil, list)
		if len(list.GetSubmissions()) == 0 {
			t.Error("the list is empty")
		}
		c.want(t, 404, "GET", base+"/log/bogus", nil, nil)
		eventually(t, "the job writes its log", func() bool {
			log.Reset()
			c.want(t, 200, "GET", base+"/log/"+id, nil, log)
			return log.GetLog() == "test_counter\n"
		})
		c.want(t, 404, "POST", base+"/bogus", nil, nil)
		c.want(t, 200, "POST", base+"/"+id, nil, nil)   // stop
		c.want(t, 200, "DELETE", base+"/"+id, nil, nil) // at once, as clients do
		c.want(t, 404, "DELETE", base+"/"+id, nil, nil)

		job.SubmissionId = cluster + "-twice"
		c.want(t, 200, "POST", base, job, reply)
		c.want(t, 409, "POST", base, job, nil)
		for name, bad := range map[string]*kuberay.RayJobSubmission{
			"no mapping": {Entrypoint: "ls", RuntimeEnv: "- a"}, "no YAML": {Entrypoint: "ls", RuntimeEnv: "a: ["}, "no amount": {Entrypoint: "ls", EntrypointResources: map[string]string{"a": "much"}},
		} {
			if code := c.call(t, "POST", base, bad, nil); code != 400 {
				t.Errorf("%s: want 400, got %d", name, code)
			}
		}
		outsider := v1Client{base: p.http, authorization: "Bearer " + tokens["outsider"]}
		outsider.want(t, 403, "GET", base, nil, nil)
	}
}
