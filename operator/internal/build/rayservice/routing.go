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

// serveSuffix is what a backend has behind the name of its cluster.
const serveSuffix = "-serve-svc"

// GatewayState is what the status of a Gateway says. Its status may be of an earlier version of it: what KubeRay and this operator write of it
// does not change while it is used.
type GatewayState struct {
	// GatewayReady says that it is accepted and programmed, and GatewayWhy what keeps it from that; empty while nobody has looked at it.
	GatewayReady bool
	GatewayWhy   string
	// Addresses are where it takes requests, sorted.
	Addresses []string
}

// StateOfGateway reads the status of a Gateway. A status that cannot be read is none.
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

// RouteState is what an HTTPRoute sends where, and what its status says of one Gateway.
type RouteState struct {
	// Weights are the shares of the traffic by the name of the cluster. A backend without a weight has 1, as for the Gateway API.
	Weights map[string]int32
	// RouteReady says that the Gateway has accepted the HTTPRoute as it is now, with all its backends. An implementation that does not say which
	// version it has looked at is taken at its word.
	RouteReady bool
	// RouteRefused is why the Gateway does not accept it as it is now, or one of its backends; empty if it does, or has not looked at it.
	RouteRefused string
}

// StateOfRoute reads an HTTPRoute and what the Gateway of the name says of it. One that cannot be read has no weights.
func StateOfRoute(u *unstructured.Unstructured, gateway string) RouteState {
	st := RouteState{Weights: map[string]int32{}}
	var r gatewayv1.HTTPRoute
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
		accepted, refused := accepts(&p, r.Generation)
		st.RouteReady, st.RouteRefused = st.RouteReady || accepted, cmp.Or(st.RouteRefused, refused)
	}
	return st
}

// accepts reports whether a Gateway has accepted an HTTPRoute of this generation, with all its backends, and why it does not.
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

// text is what a condition of another controller says. Its length is that controller's.
func text(c *metav1.Condition) string {
	return strings.TrimSpace(c.Type + " is " + string(c.Status) + " (" + c.Reason + ") " + c.Message)
}
