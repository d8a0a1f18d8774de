package realray

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

const hello = "python " + scripts + "/hello.py"

// A program runs in each submission mode, and the gateway gives its log.
func TestCoreJobModes(t *testing.T) {
	t.Parallel()
	for _, mode := range []rayv1.JobSubmissionMode{rayv1.K8sJobMode, rayv1.HTTPMode, rayv1.SidecarMode, rayv1.InteractiveMode} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.job("demo", mode, hello)
			if mode == rayv1.InteractiveMode {
				w.submitByHand("demo", "python", scripts+"/hello.py")
			}
			j := w.jobEnds("demo")
			if st := &j.Status; st.JobDeploymentStatus != rayv1.JobDeploymentStatusComplete || st.JobStatus != rayv1.JobStatusSucceeded {
				t.Errorf("ended as %s, job %s, reason %q: %s", st.JobDeploymentStatus, st.JobStatus, st.Reason, st.Message)
			}
			want := "ray " + rayVersion + " says it's me 49\n"
			if log := string(w.gateway("GET", "/jobs/demo/logs?follow=true", nil).body); !strings.Contains(log, want) {
				t.Errorf("the gateway gives the log %q, which lacks %q", log, want)
			}
			if j.Status.RayJobStatusInfo.StartTime == nil || j.Status.RayJobStatusInfo.EndTime == nil {
				t.Errorf("the times of Ray are missing: %+v", j.Status.RayJobStatusInfo)
			}
		})
	}
}

// submitByHand does what a user does in InteractiveMode: submits the program, and names the job.
func (w *world) submitByHand(name string, program ...string) {
	w.t.Helper()
	j := w.awaitJob(name, "waits for the user", func(st *rayv1.RayJobStatus) bool { return st.JobDeploymentStatus == rayv1.JobDeploymentStatusWaiting })
	head := w.head(j.Status.RayClusterName).Name
	submit := []string{
		"ray", "job", "submit", "--address=http://127.0.0.1:8265", "--no-wait", "--submission-id=by-hand",
		`--runtime-env-json={"env_vars":{"GREETING":"it's me"}}`, "--",
	}
	out, err := w.exec(head, append(submit, program...)...)
	if err != nil {
		w.t.Fatalf("submitting by hand: %v: %s", err, out)
	}
	w.update(j, func() { j.Spec.JobId = "by-hand" })
}

func (w *world) awaitJob(name, what string, ok func(*rayv1.RayJobStatus) bool) *rayv1.RayJob {
	w.t.Helper()
	j := &rayv1.RayJob{}
	w.eventually("RayJob "+name+" "+what, func(ctx context.Context) error {
		if err := product.client.Get(ctx, client.ObjectKey{Namespace: w.ns, Name: name}, j); err != nil {
			return err
		}
		if st := &j.Status; !ok(st) {
			return fmt.Errorf("state %q, job %q, reason %q: %s", st.JobDeploymentStatus, st.JobStatus, st.Reason, st.Message)
		}
		return nil
	})
	return j
}

func (w *world) jobEnds(name string) *rayv1.RayJob {
	w.t.Helper()
	return w.awaitJob(name, "ends", func(st *rayv1.RayJobStatus) bool { return st.JobDeploymentStatus.IsTerminal() })
}
