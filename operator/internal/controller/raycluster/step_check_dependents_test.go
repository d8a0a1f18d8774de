package raycluster

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/raygate/raygate/internal/testing/raytest"
)

func TestWorkerPods(t *testing.T) {
	rc := raytest.RayCluster("ns/demo",
		raytest.Workers("cpu", 1, raytest.WorkersToDelete("here", "demo-cpu-worker-gone1", "demo-gpu-worker-gone1", "some-db-0", "other", "head")),
		raytest.Workers("gpu", 1))
	s := &scope{cluster: rc, pods: []*corev1.Pod{
		raytest.HeadPod(rc, "head"), raytest.WorkerPod(rc, "cpu", "here"), raytest.WorkerPod(rc, "cpu", "unnamed"), raytest.WorkerPod(rc, "gpu", "other"),
	}}
	want := map[string][]string{"cpu": {"here", "demo-cpu-worker-gone1"}}
	if diff := cmp.Diff(want, workerPods(s)); diff != "" {
		t.Errorf("Pods (-want +got):\n%s", diff)
	}
}

func TestWantedPods(t *testing.T) {
	rc := raytest.RayCluster("ns/demo", raytest.Workers("cpu", 3), raytest.Workers("tpu", 3, raytest.Hosts(4)),
		raytest.Workers("idle", 3, raytest.Hosts(2), raytest.SuspendGroup()))
	want := map[string]int64{"tpu": 12, "idle": 0}
	if diff := cmp.Diff(want, wantedPods(rc)); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
}
