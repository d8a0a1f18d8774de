package metrics

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

func TestRayServiceMetrics(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := rayv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	rs := &rayv1.RayService{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "demo", UID: "u"}}
	rs.Status.Conditions = []metav1.Condition{
		{Type: rayv1.RayServiceReady, Status: metav1.ConditionTrue}, {Type: rayv1.RayServiceUpgradeInProgress, Status: metav1.ConditionUnknown},
		{Type: rayv1.RayServiceStalled, Status: metav1.ConditionTrue, Reason: "AdmissionDenied"},
	}
	const want = `
# HELP kuberay_service_condition_ready One per RayService, with the value of the condition Ready.
# TYPE kuberay_service_condition_ready gauge
kuberay_service_condition_ready{condition="true",name="demo",namespace="ns",uid="u"} 1
# HELP kuberay_service_condition_upgrade_in_progress One per RayService, with the value of the condition UpgradeInProgress.
# TYPE kuberay_service_condition_upgrade_in_progress gauge
kuberay_service_condition_upgrade_in_progress{condition="false",name="demo",namespace="ns",uid="u"} 1
# HELP kuberay_service_info One per RayService.
# TYPE kuberay_service_info gauge
kuberay_service_info{name="demo",namespace="ns",uid="u"} 1
# HELP raygate_service_condition_stalled One per RayService that makes no progress, with the reason of the condition Stalled.
# TYPE raygate_service_condition_stalled gauge
raygate_service_condition_stalled{name="demo",namespace="ns",reason="AdmissionDenied",uid="u"} 1
`
	if err := testutil.CollectAndCompare(NewRayService(fake.NewClientBuilder().WithScheme(scheme).WithObjects(rs).Build()), strings.NewReader(want)); err != nil {
		t.Error(err)
	}
}
