package metrics_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	rayv1 "github.com/raygate/raygate/operator/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/metrics"
	"github.com/raygate/raygate/test/raytest"
)

func TestRayCluster(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := rayv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	good := raytest.RayCluster("ns/good", raytest.Condition(rayv1.RayClusterProvisioned, metav1.ConditionTrue))
	bad := raytest.RayCluster("ns/bad", raytest.Condition(rayv1.RayClusterInvalidSpec, metav1.ConditionTrue),
		raytest.Condition(rayv1.RayClusterStalled, metav1.ConditionTrue))
	gone := raytest.RayCluster("ns/gone")
	m := metrics.NewRayCluster(fake.NewClientBuilder().WithScheme(scheme).WithObjects(good, bad).Build())
	m.ObserveProvisioned(good, 3*time.Second)
	m.ObserveProvisioned(gone, time.Second)
	m.ObserveViolation("RC-501")
	m.ObserveViolation("")
	m.ObserveWarning("RC-118")

	registry := prometheus.NewPedanticRegistry() // also checks that Describe announces every series
	if err := registry.Register(m); err != nil {
		t.Fatal(err)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for _, f := range families {
		got[f.GetName()] = len(f.GetMetric())
	}
	want := map[string]int{
		"kuberay_cluster_info":                         2,
		"kuberay_cluster_condition_provisioned":        2,
		"kuberay_cluster_provisioned_duration_seconds": 1, // not of the cluster that is gone
		"raygate_invalid_objects":                      1,
		"raygate_cluster_condition_stalled":            1,
		"raygate_validation_failures_total":            2,
		"raygate_validation_warnings_total":            1,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("series (-want +got):\n%s", diff)
	}
}
