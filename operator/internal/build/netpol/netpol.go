// Package netpol builds the NetworkPolicies of a RayCluster: one for the head and one per worker group.
package netpol

import (
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/child"
	"github.com/raygate/raygate/operator/internal/build/names"
)

// Policies builds the policies of the cluster: first that of the head, then one per worker group in the order of the spec. It
// returns none without spec.networkPolicy. Traffic between the Pods of the cluster is always allowed. Names and rules are those of
// KubeRay 1.7, which also adds no rule for DNS.
func Policies(rc *rayv1.RayCluster) []*networkingv1.NetworkPolicy {
	c := rc.Spec.NetworkPolicy
	if c == nil {
		return nil
	}
	list := []*networkingv1.NetworkPolicy{Head(rc)}
	for i := range rc.Spec.WorkerGroupSpecs {
		list = append(list, Group(rc, rc.Spec.WorkerGroupSpecs[i].GroupName))
	}
	return list
}

// Head builds the policy of the head Pod. It also admits the submitter of the RayJob that owns the cluster.
func Head(rc *rayv1.RayCluster) *networkingv1.NetworkPolicy {
	var own rayv1.NetworkPolicyRules
	if c := rc.Spec.NetworkPolicy; c != nil && c.Head != nil {
		own = *c.Head
	}
	p := policy(rc, names.HeadNetworkPolicy(rc.Name), rayv1.HeadGroupName, map[string]string{
		rayv1.LabelCluster: rc.Name, rayv1.LabelNodeType: string(rayv1.HeadNode),
	})
	fill(p, rc, submitter(rc), own)
	return p
}

// Group builds the policy of a worker group. For a group that is not in the spec, it uses the rules of all workers.
func Group(rc *rayv1.RayCluster, group string) *networkingv1.NetworkPolicy {
	var own rayv1.NetworkPolicyRules
	if c := rc.Spec.NetworkPolicy; c != nil {
		if c.Worker != nil {
			own = *c.Worker
		}
		for i := range c.WorkerGroups {
			if c.WorkerGroups[i].GroupName == group {
				own = c.WorkerGroups[i].NetworkPolicyRules // replaces the common rules
				break
			}
		}
	}
	p := policy(rc, names.WorkersNetworkPolicy(rc.Name, group), group, map[string]string{
		rayv1.LabelCluster: rc.Name, rayv1.LabelNodeType: string(rayv1.WorkerNode), rayv1.LabelGroup: group,
	})
	fill(p, rc, nil, own)
	return p
}

func policy(rc *rayv1.RayCluster, name, group string, pods map[string]string) *networkingv1.NetworkPolicy {
	labels := child.Labels(rc)
	labels[rayv1.LabelGroup] = group
	return &networkingv1.NetworkPolicy{
		ObjectMeta: child.Meta(rc, name, labels),
		Spec:       networkingv1.NetworkPolicySpec{PodSelector: metav1.LabelSelector{MatchLabels: pods}},
	}
}

// fill adds the rules for the directions that the mode restricts.
func fill(p *networkingv1.NetworkPolicy, rc *rayv1.RayCluster, more []networkingv1.NetworkPolicyIngressRule, own rayv1.NetworkPolicyRules) {
	mode := rayv1.NetworkPolicyDenyAll
	if c := rc.Spec.NetworkPolicy; c != nil && c.Mode != nil && *c.Mode != "" {
		mode = *c.Mode
	}
	ownPods := []networkingv1.NetworkPolicyPeer{peer(map[string]string{rayv1.LabelCluster: rc.Name})}
	own = *own.DeepCopy()
	if mode != rayv1.NetworkPolicyDenyAllEgress {
		p.Spec.PolicyTypes = append(p.Spec.PolicyTypes, networkingv1.PolicyTypeIngress)
		p.Spec.Ingress = append([]networkingv1.NetworkPolicyIngressRule{{From: ownPods}}, more...)
		for _, r := range own.IngressRules {
			p.Spec.Ingress = append(p.Spec.Ingress, networkingv1.NetworkPolicyIngressRule{From: r.From, Ports: withProtocol(r.Ports)})
		}
	}
	if mode != rayv1.NetworkPolicyDenyAllIngress {
		p.Spec.PolicyTypes = append(p.Spec.PolicyTypes, networkingv1.PolicyTypeEgress)
		p.Spec.Egress = []networkingv1.NetworkPolicyEgressRule{{To: ownPods}}
		for _, r := range own.EgressRules {
			p.Spec.Egress = append(p.Spec.Egress, networkingv1.NetworkPolicyEgressRule{To: r.To, Ports: withProtocol(r.Ports)})
		}
	}
}

// withProtocol sets the protocol that the API server would default, so that wanted and found policies are comparable. It modifies
// ports, which must be a copy.
func withProtocol(ports []networkingv1.NetworkPolicyPort) []networkingv1.NetworkPolicyPort {
	for i := range ports {
		if ports[i].Protocol == nil {
			ports[i].Protocol = new(corev1.ProtocolTCP)
		}
	}
	return ports
}

// submitter admits the Pod that submits the RayJob of the cluster.
func submitter(rc *rayv1.RayCluster) []networkingv1.NetworkPolicyIngressRule {
	if rc.Labels[rayv1.LabelJobSubmissionMode] != string(rayv1.K8sJobMode) {
		return nil
	}
	owner := metav1.GetControllerOf(rc)
	if owner == nil || owner.Kind != "RayJob" || !strings.HasPrefix(owner.APIVersion, rayv1.GroupVersion.Group+"/") {
		return nil
	}
	port := rayv1.DefaultDashboardPort
	if n, err := strconv.ParseInt(rc.Spec.HeadGroupSpec.RayStartParams["dashboard-port"], 10, 32); err == nil {
		port = int32(n)
	}
	return []networkingv1.NetworkPolicyIngressRule{{
		From: []networkingv1.NetworkPolicyPeer{peer(map[string]string{
			rayv1.LabelOriginatedFromCRName: owner.Name, rayv1.LabelOriginatedFromCRD: "RayJob",
		})},
		Ports: []networkingv1.NetworkPolicyPort{{Protocol: new(corev1.ProtocolTCP), Port: new(intstr.FromInt32(port))}},
	}}
}

func peer(pods map[string]string) networkingv1.NetworkPolicyPeer {
	return networkingv1.NetworkPolicyPeer{PodSelector: &metav1.LabelSelector{MatchLabels: pods}}
}
