package route

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/child"
	"github.com/raygate/raygate/operator/internal/build/names"
	"github.com/raygate/raygate/operator/internal/build/service"
)

// Kind is OpenShift's Route. Its Go types are not used: one object does not justify the dependency.
var Kind = schema.GroupVersionKind{Group: "route.openshift.io", Version: "v1", Kind: "Route"}

// Route builds the Route of the dashboard.
func Route(rc *rayv1.RayCluster) *unstructured.Unstructured {
	r := child.Unstructured(rc, Kind, names.HeadRoute(rc.Name, rc.Namespace), labels(rc), map[string]any{
		"to":             map[string]any{"kind": "Service", "name": names.HeadService(rc), "weight": int64(100)},
		"port":           map[string]any{"targetPort": int64(service.DashboardPort(rc))},
		"wildcardPolicy": "None",
	})
	r.SetAnnotations(child.Annotations(rc))
	return r
}
