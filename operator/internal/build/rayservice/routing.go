package rayservice

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// serveSuffix is what a backend has behind the name of its cluster.
const serveSuffix = "-serve-svc"

// GatewayReady reports whether a Gateway is accepted and programmed. Its status may be of an earlier version of it: what KubeRay and this
// operator write of it does not change while it is used.
func GatewayReady(u *unstructured.Unstructured) bool {
	var g gatewayv1.Gateway
	if runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &g) != nil {
		return false
	}
	return meta.IsStatusConditionTrue(g.Status.Conditions, string(gatewayv1.GatewayConditionAccepted)) &&
		meta.IsStatusConditionTrue(g.Status.Conditions, string(gatewayv1.GatewayConditionProgrammed))
}

// GatewayWhy is why a Gateway is not accepted or programmed, as its status has it; empty for no status.
func GatewayWhy(u *unstructured.Unstructured) string {
	var g gatewayv1.Gateway
	if runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &g) != nil {
		return ""
	}
	for _, kind := range []gatewayv1.GatewayConditionType{gatewayv1.GatewayConditionAccepted, gatewayv1.GatewayConditionProgrammed} {
		if c := meta.FindStatusCondition(g.Status.Conditions, string(kind)); c != nil && c.Status != metav1.ConditionTrue {
			return said(c)
		}
	}
	return ""
}

// said is what a condition of another controller says. Its length is that controller's.
func said(c *metav1.Condition) string {
	const most = 512
	text := c.Type + " is " + string(c.Status) + " (" + c.Reason + ") " + c.Message
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + " ..."
	}
	return strings.TrimSpace(text)
}

// GatewayAddresses are where a Gateway takes requests, sorted.
func GatewayAddresses(u *unstructured.Unstructured) []string {
	var g gatewayv1.Gateway
	if runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &g) != nil {
		return nil
	}
	var all []string
	for _, a := range g.Status.Addresses {
		all = append(all, a.Value)
	}
	slices.Sort(all)
	return all
}

// RouteRefused is why the Gateway does not accept an HTTPRoute as it is now, or one of its backends; empty if it does, or has not looked at it.
func RouteRefused(u *unstructured.Unstructured, gateway string) string {
	var r gatewayv1.HTTPRoute
	if runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &r) != nil {
		return ""
	}
	for _, p := range r.Status.Parents {
		for _, kind := range []gatewayv1.RouteConditionType{gatewayv1.RouteConditionAccepted, gatewayv1.RouteConditionResolvedRefs} {
			c := meta.FindStatusCondition(p.Conditions, string(kind))
			if string(p.ParentRef.Name) == gateway && c != nil && c.Status == metav1.ConditionFalse && (c.ObservedGeneration == 0 || c.ObservedGeneration >= r.Generation) {
				return said(c)
			}
		}
	}
	return ""
}

// RouteReady reports whether the Gateway has accepted an HTTPRoute as it is now, with all its backends. An implementation that does not say
// which version it has looked at is taken at its word.
func RouteReady(u *unstructured.Unstructured, gateway string) bool {
	var r gatewayv1.HTTPRoute
	if runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &r) != nil {
		return false
	}
	for _, p := range r.Status.Parents {
		if string(p.ParentRef.Name) != gateway || p.ParentRef.Namespace != nil && string(*p.ParentRef.Namespace) != u.GetNamespace() {
			continue
		}
		if holds(p.Conditions, string(gatewayv1.RouteConditionAccepted), r.Generation) &&
			holds(p.Conditions, string(gatewayv1.RouteConditionResolvedRefs), r.Generation) {
			return true
		}
	}
	return false
}

func holds(conditions []metav1.Condition, kind string, generation int64) bool {
	c := meta.FindStatusCondition(conditions, kind)
	return c != nil && c.Status == metav1.ConditionTrue && (c.ObservedGeneration == 0 || c.ObservedGeneration >= generation)
}

// Weights are the shares of the traffic in an HTTPRoute by the name of the cluster. A backend without a weight has 1, as for the Gateway API.
func Weights(u *unstructured.Unstructured) map[string]int32 {
	weights := map[string]int32{}
	var r gatewayv1.HTTPRoute
	if runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &r) != nil || len(r.Spec.Rules) == 0 {
		return weights
	}
	for _, b := range r.Spec.Rules[0].BackendRefs {
		cluster, ours := strings.CutSuffix(string(b.Name), serveSuffix)
		if !ours {
			continue
		}
		weights[cluster] = 1
		if b.Weight != nil {
			weights[cluster] = *b.Weight
		}
	}
	return weights
}
