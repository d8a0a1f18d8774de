package raycluster

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/netpol"
	"github.com/raygate/raygate/operator/internal/children"
	"github.com/raygate/raygate/operator/internal/owned"
	"github.com/raygate/raygate/operator/internal/reconcile"
)

// networkPolicies fences the Pods off, before the first of them is made. A policy that the API server refuses, or whose name is taken,
// holds up no Pod: under KubeRay such a cluster runs.
type networkPolicies struct {
	client   client.Client
	children *children.Writer
	enabled  bool
}

// +kubebuilder:rbac:groups=networking.k8s.io,resources=networkpolicies,verbs=get;list;watch;create;patch;delete

// Run implements reconcile.Step.
func (n *networkPolicies) Run(ctx context.Context, s *scope) (reconcile.Outcome, error) {
	rc := s.cluster
	if rc.Spec.NetworkPolicy != nil && !n.enabled {
		return reconcile.Outcome{}, nil
	}
	var existing networkingv1.NetworkPolicyList
	if err := owned.List(ctx, n.client, rc, &existing); err != nil {
		s.errs = append(s.errs, fmt.Errorf("listing NetworkPolicies: %w", err))
		return reconcile.Outcome{}, nil
	}
	known := map[string]bool{}
	for _, p := range n.wanted(s, existing.Items) {
		known[p.Name] = true
		r := n.children.Ensure(ctx, rc, children.Child{Desired: p})
		if r.Failure != nil && r.Failure.Taken {
			s.facts.ForeignNetworkPolicies = append(s.facts.ForeignNetworkPolicies, p.Name) // rule RC-122 tells of it
			r.Failure = nil
		}
		if r.Err != nil && r.Object == nil {
			s.hold(fmt.Sprintf("NetworkPolicy %s could not be made yet", p.Name))
		}
		s.dependent(r)
	}
	for i := range existing.Items {
		if p := &existing.Items[i]; !known[p.Name] {
			s.dependent(n.children.Remove(ctx, rc, p))
		}
	}
	return reconcile.Outcome{}, nil
}

// wanted are the policies that the spec asks for, and those of groups that left it and still have Pods: KubeRay leaves such Pods
// without a fence.
func (n *networkPolicies) wanted(s *scope, existing []networkingv1.NetworkPolicy) []*networkingv1.NetworkPolicy {
	wanted := netpol.Policies(s.cluster)
	if len(wanted) == 0 {
		return nil
	}
	known := map[string]bool{}
	for _, p := range wanted {
		known[p.Name] = true
	}
	for i := range existing {
		group := existing[i].Labels[rayv1.LabelGroup]
		late := netpol.Group(s.cluster, group)
		if !known[existing[i].Name] && late.Name == existing[i].Name && hasWorkers(s.pods, group) {
			wanted = append(wanted, late)
		}
	}
	return wanted
}

func hasWorkers(pods []*corev1.Pod, group string) bool {
	for _, p := range pods {
		if inGroup(p, group) {
			return true
		}
	}
	return false
}
