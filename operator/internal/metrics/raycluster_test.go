package metrics_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/raytest"
	"github.com/raygate/raygate/operator/internal/metrics"
)

func TestRayCluster(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := rayv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	good := raytest.RayCluster("ns/good", raytest.UID("1"), raytest.Condition(rayv1.RayClusterProvisioned, metav1.ConditionTrue),
		raytest.Labels(map[string]string{rayv1.LabelOriginatedFromCRD: "RayJob"}))
	bad := raytest.RayCluster("ns/bad", raytest.UID("2"), raytest.Condition(rayv1.RayClusterInvalidSpec, metav1.ConditionTrue),
		raytest.Condition(rayv1.RayClusterStalled, metav1.ConditionTrue), raytest.Condition(rayv1.RayClusterProvisioned, metav1.ConditionFalse),
		raytest.Labels(map[string]string{rayv1.LabelOriginatedFromCRD: "Notebook"}))
	bad.Status.Conditions[1].Reason = rayv1.ReasonImagePullFailed
	good.Status.Conditions = append(good.Status.Conditions,
		metav1.Condition{Type: rayv1.ConditionReconciling, Status: metav1.ConditionTrue, Reason: rayv1.ReasonQuotaExceeded})
	bad.Spec.Suspend = new(true)
	gone := raytest.RayCluster("ns/gone", raytest.UID("3"))
	m := metrics.NewRayCluster(fake.NewClientBuilder().WithScheme(scheme).WithObjects(good, bad).Build())
	m.ObserveProvisioned(good, 3*time.Second)
	m.ObserveProvisioned(gone, time.Second)
	m.ObserveViolation("RC-501")
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
	var got []string // what a scrape shows, without help and types
	for _, f := range families {
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, fmt.Sprintf("%s=%q", l.GetName(), l.GetValue()))
			}
			value := m.GetGauge().GetValue() + m.GetCounter().GetValue() + m.GetHistogram().GetSampleSum() // each has one of them
			got = append(got, fmt.Sprintf("%s{%s} %v", f.GetName(), strings.Join(labels, ","), value))
		}
	}
	want := []string{
		`kuberay_cluster_condition_provisioned{condition="false",name="bad",namespace="ns",uid="2"} 1`,
		`kuberay_cluster_condition_provisioned{condition="true",name="good",namespace="ns",uid="1"} 1`,
		`kuberay_cluster_info{name="bad",namespace="ns",owner_kind="None",uid="2"} 1`,
		`kuberay_cluster_info{name="good",namespace="ns",owner_kind="RayJob",uid="1"} 1`,
		`kuberay_cluster_provisioned_duration_seconds{name="good",namespace="ns",uid="1"} 3`, // not of the cluster that is gone
		`raygate_cluster_condition_stalled{name="bad",namespace="ns",reason="ImagePullFailed",uid="2"} 1`,
		`raygate_cluster_provisioning_seconds{} 4`, // of both
		`raygate_cluster_suspended{name="bad",namespace="ns",uid="2"} 1`,
		`raygate_cluster_waits{name="good",namespace="ns",reason="QuotaExceeded",uid="1"} 1`,
		`raygate_invalid_objects{kind="RayCluster"} 1`,
		`raygate_validation_failures_total{kind="RayCluster",layer="controller",rule="RC-501"} 2`,
		`raygate_validation_failures_total{kind="RayCluster",layer="controller",rule="unknown"} 1`,
		`raygate_validation_warnings_total{kind="RayCluster",layer="controller",rule="RC-118"} 1`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("series (-want +got):\n%s", diff)
	}
}
