package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	corev1 "k8s.io/api/core/v1"
	clientrest "k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/await"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// rayJob is a RayJob as YAML, with a cluster of one head. More lines of its spec may follow.
func rayJob(name, ns string, mode rayv1.JobSubmissionMode, entrypoint string, spec ...string) []byte {
	text, _ := json.Marshal(entrypoint) //nolint:errchkjson // a string
	lines := append([]string{"submissionMode: " + string(mode), "entrypoint: " + string(text)}, spec...)
	return fmt.Appendf(nil, `apiVersion: ray.io/v1
kind: RayJob
metadata:
  name: %s
  namespace: %s
spec:
  %s
  rayClusterSpec:
    rayVersion: 2.52.0
    headGroupSpec:
      rayStartParams: {}
      template:
        spec:
          containers:
          - name: ray-head
            image: rayproject/ray:2.52.0
            resources: {requests: {cpu: 10m, memory: 10Mi}}
`, name, ns, strings.Join(lines, "\n  "))
}

func jobsOf(namespace string) string { return "/apis/v2/namespaces/" + namespace + "/jobs" }

func getJob(t *testing.T, ns, name string) *rayv1.RayJob {
	t.Helper()
	j := &rayv1.RayJob{}
	if err := product.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: name}, j); err != nil {
		t.Fatal(err)
	}
	return j
}

// awaitJob waits until a RayJob is as it should be, and returns it.
func awaitJob(t *testing.T, ns, name, what string, ok func(*rayv1.RayJobStatus) bool) *rayv1.RayJob {
	t.Helper()
	j := &rayv1.RayJob{}
	eventually(t, ns+"/"+name+" "+what, func(ctx context.Context) error {
		if err := product.client.Get(ctx, client.ObjectKey{Namespace: ns, Name: name}, j); err != nil {
			return err
		}
		if st := &j.Status; !ok(st) {
			return fmt.Errorf("state %q, job %q, reason %q: %s", st.JobDeploymentStatus, st.JobStatus, st.Reason, st.Message)
		}
		return nil
	})
	return j
}

func runsInRay(st *rayv1.RayJobStatus) bool { return st.JobStatus == rayv1.JobStatusRunning }

// awaitEnd waits for the end of a RayJob, and compares it.
func awaitEnd(t *testing.T, ns, name string, state rayv1.JobDeploymentStatus, ray rayv1.JobStatus, reason rayv1.JobFailedReason) *rayv1.RayJob {
	t.Helper()
	j := awaitJob(t, ns, name, "ends", func(st *rayv1.RayJobStatus) bool { return st.JobDeploymentStatus.IsTerminal() })
	if st := &j.Status; st.JobDeploymentStatus != state || st.JobStatus != ray || st.Reason != reason {
		t.Errorf("ended as %s, job %s, reason %q, want %s, %s, %q: %s", st.JobDeploymentStatus, st.JobStatus, st.Reason, state, ray, reason, st.Message)
	}
	return j
}

// askRay calls the dashboard of the cluster of a RayJob through the API server.
func askRay(t *testing.T, j *rayv1.RayJob, method, path string, body any) ([]byte, error) {
	t.Helper()
	h, err := clientrest.HTTPClientFor(product.env.Config)
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	service, _, _ := strings.Cut(j.Status.DashboardURL, ".")
	url := fmt.Sprintf("%s/api/v1/namespaces/%s/services/%s:8265/proxy%s", product.env.Config.Host, j.Namespace, service, path)
	req, err := http.NewRequestWithContext(t.Context(), method, url, bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := h.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("HTTP %d: %s", resp.StatusCode, answer)
	}
	return answer, err
}

// driverLog is the log of the Ray job, as Ray has it.
func driverLog(t *testing.T, j *rayv1.RayJob) string {
	t.Helper()
	data, err := askRay(t, j, "GET", "/api/jobs/"+j.Status.JobId+"/logs", nil)
	var answer struct{ Logs string }
	if err := errors.Join(err, json.Unmarshal(data, &answer)); err != nil {
		t.Fatalf("reading the log of %s: %v", j.Status.JobId, err)
	}
	return answer.Logs
}

// submitterLog is the log of what submits, empty in modes that have nothing of the kind.
func submitterLog(t *testing.T, j *rayv1.RayJob) string {
	t.Helper()
	switch j.Spec.SubmissionMode {
	case rayv1.K8sJobMode:
		return kubectl(t, nil, "logs", "-n", j.Namespace, "job/"+j.Name)
	case rayv1.SidecarMode:
		head := strings.TrimSpace(kubectl(t, nil, "get", "pods", "-n", j.Namespace, "-o", "name",
			"-l", rayv1.LabelCluster+"="+j.Status.RayClusterName+","+rayv1.LabelNodeType+"=head"))
		return kubectl(t, nil, "logs", "-n", j.Namespace, head, "-c", rayv1.ContainerJobSubmitter)
	default:
		return ""
	}
}

// pythonOr is a Python one-liner, or a shell command that prints the same where there is no Python.
func pythonOr(python, shell string) string {
	if _, err := exec.LookPath("python3"); err != nil {
		return shell
	}
	return python
}

// A job in any mode, posted through any entry point, runs, and its log is what the program has written. Each mode and each entry point has its case.
func TestJobThroughEachEntryPoint(t *testing.T) {
	entryPoints := map[string]func(t *testing.T, ns string, manifest []byte){
		"REST": func(t *testing.T, ns string, manifest []byte) {
			rest(t, "POST", jobsOf(ns), "application/yaml", manifest).want(t, 201)
		},
		"gRPC": func(t *testing.T, ns string, manifest []byte) {
			job := &raygatev2.RayJob{}
			if err := protojson.Unmarshal(asJSON(t, manifest), job); err != nil {
				t.Fatal(err)
			}
			if _, err := product.jobs.CreateJob(t.Context(), &raygatev2.CreateJobRequest{Namespace: ns, Job: job}); err != nil {
				t.Fatalf("CreateJob: %v", err)
			}
		},
		"kubectl": func(t *testing.T, _ string, manifest []byte) { kubectl(t, manifest, "create", "-f", "-") },
	}
	programs := map[string]struct{ entrypoint, want string }{
		"REST":    {pythonOr(`python3 -c "import os; print('hello', os.environ['NAME'], 6 * 7)"`, `sh -c 'echo hello $NAME 42'`), "hello it's me 42\n"},
		"gRPC":    {`sh -c 'echo "hello $NAME"; echo "to stderr" >&2; echo "it is a \"quote\""'`, "hello it's me\nto stderr\nit is a \"quote\"\n"},
		"kubectl": {`sh -c 'for i in 1 2 3; do echo line $i of $NAME; sleep 0.2; done'`, "line 1 of it's me\nline 2 of it's me\nline 3 of it's me\n"},
	}
	for _, pair := range []struct {
		mode rayv1.JobSubmissionMode
		by   string
	}{
		{rayv1.K8sJobMode, "kubectl"}, {rayv1.HTTPMode, "gRPC"}, {rayv1.SidecarMode, "REST"}, {rayv1.InteractiveMode, "kubectl"}, {rayv1.K8sJobMode, "REST"},
	} {
		mode, name := pair.mode, pair.by
		t.Run(string(mode)+" by "+name, func(t *testing.T) {
			t.Parallel()
			ns, program := namespace(t), programs[name]
			entryPoints[name](t, ns, rayJob("demo", ns, mode, program.entrypoint, `runtimeEnvYAML: "env_vars: {NAME: it's me}"`))
			if mode == rayv1.InteractiveMode {
				submitByHand(t, ns, "demo", program.entrypoint)
			}
			eventually(t, "the gateway to know of the job", func(context.Context) error { // kubectl does not go through it
				if r, err := tryREST(t, "GET", jobsOf(ns)+"/demo", "", nil); err != nil || r.code != 200 {
					return fmt.Errorf("%d, %w", r.code, err)
				}
				return nil
			})
			rest(t, "GET", jobsOf(ns)+"/demo:wait?for=complete&timeout=150s", "", nil).want(t, 200)
			kubectl(t, nil, "wait", "rayjob/demo", "-n", ns, "--for=condition=Complete", "--timeout="+await.Limit.String())
			j := awaitEnd(t, ns, "demo", rayv1.JobDeploymentStatusComplete, rayv1.JobStatusSucceeded, "")
			if got := driverLog(t, j); got != program.want {
				t.Errorf("the log of the driver is %q, want %q", got, program.want)
			}
			if got := rest(t, "GET", jobsOf(ns)+"/demo/logs?follow=true", "", nil); got.code != 200 || string(got.body) != program.want {
				t.Errorf("the gateway gives the log as %d %q, want %q", got.code, got.body, program.want)
			}
			if got := submitterLog(t, j); (mode == rayv1.K8sJobMode || mode == rayv1.SidecarMode) && !strings.Contains(got, program.want) {
				t.Errorf("the log of the submitter is %q and lacks %q", got, program.want)
			}
			rest(t, "DELETE", jobsOf(ns)+"/demo", "", nil).want(t, 200)
			nothingLeft(t, ns)
		})
	}
}

// submitByHand does what a user does in InteractiveMode: submits the program, and names the job.
func submitByHand(t *testing.T, ns, name, entrypoint string) {
	t.Helper()
	j := awaitJob(t, ns, name, "waits for the user", func(st *rayv1.RayJobStatus) bool {
		return st.JobDeploymentStatus == rayv1.JobDeploymentStatusWaiting
	})
	// The API server's proxy learns of the head's endpoint a moment after the operator does.
	eventually(t, "the program to be submitted by hand", func(context.Context) error {
		_, err := askRay(t, j, "POST", "/api/jobs/", map[string]any{
			"entrypoint": entrypoint, "submission_id": "by-hand", "runtime_env": map[string]any{"env_vars": map[string]string{"NAME": "it's me"}},
		})
		return err
	})
	kubectl(t, nil, "patch", "rayjob", name, "-n", ns, "--type=merge", "-p", `{"spec":{"jobId":"by-hand"}}`)
}

// headOf is the head Pod of the cluster of a RayJob.
func headOf(t *testing.T, j *rayv1.RayJob) *corev1.Pod {
	t.Helper()
	return headPod(t, j.Namespace, j.Status.RayClusterName)
}

func headPod(t *testing.T, ns, cluster string) *corev1.Pod {
	t.Helper()
	pods := &corev1.PodList{}
	err := product.client.List(t.Context(), pods, client.InNamespace(ns), client.MatchingLabels{rayv1.LabelCluster: cluster, rayv1.LabelNodeType: string(rayv1.HeadNode)})
	if err != nil || len(pods.Items) != 1 {
		t.Fatalf("%d head Pods, %v", len(pods.Items), err)
	}
	return &pods.Items[0]
}
