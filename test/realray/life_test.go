package realray

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/programs"
	"github.com/raygate/raygate/test/raycli"
)

// A cluster with containers of the user's own goes through its life: clients, a worker that is deleted, suspension, a changed template.
func TestClusterLife(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	rc := w.cluster("demo", 1, func(rc *rayv1.RayCluster) {
		rc.Spec.UpgradeStrategy = &rayv1.RayClusterUpgradeStrategy{Type: new(rayv1.RayClusterRecreate)}
		for _, s := range []*corev1.PodSpec{&rc.Spec.HeadGroupSpec.Template.Spec, &rc.Spec.WorkerGroupSpecs[0].Template.Spec} {
			s.InitContainers = []corev1.Container{{Name: "prepare", Image: image(), Command: []string{"bash", "-c", "echo prepared > /shared/word"}, VolumeMounts: shared()}}
			s.Containers = append(s.Containers, corev1.Container{
				Name: "beside", Image: image(), Command: []string{"bash", "-c", "trap exit TERM; sleep infinity & wait"}, VolumeMounts: shared(),
			})
			s.Volumes = append(s.Volumes, corev1.Volume{Name: "shared", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}})
			s.TerminationGracePeriodSeconds = new(int64(60))
		}
	})
	w.ready(rc)
	w.joined("demo", 1)
	w.run("init containers and sidecars", func(w *world) {
		for _, pod := range []string{w.head("demo").Name, w.pods("demo", rayv1.WorkerNode)[0].Name} {
			if out := w.kubectl("exec", pod, "-c", "beside", "--", "cat", "/shared/word"); out != "prepared\n" {
				w.t.Errorf("%s: the init container has left %q", pod, out)
			}
		}
	})
	w.run("client port", func(w *world) {
		out, err := w.exec(w.pods("demo", rayv1.WorkerNode)[0].Name, "python", scripts+"/client.py", "ray://demo-head-svc:10001")
		if err != nil || !strings.Contains(out, "client 81") {
			w.t.Errorf("%q, %v", out, err)
		}
	})
	w.run("client port through the gateway", func(w *world) {
		python := filepath.Join(raycli.Find(w.t, false), "python")
		cmd := exec.CommandContext(w.t.Context(), programs.Binary("raygate"), "session", "demo", "-n", w.ns, "--server", product.grpc, "--url", product.rest,
			"--port", "client", "--", "sh", "-c", `exec "$0" testdata/client.py "$RAY_ADDRESS"`, python)
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "client 81") {
			w.t.Errorf("%v: %s", err, out)
		}
	})
	w.run("use of the nodes", func(w *world) {
		out, err := exec.CommandContext(w.t.Context(), programs.Binary("raygate"), "top", "--live", "-n", w.ns, "--server", product.grpc, "--url", product.rest).CombinedOutput()
		if err != nil || !regexp.MustCompile(`(?m)^demo .* \d+% +- +\S+i/\S+i$`).Match(out) {
			w.t.Errorf("%v: %s", err, out)
		}
	})
	w.run("graceful end", func(w *world) {
		worker := w.pods("demo", rayv1.WorkerNode)[0]
		begin := time.Now()
		code := w.deleted(&worker, rayWorker)
		w.t.Logf("the worker ended with exit code %d after %s", code, time.Since(begin).Round(time.Second))
		if code == 137 {
			w.t.Errorf("Ray was killed: it has not ended when asked to")
		}
		w.joined("demo", 1)
		w.ready(rc)
	})
	w.run("suspend and resume", func(w *world) {
		w.update(rc, func() { rc.Spec.Suspend = new(true) })
		w.eventually("the cluster is suspended", func(ctx context.Context) error {
			if err := product.client.Get(ctx, client.ObjectKeyFromObject(rc), rc); err != nil {
				return err
			}
			if n := len(w.pods("demo", rayv1.HeadNode)) + len(w.pods("demo", rayv1.WorkerNode)); n > 0 || !meta.IsStatusConditionTrue(rc.Status.Conditions, rayv1.RayClusterSuspended) {
				return fmt.Errorf("%d Pods, state %q", n, rc.Status.State)
			}
			return nil
		})
		w.update(rc, func() { rc.Spec.Suspend = new(false) })
		w.eventually("there is a head again", func(context.Context) error {
			if len(w.pods("demo", rayv1.HeadNode)) != 1 {
				return errNotYet
			}
			return nil
		})
		w.joined("demo", 1)
		w.ready(rc)
	})
	w.run("a changed template", func(w *world) {
		old, worker := w.head("demo").UID, w.pods("demo", rayv1.WorkerNode)[0].UID
		w.update(rc, func() {
			c := &rc.Spec.HeadGroupSpec.Template.Spec.Containers[0]
			c.Env = append(c.Env, corev1.EnvVar{Name: "RELEASE", Value: "two"})
		})
		w.eventually("the head has the new template", func(context.Context) error {
			pods := w.pods("demo", rayv1.HeadNode)
			if len(pods) != 1 || pods[0].UID == old || pods[0].Status.Phase != corev1.PodRunning {
				return errNotYet
			}
			out, err := w.exec(pods[0].Name, "printenv", "RELEASE")
			if err != nil || out != "two\n" {
				return fmt.Errorf("%q, %w", out, err)
			}
			return nil
		})
		w.joined("demo", 1)
		for _, p := range w.pods("demo", rayv1.WorkerNode) {
			if p.UID == worker {
				w.t.Errorf("worker %s has stayed, whose template is as before, in an upgrade by Recreate", p.Name)
			}
		}
	})
}

const rayWorker = "ray-worker"

func shared() []corev1.VolumeMount {
	return []corev1.VolumeMount{{Name: "shared", MountPath: "/shared"}}
}

// deleted deletes a Pod, waits until it is gone, and returns the last exit code of a container.
func (w *world) deleted(pod *corev1.Pod, container string) int32 {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), settle)
	defer cancel()
	changes, err := product.kube.CoreV1().Pods(w.ns).Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + pod.Name})
	if err != nil {
		w.t.Fatal(err)
	}
	defer changes.Stop()
	if err := product.client.Delete(ctx, pod); err != nil {
		w.t.Fatal(err)
	}
	code := int32(-1)
	for e := range changes.ResultChan() {
		p, ok := e.Object.(*corev1.Pod)
		if !ok {
			continue
		}
		for _, c := range p.Status.ContainerStatuses {
			if c.Name == container && c.State.Terminated != nil {
				code = c.State.Terminated.ExitCode
			}
		}
		if e.Type == watch.Deleted {
			return code
		}
	}
	w.t.Fatalf("Pod %s is not gone after %s", pod.Name, settle)
	return code
}

// The older autoscaler works with the same rights.
func TestAutoscalerV1(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	rc := w.cluster("demo", 1, autoscaled(rayv1.AutoscalerVersionV1), func(rc *rayv1.RayCluster) {
		rc.Spec.AutoscalerOptions.IdleTimeoutSeconds = new(int32(30))
	})
	w.ready(rc)
	w.gateway("POST", "/clusters/demo/submissions", map[string]any{"submissionId": "scale", "entrypoint": "python " + scripts + "/scale.py"})
	w.eventually("the autoscaler asks for two workers", func(ctx context.Context) error { return w.wants(ctx, rc, 2) })
	w.submissionEnds("demo", "scale", "SUCCEEDED")
	w.eventually("the autoscaler gives a worker back", func(ctx context.Context) error { return w.wants(ctx, rc, 1) })
}
