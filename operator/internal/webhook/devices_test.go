package webhook

import (
	"encoding/json"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/raygate/raygate/operator/internal/report"
	"github.com/raygate/raygate/pkg/devices/load"
	"github.com/raygate/raygate/pkg/devices/shipped"
	"github.com/raygate/raygate/pkg/validation"
	"github.com/raygate/raygate/test/raytest"
)

// TestR3Warnings: people are warned of devices, programs are not, and nobody is refused. Many warnings are cut short.
func TestR3Warnings(t *testing.T) {
	p, err := load.Registry(shipped.HAMi)
	if err != nil {
		t.Fatal(err)
	}
	m := mux{}
	Register(m, validation.Options{}, StageEnforce, NewMetrics(), &Devices{Registry: load.NewLive(p)})
	groups := []raytest.ClusterOption{}
	for name := range strings.FieldsSeq("a b c d e f g h i j k l") {
		groups = append(groups, raytest.Workers(name, 1, raytest.GroupParams(map[string]string{"num-gpus": "8"}), raytest.GroupContainer(func(c *corev1.Container) {
			c.Resources.Limits = corev1.ResourceList{"cpu": resource.MustParse("1"), "nvidia.com/gpu": resource.MustParse("2"), "nvidia.com/gpumem": resource.MustParse("1")}
		})))
	}
	raw, err := json.Marshal(raytest.RayCluster("ns/demo", groups...))
	if err != nil {
		t.Fatal(err)
	}
	ask := func(user string) admission.Response {
		req := admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{UID: "u", Operation: admissionv1.Create, Object: runtime.RawExtension{Raw: raw}}}
		req.Kind.Group, req.Kind.Version, req.Kind.Kind = "ray.io", "v1", "RayCluster"
		req.UserInfo.Username = user
		return m[ValidatePath("RayCluster")].(*admission.Webhook).Handler.Handle(t.Context(), req)
	}
	about := func(r admission.Response) (n int) {
		for _, w := range r.Warnings {
			if strings.Contains(w, "is 8 and is kept") {
				n++
			}
		}
		return n
	}
	if r := ask("jane"); !r.Allowed || about(r) != report.MaxWarnings-1 || !strings.Contains(strings.Join(r.Warnings, "\n"), "--device-registry") {
		t.Errorf("a person: %+v", r)
	}
	if r := ask("system:serviceaccount:ns:demo"); !r.Allowed || about(r) != 0 {
		t.Errorf("a program: %+v", r)
	}
}
