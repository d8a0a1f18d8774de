package validation

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

func networkMode(p *rayv1.NetworkPolicyConfig) rayv1.NetworkPolicyMode {
	if p.Mode == nil {
		return rayv1.NetworkPolicyDenyAll
	}
	return *p.Mode
}

func validateNetworkPolicy(c *cluster, path *field.Path) field.ErrorList {
	p := c.spec.NetworkPolicy
	if p == nil {
		return nil
	}
	policyPath := path.Child("networkPolicy")
	var errs field.ErrorList
	errs = append(errs, c.options.needs(GateNetworkPolicy, forbidden("RC-097", policyPath, GateNetworkPolicy.missing()))...)
	mode := networkMode(p)
	errs = append(errs, notIn("RC-013", policyPath.Child("mode"), mode,
		rayv1.NetworkPolicyDenyAll, rayv1.NetworkPolicyDenyAllIngress, rayv1.NetworkPolicyDenyAllEgress)...)
	if p.Head != nil {
		errs = append(errs, validatePolicyRules(p.Head, mode, policyPath.Child("head"), "RC-098", "RC-099")...)
	}
	if p.Worker != nil {
		errs = append(errs, validatePolicyRules(p.Worker, mode, policyPath.Child("worker"), "RC-100", "RC-101")...)
	}
	groups := make(map[string]bool, len(c.spec.WorkerGroupSpecs))
	for i := range c.spec.WorkerGroupSpecs {
		name := c.spec.WorkerGroupSpecs[i].GroupName
		groups[name] = true
		if len(validation.IsDNS1123Label(name)) > 0 {
			errs = append(errs, invalid("RC-102", path.Child("workerGroupSpecs").Index(i).Child("groupName"), name,
				"becomes part of the name of a NetworkPolicy; use at most 63 lower-case letters, digits and dashes"))
		}
	}
	return append(errs, validatePolicyGroups(p, groups, mode, policyPath.Child("workerGroups"))...)
}

func validatePolicyGroups(p *rayv1.NetworkPolicyConfig, groups map[string]bool, mode rayv1.NetworkPolicyMode, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	seen := make(map[string]bool, len(p.WorkerGroups))
	for k := range p.WorkerGroups {
		g, namePath := &p.WorkerGroups[k], path.Index(k).Child("groupName")
		switch {
		case seen[g.GroupName]:
			errs = append(errs, duplicate("RC-014", namePath, g.GroupName, "put all rules of a group into one entry"))
		case !groups[g.GroupName]:
			errs = append(errs, invalid("RC-105", namePath, g.GroupName, "must be the groupName of an entry of workerGroupSpecs"))
		}
		seen[g.GroupName] = true
		errs = append(errs, validatePolicyRules(&g.NetworkPolicyRules, mode, path.Index(k), "RC-103", "RC-104")...)
	}
	return errs
}

// validatePolicyRules refuses exceptions from a denial that the mode does not make.
func validatePolicyRules(r *rayv1.NetworkPolicyRules, mode rayv1.NetworkPolicyMode, path *field.Path, ingressID, egressID string) field.ErrorList {
	var errs field.ErrorList
	if mode == rayv1.NetworkPolicyDenyAllEgress && len(r.IngressRules) > 0 {
		errs = append(errs, forbidden(ingressID, path.Child("ingressRules"), "mode DenyAllEgress lets all traffic in; remove the rules, or use DenyAll"))
	}
	if mode == rayv1.NetworkPolicyDenyAllIngress && len(r.EgressRules) > 0 {
		errs = append(errs, forbidden(egressID, path.Child("egressRules"), "mode DenyAllIngress lets all traffic out; remove the rules, or use DenyAll"))
	}
	return errs
}

// warnNetworkPolicy tells of Pods that cannot resolve names: workers find the head by its name.
func warnNetworkPolicy(c *cluster, path *field.Path) field.ErrorList {
	p := c.spec.NetworkPolicy
	if p == nil || networkMode(p) == rayv1.NetworkPolicyDenyAllIngress {
		return nil
	}
	path = path.Child("networkPolicy")
	const remedy = "no rule lets the Pods reach DNS; allow port 53, UDP and TCP"
	var warnings field.ErrorList
	if !reachesDNS(p.Head) {
		warnings = append(warnings, required("RC-566", path.Child("head", "egressRules"), remedy))
	}
	own := make(map[string]bool, len(p.WorkerGroups))
	for k := range p.WorkerGroups {
		own[p.WorkerGroups[k].GroupName] = true
		if !reachesDNS(&p.WorkerGroups[k].NetworkPolicyRules) {
			warnings = append(warnings, required("RC-566", path.Child("workerGroups").Index(k).Child("egressRules"), remedy))
		}
	}
	for i := range c.spec.WorkerGroupSpecs {
		if !own[c.spec.WorkerGroupSpecs[i].GroupName] && !reachesDNS(p.Worker) {
			return append(warnings, required("RC-566", path.Child("worker", "egressRules"), remedy))
		}
	}
	return warnings
}

func reachesDNS(r *rayv1.NetworkPolicyRules) bool {
	if r == nil {
		return false
	}
	for _, rule := range r.EgressRules {
		if len(rule.Ports) == 0 {
			return true
		}
		if slices.ContainsFunc(rule.Ports, coversDNS) {
			return true
		}
	}
	return false
}

func coversDNS(p networkingv1.NetworkPolicyPort) bool {
	const dns = 53
	switch {
	case p.Protocol != nil && *p.Protocol != corev1.ProtocolUDP && *p.Protocol != corev1.ProtocolTCP:
		return false
	case p.Port == nil:
		return true
	case p.Port.Type == intstr.String:
		return strings.Contains(p.Port.StrVal, "dns")
	case p.EndPort != nil:
		return p.Port.IntVal <= dns && dns <= *p.EndPort
	}
	return p.Port.IntVal == dns
}
