package realray

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// Real Ray nodes start from the Pods that the operator builds, find each other, pass their probes, and the real autoscaler, with the rights
// that the operator grants it, changes the RayCluster in both directions.
func TestCoreAutoscaler(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	rc := w.cluster("demo", 1, autoscaled(rayv1.AutoscalerVersionV2))
	w.ready(rc)
	w.run("is Ray of this version", func(w *world) {
		var version struct {
			Ray    string `json:"ray_version"`
			Commit string `json:"ray_commit"`
		}
		if err := json.Unmarshal(w.gateway("GET", "/clusters/demo/dashboard/api/version", nil).body, &version); err != nil {
			w.t.Fatal(err)
		}
		w.t.Logf("Ray %s, commit %s", version.Ray, version.Commit)
		if version.Ray != rayVersion {
			w.t.Errorf("Ray is %s, want %s", version.Ray, rayVersion)
		}
	})
	w.run("nodes join", func(w *world) { w.joined("demo", 1) })
	w.run("probes pass", func(w *world) {
		for _, p := range append(w.pods("demo", rayv1.HeadNode), w.pods("demo", rayv1.WorkerNode)...) {
			if c := p.Spec.Containers[0]; c.LivenessProbe == nil || c.ReadinessProbe == nil {
				w.t.Errorf("container %s of %s has no probes", c.Name, p.Name)
			}
			for _, c := range p.Status.ContainerStatuses {
				if !c.Ready {
					w.t.Errorf("container %s of %s is not ready", c.Name, p.Name)
				}
			}
		}
	})
	w.run("the way to the dashboard is the API server's", func(w *world) {
		metrics, err := product.kube.RESTClient().Get().AbsPath("/metrics").DoRaw(w.t.Context())
		if err != nil {
			w.t.Fatal(err)
		}
		// Nobody but the operator and the gateway asks for it.
		if !regexp.MustCompile(`(?m)^apiserver_request_total\{.*resource="services",.*subresource="proxy".*\} [1-9]`).Match(metrics) {
			w.t.Errorf("the API server has forwarded nothing to a Service")
		}
	})
	w.run("worker has waited for the head", func(w *world) {
		worker := w.pods("demo", rayv1.WorkerNode)[0]
		if log := w.kubectl("logs", worker.Name, "-c", rayv1.ContainerWaitGCSReady); !strings.Contains(log, "The head is ready") {
			w.t.Errorf("the log of the init container is %q", log)
		}
	})
	w.run("scales up for a task", func(w *world) {
		w.gateway("POST", "/clusters/demo/submissions", map[string]any{"submissionId": "scale", "entrypoint": "python " + scripts + "/scale.py"})
		w.eventually("the autoscaler asks for two workers", func(ctx context.Context) error { return w.wants(ctx, rc, 2) })
		w.submissionEnds("demo", "scale", "SUCCEEDED")
		if log := string(w.gateway("GET", "/clusters/demo/submissions/scale/logs", nil).body); !strings.Contains(log, "nodes 2\n") {
			w.t.Errorf("the log is %q", log)
		}
	})
	w.run("scales down when idle", func(w *world) {
		w.eventually("the autoscaler gives a worker back", func(ctx context.Context) error { return w.wants(ctx, rc, 1) })
		w.eventually("one worker is left", func(context.Context) error {
			if n := len(w.pods("demo", rayv1.WorkerNode)); n != 1 {
				return fmt.Errorf("%d workers", n)
			}
			return nil
		})
		w.joined("demo", 1)
	})
	w.run("nothing was restarted", func(w *world) { w.noRestarts("demo") })
}

// ready waits until a cluster is, which is when the probes of all its Pods pass.
func (w *world) ready(rc *rayv1.RayCluster) {
	w.t.Helper()
	w.eventually("RayCluster "+rc.Name+" is ready", func(ctx context.Context) error {
		if err := product.client.Get(ctx, client.ObjectKeyFromObject(rc), rc); err != nil {
			return err
		}
		if st := &rc.Status; !meta.IsStatusConditionTrue(st.Conditions, rayv1.RayClusterProvisioned) || st.ReadyWorkerReplicas != st.DesiredWorkerReplicas {
			return fmt.Errorf("%d of %d workers are ready, state %q: %s", st.ReadyWorkerReplicas, st.DesiredWorkerReplicas, st.State, st.Reason)
		}
		return nil
	})
}

// joined waits until Ray counts the head and so many workers, by what `ray status` prints.
func (w *world) joined(cluster string, workers int) {
	w.t.Helper()
	w.eventually(fmt.Sprintf("ray status shows a head and %d workers", workers), func(context.Context) error {
		out, err := w.exec(w.head(cluster).Name, "ray", "status")
		if err != nil {
			return err
		}
		if heads, n := counted(out, rayv1.HeadGroupName), counted(out, group); heads != 1 || n != workers {
			return fmt.Errorf("%d heads, %d workers: %s", heads, n, out)
		}
		return nil
	})
}

// counted is how many nodes of a type are active or idle, of the lines " 1 headgroup" before those about pending ones.
func counted(status, nodeType string) int {
	status, _, _ = strings.Cut(status, "Pending:")
	n := 0
	for _, m := range regexp.MustCompile(`(?m)^\s*(\d+) `+nodeType+`\s*$`).FindAllStringSubmatch(status, -1) {
		k, _ := strconv.Atoi(m[1])
		n += k
	}
	return n
}

// wants returns nil when the group is to have so many workers.
func (w *world) wants(ctx context.Context, rc *rayv1.RayCluster, n int32) error {
	if err := product.client.Get(ctx, client.ObjectKeyFromObject(rc), rc); err != nil {
		return err
	}
	if r := *rc.Spec.WorkerGroupSpecs[0].Replicas; r != n {
		return fmt.Errorf("replicas is %d", r)
	}
	return nil
}

// submissionEnds waits for the end of a job that was submitted to a cluster.
func (w *world) submissionEnds(cluster, id, want string) {
	w.t.Helper()
	var job struct{ Status, Message string }
	w.eventually("submission "+id+" ends", func(context.Context) error {
		if err := json.Unmarshal(w.gateway("GET", "/clusters/"+cluster+"/submissions/"+id, nil).body, &job); err != nil {
			return err
		}
		if job.Status == "PENDING" || job.Status == "RUNNING" {
			return errNotYet
		}
		return nil
	})
	if job.Status != want {
		w.t.Errorf("%s ended as %s, want %s: %s", id, job.Status, want, job.Message)
	}
}

// noRestarts: neither a crash nor a probe has ended a container of the cluster.
func (w *world) noRestarts(cluster string) {
	w.t.Helper()
	for _, kind := range []rayv1.RayNodeType{rayv1.HeadNode, rayv1.WorkerNode} {
		for _, p := range w.pods(cluster, kind) {
			for _, c := range p.Status.ContainerStatuses {
				if c.RestartCount > 0 {
					w.t.Errorf("container %s of %s was restarted %d times: %v", c.Name, p.Name, c.RestartCount, c.LastTerminationState.Terminated)
				}
			}
		}
	}
	events := &corev1.EventList{}
	if err := product.client.List(w.t.Context(), events, client.InNamespace(w.ns)); err != nil {
		w.t.Fatal(err)
	}
	for _, e := range events.Items {
		if e.Reason == "Unhealthy" && strings.HasPrefix(e.Message, "Liveness") {
			w.t.Logf("a liveness probe of %s has failed: %s", e.InvolvedObject.Name, e.Message)
		}
	}
}
