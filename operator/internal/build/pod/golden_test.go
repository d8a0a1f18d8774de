package pod

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/golden"
)

var goldenOptions = Options{OperatorVersion: "raygate-test", MTLS: true, HistoryServer: true}

func TestGoldenHeads(t *testing.T) {
	golden.RunNamed(t, "head-*", func(rc *rayv1.RayCluster) []*corev1.Pod { return []*corev1.Pod{Head(rc, goldenOptions)} })
}

func TestGoldenWorkers(t *testing.T) {
	golden.RunNamed(t, "worker-*", func(rc *rayv1.RayCluster) []*corev1.Pod {
		return []*corev1.Pod{Worker(rc, &rc.Spec.WorkerGroupSpecs[0], goldenOptions)}
	})
}
