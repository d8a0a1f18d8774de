package v1

import (
	"fmt"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/proto/gen/go/kuberay"
)

func names(all []string) []protoreflect.Name {
	var out []protoreflect.Name
	for _, name := range all {
		out = append(out, protoreflect.Name(name))
	}
	return out
}

func TestServices(t *testing.T) {
	t.Run("create", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		sent, got := w.service("demo"), &kuberay.RayService{}
		w.ok("POST", w.path("services"), sent, got)
		wantSame(t, sent, got, "created_at", "delete_at", "ray_service_status")
		eventually(t, "V1 shows that both applications run, and events", func() error {
			got.Reset()
			w.ok("GET", w.path("services", "demo"), nil, got)
			st := got.GetRayServiceStatus()
			if apps := st.GetServeApplicationStatus(); len(apps) != 2 || apps[0].GetName() != "fruit_app" || apps[0].GetStatus() != "RUNNING" || apps[1].GetStatus() != "RUNNING" {
				return fmt.Errorf("status %v", st)
			}
			if st.GetRayClusterState() != "ready" || st.GetServiceEndpoint()["serve"] == "" {
				return fmt.Errorf("status %v", st)
			}
			about := map[string]bool{}
			for _, e := range st.GetRayServiceEvents() {
				about[e.GetReason()] = true
			}
			if !about["CreatedHeadPod"] {
				return fmt.Errorf("no event of the active cluster among %v", about)
			}
			return nil
		})
		wantSame(t, sent, got, "created_at", "delete_at", "ray_service_status")
		// The clusters of a service are its own: lists of clusters leave them out.
		if pages := listings["clusters"].pages(w, w.path("clusters"), 0); len(pages[0].names) != 0 {
			t.Errorf("the cluster of the service is listed: %v", pages)
		}
		w.ok("DELETE", w.path("services", "demo"), nil, nil)
		w.gone("demo", &rayv1.RayService{})
	})
	t.Run("create/refused", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		for name, edit := range map[string]func(*kuberay.RayService){
			"mismatching namespace": func(s *kuberay.RayService) { s.Namespace = "another" },
			"no name":               func(s *kuberay.RayService) { s.Name = "" },
			"no user":               func(s *kuberay.RayService) { s.User = "" },
			"no cluster spec":       func(s *kuberay.RayService) { s.ClusterSpec = nil },
			"no serve config":       func(s *kuberay.RayService) { s.ServeConfig_V2 = "" },
		} {
			t.Run(name, func(t *testing.T) {
				s := w.service("demo")
				edit(s)
				w.in(t).refused(400, "POST", w.path("services"), s)
			})
		}
		t.Run("empty namespace", func(t *testing.T) { w.in(t).refused(404, "POST", pathIn("", "services"), w.service("demo")) })
	})
	t.Run("get, update and delete", func(t *testing.T) {
		t.Parallel()
		w, got := newWorld(t), &kuberay.RayService{}
		w.ok("POST", w.path("services"), w.service("demo"), got)
		w.ok("GET", w.path("services", "demo"), nil, got)
		if got.GetName() != "demo" || got.GetNamespace() != w.namespace {
			t.Errorf("got %v", got)
		}
		for _, method := range []string{"GET", "DELETE"} {
			w.refused(404, method, w.path("services", "unknown"), nil)
			w.refused(404, method, pathIn("", "services", "demo"), nil)
			w.refused(400, method, w.path("services", ""), nil)
		}
		changed := w.service("demo")
		changed.ClusterSpec.WorkerGroupSpec[0].Replicas = 2
		w.ok("PUT", w.path("services", "demo"), changed, got)
		wantSame(t, changed, got, "created_at", "delete_at", "ray_service_status")
		w.refused(404, "PUT", w.path("services", "unknown"), w.service("unknown"))
		w.ok("DELETE", w.path("services", "demo"), nil, nil)
		w.gone("demo", &rayv1.RayService{})
	})
}
