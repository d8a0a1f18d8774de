package rayservice

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// serveSuffix follows the cluster's name in the name of a backend.
const serveSuffix = "-serve-svc"

// GatewayState is the state in the status of a Gateway. The status may belong to an earlier generation: the fields that KubeRay
// and this operator write do not change while the Gateway is used.
type GatewayState struct {
	// GatewayReady means that the Gateway is accepted and programmed. GatewayWhy is the reason if it is not; empty without a
	// status.
	GatewayReady bool
	GatewayWhy   string
	// Addresses are the addresses of the Gateway, sorted.
	Addresses []string
}

// StateOfGateway reads the status of a Gateway. An invalid status counts as none.
func StateOfGateway(u *unstructured.Unstructured) GatewayState {
	var g gatewayv1.Gateway
	if runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &g) != nil {
		return GatewayState{}
	}
	st := GatewayState{GatewayReady: true}
	for _, kind := range []gatewayv1.GatewayConditionType{gatewayv1.GatewayConditionAccepted, gatewayv1.GatewayConditionProgrammed} {
		c := meta.FindStatusCondition(g.Status.Conditions, string(kind))
		st.GatewayReady = st.GatewayReady && c != nil && c.Status == metav1.ConditionTrue
		if c != nil && c.Status != metav1.ConditionTrue && st.GatewayWhy == "" {
			st.GatewayWhy = text(c)
		}
	}
	for _, a := range g.Status.Addresses {
		st.Addresses = append(st.Addresses, a.Value)
	}
	slices.Sort(st.Addresses)
	return st
}

// RouteState contains the weights of an HTTPRoute or a GRPCRoute and its status for one Gateway.
type RouteState struct {
	// Weights are the shares of traffic by cluster name. A backend without a weight has 1, as in the Gateway API.
	Weights map[string]int32
	// RouteReady means that the Gateway has accepted the current generation of the route with all its backends. A status
	// without observedGeneration counts as current.
	RouteReady bool
	// RouteRefused is why the Gateway rejects the current generation or one of its backends; empty if it accepts it or has not
	// processed it.
	RouteRefused string
}

// route is the part that HTTPRoutes and GRPCRoutes have in common.
type route struct {
	Metadata metav1.ObjectMeta `json:"metadata"`
	Spec     struct {
		Rules []struct {
			BackendRefs []gatewayv1.BackendRef `json:"backendRefs"`
		} `json:"rules"`
	} `json:"spec"`
	Status gatewayv1.RouteStatus `json:"status"`
}

// StateOfRoute reads a route and its status for the named Gateway. An invalid route has no weights.
func StateOfRoute(u *unstructured.Unstructured, gateway string) RouteState {
	st := RouteState{Weights: map[string]int32{}}
	var r route
	if runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &r) != nil {
		return st
	}
	if len(r.Spec.Rules) > 0 {
		for _, b := range r.Spec.Rules[0].BackendRefs {
			if cluster, ours := strings.CutSuffix(string(b.Name), serveSuffix); ours {
				st.Weights[cluster] = ptr.Deref(b.Weight, 1)
			}
		}
	}
	for _, p := range r.Status.Parents {
		if string(p.ParentRef.Name) != gateway || string(ptr.Deref(p.ParentRef.Namespace, gatewayv1.Namespace(u.GetNamespace()))) != u.GetNamespace() {
			continue
		}
		accepted, refused := accepts(&p, r.Metadata.Generation)
		st.RouteReady, st.RouteRefused = st.RouteReady || accepted, cmp.Or(st.RouteRefused, refused)
	}
	return st
}

// accepts reports whether a Gateway has accepted a route of this generation with all its backends, and otherwise why not.
func accepts(p *gatewayv1.RouteParentStatus, generation int64) (accepted bool, refused string) {
	accepted = true
	for _, kind := range []gatewayv1.RouteConditionType{gatewayv1.RouteConditionAccepted, gatewayv1.RouteConditionResolvedRefs} {
		c := meta.FindStatusCondition(p.Conditions, string(kind))
		current := c != nil && (c.ObservedGeneration == 0 || c.ObservedGeneration >= generation)
		accepted = accepted && current && c.Status == metav1.ConditionTrue
		if current && c.Status == metav1.ConditionFalse {
			refused = cmp.Or(refused, text(c))
		}
	}
	return accepted, refused
}

// text formats a condition of another controller, without a limit of its length.
func text(c *metav1.Condition) string {
	return strings.TrimSpace(c.Type + " is " + string(c.Status) + " (" + c.Reason + ") " + c.Message)
}
