package cluster

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/pkg/validation/cel"
	"github.com/raygate/raygate/pkg/validation/rule"
)

var rc097 = rule.New(rule.Rule{ID: "RC-097", Field: "networkPolicy", Condition: "set and gate RayClusterNetworkPolicy off (warning where that is not known)", Peer: rule.BySpec, Mixed: true, Depends: "gate RayClusterNetworkPolicy"})
var rc013 = rule.NewEnum(rule.Rule{ID: "RC-013", Field: "networkPolicy.mode", Peer: rule.BySchema, Marker: rule.InSchema}, rayv1.NetworkPolicyDenyAll, rayv1.NetworkPolicyDenyAllIngress, rayv1.NetworkPolicyDenyAllEgress)
var rc098 = rule.New(rule.Rule{ID: "RC-098", Field: "networkPolicy.head.ingressRules", Condition: "mode DenyAllEgress and non-empty", Peer: rule.BySpec, Reads: []string{"networkPolicy.mode"},
	CEL: []rule.CEL{cel.Exceptions("head", "ingressRules", "DenyAllEgress", cel.LetsIn)}})
var rc099 = rule.New(rule.Rule{ID: "RC-099", Field: "networkPolicy.head.egressRules", Condition: "mode DenyAllIngress and non-empty", Peer: rule.BySpec, Reads: []string{"networkPolicy.mode"},
	CEL: []rule.CEL{cel.Exceptions("head", "egressRules", "DenyAllIngress", cel.LetsOut)}})
var rc100 = rule.New(rule.Rule{ID: "RC-100", Field: "networkPolicy.worker.ingressRules", Condition: "mode DenyAllEgress and non-empty", Peer: rule.BySpec, Reads: []string{"networkPolicy.mode"},
	CEL: []rule.CEL{cel.Exceptions("worker", "ingressRules", "DenyAllEgress", cel.LetsIn)}})
var rc101 = rule.New(rule.Rule{ID: "RC-101", Field: "networkPolicy.worker.egressRules", Condition: "mode DenyAllIngress and non-empty", Peer: rule.BySpec, Reads: []string{"networkPolicy.mode"},
	CEL: []rule.CEL{cel.Exceptions("worker", "egressRules", "DenyAllIngress", cel.LetsOut)}})
var rc102 = rule.New(rule.Rule{ID: "RC-102", Field: "workerGroupSpecs[i].groupName", Condition: "networkPolicy set and not a DNS-1123 label", Peer: rule.BySpec,
	Remedy:   "becomes part of the name of a NetworkPolicy; use at most 63 lower-case letters, digits and dashes",
	Policies: []rule.Policy{{EachGroup: true, Field: ".groupName", Valid: "!has(cluster.networkPolicy) || (g.groupName.size() <= 63 && g.groupName.matches('" + cel.DNS1123Label + "'))"}}})

func checkNetworkPolicy(out *rule.Report, c *Spec, path *field.Path) {
	p := c.Spec.NetworkPolicy
	if p == nil {
		return
	}
	policyPath := path.Child("networkPolicy")
	out.Without(rule.GateNetworkPolicy, c.Options).Forbidden(rc097, policyPath, rule.GateNetworkPolicy.Missing())
	mode := ptr.Deref(p.Mode, rayv1.NetworkPolicyDenyAll)
	checkDNS(out, c, mode, policyPath)
	rc013.Check(out, policyPath.Child("mode"), mode)
	if p.Head != nil {
		exceptions{rc098, rc099}.check(out, p.Head, mode, policyPath.Child("head"))
	}
	if p.Worker != nil {
		exceptions{rc100, rc101}.check(out, p.Worker, mode, policyPath.Child("worker"))
	}
	groups := make(map[string]bool, len(c.Spec.WorkerGroupSpecs))
	for i := range c.Spec.WorkerGroupSpecs {
		name := c.Spec.WorkerGroupSpecs[i].GroupName
		groups[name] = true
		out.When(len(validation.IsDNS1123Label(name)) > 0).Invalid(rc102, path.Child("workerGroupSpecs").Index(i).Child("groupName"), name)
	}
	checkPolicyGroups(out, p, groups, mode, policyPath.Child("workerGroups"))
}

var rc014 = rule.New(rule.Rule{ID: "RC-014", Field: "networkPolicy.workerGroups", Condition: "groupName repeated", Peer: rule.BySchema, Remedy: "put all rules of a group into one entry",
	Marker: rule.InSchema})
var rc103 = rule.New(rule.Rule{ID: "RC-103", Field: "networkPolicy.workerGroups[k].ingressRules", Condition: "mode DenyAllEgress and non-empty", Peer: rule.BySpec, Reads: []string{"networkPolicy.mode"},
	CEL: []rule.CEL{cel.GroupExceptions("ingressRules", "DenyAllEgress", cel.LetsIn)}})
var rc104 = rule.New(rule.Rule{ID: "RC-104", Field: "networkPolicy.workerGroups[k].egressRules", Condition: "mode DenyAllIngress and non-empty", Peer: rule.BySpec, Reads: []string{"networkPolicy.mode"},
	CEL: []rule.CEL{cel.GroupExceptions("egressRules", "DenyAllIngress", cel.LetsOut)}})
var rc105 = rule.New(rule.Rule{ID: "RC-105", Field: "networkPolicy.workerGroups[k].groupName", Condition: "no worker group of that name", Peer: rule.BySpec,
	Remedy: "must be the groupName of an entry of workerGroupSpecs",
	Policies: []rule.Policy{{Field: ".networkPolicy.workerGroups", Valid: "cluster.?networkPolicy.?workerGroups.orValue([]).all(p, cluster.?workerGroupSpecs.orValue([]).exists(w, w.groupName == p.groupName))",
		Says: "groupName must be that of an entry of workerGroupSpecs"}}})

func checkPolicyGroups(out *rule.Report, p *rayv1.NetworkPolicyConfig, groups map[string]bool, mode rayv1.NetworkPolicyMode, path *field.Path) {
	seen := make(map[string]bool, len(p.WorkerGroups))
	for k := range p.WorkerGroups {
		g, namePath := &p.WorkerGroups[k], path.Index(k).Child("groupName")
		switch {
		case seen[g.GroupName]:
			out.Duplicate(rc014, namePath, g.GroupName)
		case !groups[g.GroupName]:
			out.Invalid(rc105, namePath, g.GroupName)
		}
		seen[g.GroupName] = true
		exceptions{rc103, rc104}.check(out, &g.NetworkPolicyRules, mode, path.Index(k))
	}
}

// exceptions are the rules on exceptions from a denial that the mode does not make.
type exceptions struct{ ingress, egress *rule.Rule }

func (e exceptions) check(out *rule.Report, r *rayv1.NetworkPolicyRules, mode rayv1.NetworkPolicyMode, path *field.Path) {
	out.When(mode == rayv1.NetworkPolicyDenyAllEgress && len(r.IngressRules) > 0).Forbidden(e.ingress, path.Child("ingressRules"), "mode DenyAllEgress lets all traffic in; remove the rules, or use DenyAll")
	out.When(mode == rayv1.NetworkPolicyDenyAllIngress && len(r.EgressRules) > 0).Forbidden(e.egress, path.Child("egressRules"), "mode DenyAllIngress lets all traffic out; remove the rules, or use DenyAll")
}

var rc566 = rule.New(rule.Rule{ID: "RC-566", Field: "networkPolicy", Condition: "mode DenyAll or DenyAllEgress and no egress rule that can reach port 53 (head and each group)"})

// checkDNS reports Pods that cannot resolve names: workers find the head by its name.
func checkDNS(out *rule.Report, c *Spec, mode rayv1.NetworkPolicyMode, path *field.Path) {
	p := c.Spec.NetworkPolicy
	if mode == rayv1.NetworkPolicyDenyAllIngress {
		return
	}
	const remedy = "no rule lets the Pods reach DNS; allow port 53, UDP and TCP"
	out.When(!reachesDNS(p.Head)).Required(rc566, path.Child("head", "egressRules"), remedy)
	own := make(map[string]bool, len(p.WorkerGroups))
	for k := range p.WorkerGroups {
		own[p.WorkerGroups[k].GroupName] = true
		out.When(!reachesDNS(&p.WorkerGroups[k].NetworkPolicyRules)).Required(rc566, path.Child("workerGroups").Index(k).Child("egressRules"), remedy)
	}
	for i := range c.Spec.WorkerGroupSpecs {
		if !own[c.Spec.WorkerGroupSpecs[i].GroupName] && !reachesDNS(p.Worker) {
			out.Required(rc566, path.Child("worker", "egressRules"), remedy)
			return
		}
	}
}

func reachesDNS(r *rayv1.NetworkPolicyRules) bool {
	return r != nil && slices.ContainsFunc(r.EgressRules, func(e networkingv1.NetworkPolicyEgressRule) bool {
		return len(e.Ports) == 0 || slices.ContainsFunc(e.Ports, coversDNS)
	})
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
