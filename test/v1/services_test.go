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
		clusters := &kuberay.ListClustersResponse{}
		if w.ok("GET", w.path("clusters"), nil, clusters); len(clusters.GetClusters()) != 0 {
			t.Errorf("the cluster of the service is listed: %v", clusters)
		}
		w.ok("DELETE", w.path("services", "demo"), nil, nil)
		w.gone("demo", &rayv1.RayService{})
	})
}
