package rayservice

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/rayservice"
)

func typeName(o client.Object) string { return fmt.Sprintf("%T", o) }

func condition(rs *rayv1.RayService, kind string) metav1.Condition {
	if c := meta.FindStatusCondition(rs.Status.Conditions, kind); c != nil {
		return *c
	}
	return metav1.Condition{}
}

// TestLife follows a service from its creation over a new configuration to a new image, with every configuration that Ray gets counted.
func TestLife(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.startOperator()
	w.Create(w.service("demo"))
	w.Eventually("the first conditions", func() bool {
		rs := w.get("demo")
		return condition(rs, rayv1.RayServiceReady).Reason == rayv1.ReasonRayServiceInitializing && rs.Status.PendingServiceStatus.RayClusterName != ""
	})
	rs := w.eventually("demo", "ready", serving)
	first := rs.Status.ActiveServiceStatus.RayClusterName
	if rs.Status.ServiceStatus != rayv1.ServiceRunning || rs.Status.NumServeEndpoints != 1 || rs.Status.ActiveServiceStatus.Applications["shop"].Status != "RUNNING" {
		t.Errorf("status %+v", rs.Status)
	}
	for service, want := range map[string]string{"demo-head-svc": first, "demo-serve-svc": first} {
		if got := w.leads(service); got != want {
			t.Errorf("%s leads to %s, want %s", service, got, want)
		}
	}
	w.edit("demo", newConfig)
	w.eventually("demo", "up to date", func(rs *rayv1.RayService) bool { return serving(rs) && len(w.dash(first).Configs()) == 2 })
	if n := w.written("create cluster"); n != 1 {
		t.Errorf("%d clusters for a new configuration", n)
	}
	w.edit("demo", func(s *rayv1.RayServiceSpec) { s.RayClusterSpec.WorkerGroupSpecs[0].Replicas = new(int32(3)) })
	w.edit("demo", image("rayproject/ray:next"))
	rs = w.eventually("demo", "upgraded", func(rs *rayv1.RayService) bool {
		return serving(rs) && rs.Status.ActiveServiceStatus.RayClusterName != first
	})
	second := rs.Status.ActiveServiceStatus.RayClusterName
	if w.leads("demo-serve-svc") != second || w.leads("demo-head-svc") != second {
		t.Error("the Services lead to the old cluster")
	}
	w.eventually("demo", "rid of the old cluster", w.gone(first))
	if a, b := len(w.dash(first).Configs()), len(w.dash(second).Configs()); a != 2 || b != 1 {
		t.Errorf("%d configurations for the first cluster and %d for the second, want 2 and 1", a, b)
	}
	for _, reason := range []string{"CreatedRayCluster", "CreatedService", "UpdatedServeApplications", "UpdatedHeadPodServeLabel", "UpdatedService", "DeletedRayCluster"} {
		w.Eventually("the event "+reason, func() bool { return len(w.Events("demo", reason)) > 0 })
	}
	rs = w.get("demo")
	if err := w.Client.Delete(t.Context(), rs); err != nil {
		t.Fatal(err)
	}
	w.Eventually("demo to be gone with its cluster", func() bool {
		return !w.Read(&rayv1.RayService{ObjectMeta: w.At("demo")}) && !w.Read(&rayv1.RayCluster{ObjectMeta: w.At(second)})
	})
}

func TestRefusedAndForeignServices(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.startOperator()
	soon := map[string]string{rayv1.AnnotationInitializingTimeout: "soon"}
	refused := w.service("refused")
	refused.Annotations = soon
	w.Create(refused)
	w.Eventually("the refusal", func() bool {
		return condition(w.get("refused"), rayv1.RayServiceReady).Reason == rayv1.ReasonRayServiceValidationFailed && len(w.Events("refused", "InvalidRayServiceMetadata")) > 0
	})
	w.fence("refused")
	if notes := w.Events("refused", "InvalidRayServiceMetadata"); len(notes) != 1 {
		t.Errorf("events %v", notes)
	}
	w.Create(w.service("foreign", func(s *rayv1.RayServiceSpec) { s.ManagedBy = new(rayv1.ManagedByMultiKueue) }))
	w.Create(w.service(strings.Repeat("n", 47)))
	w.eventually(strings.Repeat("n", 47), "ready", serving)
	if rs := w.get("foreign"); len(rs.Finalizers)+len(rs.Status.Conditions) > 0 || w.written("create cluster foreign")+w.written("create cluster refused") != 0 {
		t.Errorf("a service of another controller: %+v", rs)
	}
	// A live service whose spec is spoilt goes on serving, and its health is looked after.
	name := strings.Repeat("n", 47)
	w.annotate(name, soon)
	w.eventually(name, "refused", func(rs *rayv1.RayService) bool {
		return condition(rs, rayv1.RayServiceReady).Reason == rayv1.ReasonRayServiceValidationFailed
	})
	w.setIll(w.active(name), true)
	w.eventually(name, "looked after", func(rs *rayv1.RayService) bool { return rs.Status.NumServeEndpoints == 0 })
	w.setIll(w.active(name), false)
	w.annotate(name, nil)
	w.eventually(name, "ready again", serving)
}

func (w *world) annotate(name string, annotations map[string]string) {
	w.T.Helper()
	w.Eventually("annotations of "+name, func() bool {
		rs := w.get(name)
		rs.Annotations = annotations
		return w.Client.Update(w.T.Context(), rs) == nil
	})
}

// TestGatewayAPI moves the traffic in steps on a real API server with the kinds of the Gateway API, whose implementation is played.
func TestGatewayAPI(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.installGatewayAPI("gateways", "httproutes")
	w.startOperator()
	w.Create(w.service("demo", inSteps(100, 50)))
	w.eventually("demo", "ready", func(rs *rayv1.RayService) bool { w.accept("demo"); return serving(rs) })
	first := w.active("demo")
	w.edit("demo", image("other"))
	var shares []int32
	rs := w.eventually("demo", "upgraded", func(rs *rayv1.RayService) bool {
		w.accept("demo")
		if tr := rs.Status.PendingServiceStatus.TrafficRoutedPercent; tr != nil && (len(shares) == 0 || shares[len(shares)-1] != *tr) {
			shares = append(shares, *tr)
		}
		return serving(rs) && rs.Status.ActiveServiceStatus.RayClusterName != first
	})
	if got := fmt.Sprint(shares); !strings.HasPrefix(got, "[0 50") || *rs.Status.ActiveServiceStatus.TrafficRoutedPercent != 100 {
		t.Errorf("shares %s, status %+v", got, rs.Status)
	}
	w.eventually("demo", "rid of the old cluster", w.gone(first))
	w.eventually("demo", "routed", func(rs *rayv1.RayService) bool { w.accept("demo"); return is(rs, rayv1.RayServiceGatewayReady) })
	w.fence("demo")
	w.quiet("demo") // what the API server has filled in is not written again and again
	w.edit("demo", strategy(rayv1.RayServiceNewCluster))
	w.Eventually("the HTTPRoute to be gone", func() bool {
		route := rayservice.Route(&rayv1.RayService{ObjectMeta: w.At("demo")}, nil)
		return !w.Read(route)
	})
}

// installGatewayAPI serves kinds of the Gateway API by its own definitions, until the end of the test.
func (w *world) installGatewayAPI(plurals ...string) {
	w.T.Helper()
	dir, err := exec.CommandContext(w.T.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/gateway-api").Output()
	if err != nil {
		w.T.Fatal(err)
	}
	for _, plural := range plurals {
		text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "config", "crd", "standard", "gateway.networking.k8s.io_"+plural+".yaml"))
		if err != nil {
			w.T.Fatal(err)
		}
		crd := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(text, &crd.Object); err != nil {
			w.T.Fatal(err)
		}
		w.Create(crd)
		w.T.Cleanup(func() {
			if err := w.Client.Delete(context.Background(), crd); err != nil {
				w.T.Error(err)
			}
		})
		w.Eventually(plural+" to be served", func() bool {
			list := &unstructured.UnstructuredList{}
			list.SetGroupVersionKind(rayservice.GatewayKind)
			if plural == "httproutes" {
				list.SetGroupVersionKind(rayservice.RouteKind)
			}
			return w.Client.List(w.T.Context(), list) == nil
		})
	}
}

// accept plays an implementation of the Gateway API.
func (w *world) accept(name string) {
	w.T.Helper()
	rs := &rayv1.RayService{ObjectMeta: w.At(name)}
	gateway, route := rayservice.Gateway(rs), rayservice.Route(rs, nil)
	fine := func(kinds ...string) (list []any) {
		for _, kind := range kinds {
			list = append(list, map[string]any{"type": kind, "status": "True", "reason": "Fine", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"})
		}
		return list
	}
	if w.Read(gateway) {
		gateway.Object["status"] = map[string]any{"conditions": fine("Accepted", "Programmed")}
		_ = w.Client.Status().Update(w.T.Context(), gateway) // again with the next look
	}
	if w.Read(route) {
		conditions := fine("Accepted", "ResolvedRefs")
		for _, c := range conditions {
			c.(map[string]any)["observedGeneration"] = route.GetGeneration()
		}
		route.Object["status"] = map[string]any{"parents": []any{map[string]any{
			"parentRef": map[string]any{"name": gateway.GetName()}, "controllerName": "example.com/fake", "conditions": conditions,
		}}}
		_ = w.Client.Status().Update(w.T.Context(), route)
	}
}
