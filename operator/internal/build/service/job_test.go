package service

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/raytest"
)

// TestJobHead has what only one of two Services can have. The rest is in the golden files of package rayjob.
func TestJobHead(t *testing.T) {
	job := &rayv1.RayJob{ObjectMeta: metav1.ObjectMeta{Name: "demo", Namespace: "default", UID: "u"}}
	rc := raytest.RayCluster("demo-x7k2p", raytest.Head(func(h *rayv1.HeadGroupSpec) {
		h.HeadService = &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: "mine", Labels: map[string]string{"a": "b"}, Annotations: map[string]string{"internal": "true"}},
			Spec: corev1.ServiceSpec{
				Type: corev1.ServiceTypeLoadBalancer, ClusterIP: "10.0.0.9", ClusterIPs: []string{"10.0.0.9"}, HealthCheckNodePort: 31000,
				LoadBalancerIP: "1.2.3.4", Ports: []corev1.ServicePort{{Name: "dashboard", Port: 8265, NodePort: 30000}},
			},
		}
	}))
	before := rc.DeepCopy()
	got := JobHead(job, rc, Options{})
	if got.Name != "demo-head-svc" || got.Namespace != "default" || len(got.Labels) != 5 || got.Annotations["internal"] != "true" {
		t.Errorf("metadata: %+v", got.ObjectMeta)
	}
	if s := got.Spec; s.ClusterIP != "" || s.ClusterIPs != nil || s.HealthCheckNodePort != 0 || s.LoadBalancerIP != "" || s.Ports[0].NodePort != 0 {
		t.Errorf("the cluster's own Service has that already: %+v", s)
	}
	if got.Spec.Selector[rayv1.LabelCluster] != "demo-x7k2p" {
		t.Errorf("selector: %v", got.Spec.Selector)
	}
	if diff := cmp.Diff(before, rc); diff != "" {
		t.Errorf("building changed the cluster (-want +got):\n%s", diff)
	}
}
