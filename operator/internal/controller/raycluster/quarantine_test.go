package raycluster

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/raytest"
)

// TestQuarantinedWorkerDoesNotCount: a user takes a worker out of the cluster, to look at it in peace, by another value of the label
// ray.io/cluster. It still is controlled by the cluster, so that it goes with it.
func TestQuarantinedWorkerDoesNotCount(t *testing.T) {
	rc := raytest.RayCluster("ns/demo", raytest.Workers("cpu", 1))
	quarantined := raytest.WorkerPod(rc, "cpu", "a", raytest.PodLabel(rayv1.LabelCluster, "looked-at"))
	b := newBench(t, rc, interceptor.Funcs{}, raytest.HeadPod(rc, "h"), quarantined)
	b.mustReconcile()
	pods := b.pods()
	if len(pods) != 3 {
		t.Fatalf("%d Pods, want the head, the quarantined worker and its replacement", len(pods))
	}
	for i := range pods {
		if p := &pods[i]; p.Name != "h" && p.Name != "a" {
			raytest.Phase(corev1.PodRunning)(p)
			p.Status.Conditions = quarantined.Status.Conditions
			if err := b.client.Status().Update(t.Context(), p); err != nil {
				t.Fatal(err)
			}
		}
	}
	b.mustReconcile()
	if st := b.status(); st.State != rayv1.ClusterStateReady || st.ReadyWorkerReplicas != 1 {
		t.Errorf("state %q with %d ready workers, want a ready cluster", st.State, st.ReadyWorkerReplicas)
	}

	stored := &rayv1.RayCluster{}
	if err := b.client.Get(t.Context(), key(rc), stored); err != nil {
		t.Fatal(err)
	}
	stored.Spec.Suspend = new(true)
	if err := b.client.Update(t.Context(), stored); err != nil {
		t.Fatal(err)
	}
	for range 4 {
		b.mustReconcile()
	}
	if !meta.IsStatusConditionTrue(b.status().Conditions, rayv1.RayClusterSuspended) {
		t.Errorf("conditions %v, want the suspension to end", b.status().Conditions)
	}
	if err := b.client.Get(t.Context(), client.ObjectKeyFromObject(quarantined), quarantined); err != nil {
		t.Errorf("the quarantined worker: %v", err)
	}
}
