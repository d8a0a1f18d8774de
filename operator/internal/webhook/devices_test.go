package webhook

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/raytest"
	"github.com/raygate/raygate/operator/internal/conditions"
	"github.com/raygate/raygate/operator/internal/devicequota"
	"github.com/raygate/raygate/pkg/devices/load"
	"github.com/raygate/raygate/pkg/devices/shipped"
	"github.com/raygate/raygate/pkg/validation"
)

// TestDeviceWarnings: writes of a cluster by users and by tools such as GitOps return warnings about devices and are never
// rejected. Writes that do not change the Pods, such as replicas of an autoscaler, return none. Many warnings are cut short.
func TestDeviceWarnings(t *testing.T) {
	p, err := load.Registry(shipped.HAMi)
	if err != nil {
		t.Fatal(err)
	}
	m := mux{}
	Register(m.Register, validation.Options{}, StageEnforce, NewMetrics(), &Devices{Registry: load.NewLive(p)})
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
	ask := func(user string, now, before []byte) admission.Response {
		req := admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{UID: "u", Operation: admissionv1.Create, Object: runtime.RawExtension{Raw: now}}}
		if before != nil {
			req.Operation, req.OldObject.Raw = admissionv1.Update, before
		}
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
	scaled := bytes.ReplaceAll(raw, []byte(`"replicas":1`), []byte(`"replicas":3`))
	other := bytes.Replace(raw, []byte(`"nvidia.com/gpu":"2"`), []byte(`"nvidia.com/gpu":"3"`), 1)
	if bytes.Equal(raw, scaled) || bytes.Equal(raw, other) {
		t.Fatal("the cluster has other texts")
	}
	for _, user := range []string{"jane", "system:serviceaccount:argocd:application-controller"} {
		for name, before := range map[string][]byte{"creates": nil, "changes devices": other} {
			if r := ask(user, raw, before); !r.Allowed || about(r) != conditions.MaxWarnings-1 || !strings.Contains(strings.Join(r.Warnings, "\n"), "--device-registry") {
				t.Errorf("%s %s: %+v", user, name, r)
			}
		}
		if r := ask(user, scaled, raw); !r.Allowed || about(r) != 0 {
			t.Errorf("%s writes replicas: %+v", user, r)
		}
	}
}

// TestForecastWarnings: an object that asks at least for more than a quota allows is warned of, and not refused; without quotas nothing is said.
func TestForecastWarnings(t *testing.T) {
	p, err := load.Registry(shipped.HAMi)
	if err != nil {
		t.Fatal(err)
	}
	live := load.NewLive(p)
	engine := devicequota.New(devicequota.Options{Registry: live, Clock: clock.RealClock{}})
	engine.SetQuota(&corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "q"}, Spec: corev1.ResourceQuotaSpec{
		Hard: corev1.ResourceList{"limits.nvidia.com/gpu": resource.MustParse("5")},
	}})
	group := func(name, gpus string) raytest.ClusterOption {
		return raytest.Workers(name, 1, raytest.GroupContainer(func(c *corev1.Container) {
			c.Resources.Limits = corev1.ResourceList{"nvidia.com/gpu": resource.MustParse(gpus), "nvidia.com/gpumem": resource.MustParse("1")}
		}), func(g *rayv1.WorkerGroupSpec) {
			g.Replicas, g.MinReplicas, g.MaxReplicas, g.NumOfHosts = new(int32(3)), new(int32(1)), new(int32(9)), 2
		})
	}
	rc := raytest.RayCluster("ns/demo", group("small", "1"), group("big", "2"), group("wrong", "9"))
	rc.Spec.WorkerGroupSpecs[2].Template.Spec.Containers[0].Resources.Limits["nvidia.com/gpucores"] = resource.MustParse("150") // admission refuses its Pods
	rc.Spec.HeadGroupSpec.Template.Spec.Containers[0].Resources.Limits = corev1.ResourceList{"nvidia.com/gpumem": resource.MustParse("1")}
	job := &rayv1.RayJob{Spec: rayv1.RayJobSpec{Entrypoint: "true", RayClusterSpec: &rc.Spec}}
	job.Namespace, job.Name = "ns", "demo"
	service := &rayv1.RayService{Spec: rayv1.RayServiceSpec{RayClusterSpec: rc.Spec, ServeConfigV2: "applications: [{name: a, import_path: a:b}]"}}
	service.Namespace, service.Name = "ns", "demo"
	const want = `quota "q": nvidia.com/gpu: at least 7 for headgroup (1 × 1), small (2 × 1), big (2 × 2), but hard is 5`
	for kind, object := range map[string]any{"RayCluster": rc, "RayJob": job, "RayService": service} {
		raw, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		for name, tc := range map[string]struct {
			devices   *Devices
			namespace string
			want      bool
		}{
			"held to quotas":     {&Devices{Registry: live, Quotas: engine}, "ns", true},
			"another namespace":  {&Devices{Registry: live, Quotas: engine}, "other", false},
			"not held to quotas": {&Devices{Registry: live}, "ns", false},
		} {
			m := mux{}
			Register(m.Register, validation.Options{}, StageEnforce, NewMetrics(), tc.devices)
			req := admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{UID: "u", Namespace: tc.namespace, Operation: admissionv1.Create, Object: runtime.RawExtension{Raw: raw}}}
			req.Kind.Group, req.Kind.Version, req.Kind.Kind = "ray.io", "v1", kind
			req.UserInfo.Username = "jane"
			r := m[ValidatePath(kind)].(*admission.Webhook).Handler.Handle(t.Context(), req)
			if texts := strings.Join(r.Warnings, "\n"); !r.Allowed || strings.Contains(texts, want) != tc.want {
				t.Errorf("%s, %s: allowed %v, %v\n%s", kind, name, r.Allowed, r.Result, texts)
			}
		}
	}
}
