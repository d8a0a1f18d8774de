package rayservice

import (
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/names"
	"github.com/raygate/raygate/operator/internal/build/service"
)

// gatewayGroup is the library's group version in the type of apimachinery.
var gatewayGroup = schema.GroupVersion{Group: gatewayv1.GroupName, Version: gatewayv1.GroupVersion.Version}

// Kinds of the Gateway API, which a Kubernetes cluster may lack.
var (
	GatewayKind = gatewayGroup.WithKind("Gateway")
	RouteKind   = gatewayGroup.WithKind("HTTPRoute")
	GRPCKind    = gatewayGroup.WithKind("GRPCRoute")
)

// listenerPort is the port of the Gateway's listener for HTTP, and grpcListener the name of the one for gRPC.
const (
	listenerPort = 80
	grpcListener = "grpc"
)

// GRPCPort returns the port of the Gateway for gRPC requests; 0 for a service that does not ask for it.
func GRPCPort(rs *rayv1.RayService) int32 {
	if rs.Annotations[rayv1.AnnotationGRPCRoute] != "true" {
		return 0
	}
	return service.GRPCPort(&rs.Spec.RayClusterSpec)
}

// Backend is a cluster with its share of the traffic.
type Backend struct {
	// Cluster is the name of the cluster, and Port the port of its serve Service.
	Cluster string
	Port    int32
	// Weight is the share in percent.
	Weight int32
}

// Gateway builds the Gateway of a RayService with incremental upgrades.
func Gateway(rs *rayv1.RayService) *unstructured.Unstructured {
	g := &gatewayv1.Gateway{
		ObjectMeta: gatewayMeta(rs, names.ServiceGateway(rs.Name)),
		Spec: gatewayv1.GatewaySpec{
			Listeners: []gatewayv1.Listener{{Name: "http", Protocol: gatewayv1.HTTPProtocolType, Port: listenerPort}},
		},
	}
	if port := GRPCPort(rs); port != 0 {
		// Routes of both kinds for the same requests exclude each other, so this listener takes only one.
		group := gatewayv1.Group(gatewayv1.GroupName)
		g.Spec.Listeners = append(g.Spec.Listeners, gatewayv1.Listener{
			Name: grpcListener, Protocol: gatewayv1.HTTPProtocolType, Port: port,
			AllowedRoutes: &gatewayv1.AllowedRoutes{Kinds: []gatewayv1.RouteGroupKind{{Group: &group, Kind: gatewayv1.Kind(GRPCKind.Kind)}}},
		})
	}
	if u := rs.Spec.UpgradeStrategy; u != nil && u.ClusterUpgradeOptions != nil {
		g.Spec.GatewayClassName = gatewayv1.ObjectName(u.ClusterUpgradeOptions.GatewayClassName)
	}
	return loose(g, GatewayKind)
}

// Route builds the HTTPRoute that splits requests between the backends.
func Route(rs *rayv1.RayService, backends []Backend) *unstructured.Unstructured {
	rule := gatewayv1.HTTPRouteRule{
		Matches: []gatewayv1.HTTPRouteMatch{{Path: &gatewayv1.HTTPPathMatch{Type: new(gatewayv1.PathMatchPathPrefix), Value: new("/")}}},
	}
	for _, b := range backends {
		rule.BackendRefs = append(rule.BackendRefs, gatewayv1.HTTPBackendRef{BackendRef: b.ref(rs)})
	}
	r := &gatewayv1.HTTPRoute{
		ObjectMeta: gatewayMeta(rs, names.ServiceRoute(rs.Name)),
		Spec:       gatewayv1.HTTPRouteSpec{CommonRouteSpec: toGateway(rs), Rules: []gatewayv1.HTTPRouteRule{rule}},
	}
	return loose(r, RouteKind)
}

// GRPCRoute builds the GRPCRoute that splits gRPC requests between the backends.
func GRPCRoute(rs *rayv1.RayService, backends []Backend) *unstructured.Unstructured {
	rule := gatewayv1.GRPCRouteRule{}
	for _, b := range backends {
		rule.BackendRefs = append(rule.BackendRefs, gatewayv1.GRPCBackendRef{BackendRef: b.ref(rs)})
	}
	parent := toGateway(rs)
	parent.ParentRefs[0].SectionName = new(gatewayv1.SectionName(grpcListener))
	r := &gatewayv1.GRPCRoute{
		ObjectMeta: gatewayMeta(rs, names.ServiceGRPCRoute(rs.Name)),
		Spec:       gatewayv1.GRPCRouteSpec{CommonRouteSpec: parent, Rules: []gatewayv1.GRPCRouteRule{rule}},
	}
	return loose(r, GRPCKind)
}

// ref refers to the serve Service of the backend.
func (b Backend) ref(rs *rayv1.RayService) gatewayv1.BackendRef {
	return gatewayv1.BackendRef{
		BackendObjectReference: gatewayv1.BackendObjectReference{
			Name: gatewayv1.ObjectName(names.ServeService(b.Cluster)), Namespace: new(gatewayv1.Namespace(rs.Namespace)), Port: &b.Port,
		},
		Weight: &b.Weight,
	}
}

// toGateway attaches a route to the Gateway of the service.
func toGateway(rs *rayv1.RayService) gatewayv1.CommonRouteSpec {
	return gatewayv1.CommonRouteSpec{ParentRefs: []gatewayv1.ParentReference{{
		Name: gatewayv1.ObjectName(names.ServiceGateway(rs.Name)), Namespace: new(gatewayv1.Namespace(rs.Namespace)),
	}}}
}

// KeepGateway copies user additions of a live Gateway into desired: other listeners, for example for TLS, and further fields of
// the operator's listeners. KubeRay drops them. The operator's listener for gRPC stays if it is desired, or if keepGRPC is set.
func KeepGateway(desired, current *unstructured.Unstructured, keepGRPC bool) {
	wanted, _, _ := unstructured.NestedSlice(desired.Object, "spec", "listeners")
	found, _, _ := unstructured.NestedSlice(current.Object, "spec", "listeners")
	spec, ok := desired.Object["spec"].(map[string]any)
	if !ok || len(found) == 0 {
		return
	}
	if !keepGRPC && len(wanted) == 1 {
		found = slices.DeleteFunc(found, ourGRPCListener)
	}
	spec["listeners"] = overlaidByName(wanted, found)
}

// HasGRPCListener reports whether a Gateway has the operator's listener for gRPC, so that the service may have a GRPCRoute.
func HasGRPCListener(gateway *unstructured.Unstructured) bool {
	listeners, _, _ := unstructured.NestedSlice(gateway.Object, "spec", "listeners")
	return slices.ContainsFunc(listeners, ourGRPCListener)
}

func ourGRPCListener(listener any) bool {
	l, _ := listener.(map[string]any)
	kinds, _, _ := unstructured.NestedSlice(l, "allowedRoutes", "kinds")
	if l["name"] != grpcListener || len(kinds) != 1 {
		return false
	}
	kind, _ := kinds[0].(map[string]any)
	return kind["kind"] == GRPCKind.Kind
}

// overlaidByName returns the found objects in their order, with the wanted fields of objects of the same name. Missing objects
// come first.
func overlaidByName(wanted, found []any) []any {
	var missing []any
	all := slices.Clone(found)
	for _, w := range wanted {
		if at := indexByName(found, w); at >= 0 {
			all[at] = merged(w, found[at])
		} else {
			missing = append(missing, w)
		}
	}
	return append(missing, all...)
}

// indexByName returns the index of the object in found that has the name of wanted, or a negative number.
func indexByName(found []any, wanted any) int {
	w, _ := wanted.(map[string]any)
	return slices.IndexFunc(found, func(f any) bool {
		one, _ := f.(map[string]any)
		return w != nil && one != nil && one["name"] == w["name"]
	})
}

// merged returns found with its fields replaced by those of wanted. Both are objects.
func merged(wanted, found any) map[string]any {
	both := maps.Clone(found.(map[string]any))
	maps.Copy(both, wanted.(map[string]any))
	return both
}

// KeepRoute copies user additions to the operator's rule of a live route, such as timeouts and filters, and defaults of the
// API server into desired. KubeRay drops them with the next change of a weight.
func KeepRoute(desired, current *unstructured.Unstructured) {
	wanted, _, _ := unstructured.NestedSlice(desired.Object, "spec", "rules")
	found, _, _ := unstructured.NestedSlice(current.Object, "spec", "rules")
	if len(wanted) == 0 || len(found) == 0 {
		return
	}
	ours, ok1 := wanted[0].(map[string]any)
	theirs, ok2 := found[0].(map[string]any)
	if !ok1 || !ok2 {
		return
	}
	rule := merged(ours, theirs)
	backends, _, _ := unstructured.NestedSlice(ours, "backendRefs")
	live, _, _ := unstructured.NestedSlice(theirs, "backendRefs")
	for i, b := range backends { // backends of other owners are dropped
		if at := indexByName(live, b); at >= 0 {
			backends[i] = merged(b, live[at])
		}
	}
	rule["backendRefs"] = backends
	desired.Object["spec"].(map[string]any)["rules"] = append([]any{rule}, found[1:]...)
}

func gatewayMeta(rs *rayv1.RayService, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name: name, Namespace: rs.Namespace, OwnerReferences: []metav1.OwnerReference{controller(rs)},
		Labels: map[string]string{rayv1.LabelCluster: rs.Name}, // not set by KubeRay; the operator's cache selects by it
	}
}

// loose converts an object to an unstructured one, so that its kind need not be registered.
func loose(o runtime.Object, kind schema.GroupVersionKind) *unstructured.Unstructured {
	body, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		body = map[string]any{} // not reached: these are types of the library
	}
	delete(body, "status")
	u := &unstructured.Unstructured{Object: body}
	u.SetGroupVersionKind(kind)
	return u
}
