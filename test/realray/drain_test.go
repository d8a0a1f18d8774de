package realray

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/programs"
)

// labelDirect marks the objects of an operator that connects to Ray directly, as one in a Pod does.
const labelDirect = "test-operator"

// startDirect runs an operator that drains workers, for objects with labelDirect, until the test and what it cleans up later ends.
func startDirect(t *testing.T) {
	t.Helper()
	ports, err := programs.FreePorts(2)
	if err != nil {
		t.Fatal(err)
	}
	operator := &programs.Program{
		Path: programs.Binary("raygate-operator"), Log: filepath.Join(product.dir, "logs", "test-operator-direct.log"), Ready: fmt.Sprintf("http://127.0.0.1:%d/readyz", ports[1]),
		Args: []string{
			"--kubeconfig", product.kubeconfig, fmt.Sprintf("--metrics-bind-address=127.0.0.1:%d", ports[0]), fmt.Sprintf("--health-probe-bind-address=127.0.0.1:%d", ports[1]),
			"--leader-elect=false", "--watch-label-selector=" + labelDirect, "--feature-gates=RayClusterDrain=true",
		},
	}
	if err := operator.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("end of the log of the operator:\n%s", operator.Tail(6000))
		}
		operator.Stop()
	})
}

func isReady(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue })
}

// The worker with the only replica of an application leaves the Service and is drained before it is deleted: the replica moves to the other worker
// first, and none of 2,000 requests fails.
func TestDrainedServeWorker(t *testing.T) {
	t.Parallel()
	startDirect(t)
	w := newWorld(t)
	svc := &rayv1.RayService{
		ObjectMeta: metav1.ObjectMeta{Name: "demo", Namespace: w.ns, Labels: map[string]string{labelDirect: "true"}},
		Spec: rayv1.RayServiceSpec{
			RayClusterSpec: clusterSpec(2), ServeConfigV2: serveConfig("good morning"),
		},
	}
	svc.Spec.RayClusterSpec.WorkerGroupSpecs[0].MinReplicas = new(int32(1))
	release(&svc.Spec.RayClusterSpec, "one")
	w.create(svc)
	cluster := w.serviceReady(svc)
	load := w.load(w.serviceURL("demo-serve-svc"))
	load.waitFor(w, said{"good morning", "one"})
	load.forgive()

	var serving string // the other worker has no proxy, and so is not ready
	w.eventually("one of two workers serves", func(context.Context) error {
		var names []string
		workers := w.pods(cluster, rayv1.WorkerNode)
		for i := range workers {
			if isReady(&workers[i]) {
				names = append(names, workers[i].Name)
			}
		}
		if head := w.head(cluster); len(workers) != 2 || len(names) != 1 || head.Labels[rayv1.LabelServe] != rayv1.LabelServeTrue {
			return fmt.Errorf("%v of %d workers serve, the head has the labels %v", names, len(workers), head.Labels)
		}
		serving = names[0]
		return nil
	})
	rc := &rayv1.RayCluster{ObjectMeta: metav1.ObjectMeta{Name: cluster, Namespace: w.ns}}
	w.update(rc, func() {
		g := &rc.Spec.WorkerGroupSpecs[0]
		g.Replicas, g.ScaleStrategy.WorkersToDelete = new(int32(1)), []string{serving}
	})
	moved := false
	w.eventually("the worker is gone", func(context.Context) error {
		left := false
		workers := w.pods(cluster, rayv1.WorkerNode)
		for i := range workers {
			moved = moved || workers[i].Name != serving && isReady(&workers[i])
			left = left || workers[i].Name == serving
			if workers[i].Name == serving && workers[i].DeletionTimestamp != nil && !moved {
				t.Errorf("%s is deleted before the replica has moved", serving)
				moved = true
			}
		}
		if left {
			return errors.Join(errNotYet, fmt.Errorf("%s is still there, moved %t", serving, moved))
		}
		return nil
	})
	w.eventually("2,000 answers", func(context.Context) error {
		if n := load.total()[said{"good morning", "one"}]; n < 2000 {
			return fmt.Errorf("%d answers", n)
		}
		return nil
	})
	good, failures := load.stop()
	t.Logf("%d requests were answered", good)
	if len(failures) > 0 {
		t.Errorf("requests failed: %s", strings.Join(failures, "; "))
	}
	if err := product.client.Get(t.Context(), client.ObjectKeyFromObject(svc), svc); err != nil || svc.Status.ActiveServiceStatus.RayClusterName != cluster {
		t.Errorf("the service is on %s, %v", svc.Status.ActiveServiceStatus.RayClusterName, err)
	}
}
