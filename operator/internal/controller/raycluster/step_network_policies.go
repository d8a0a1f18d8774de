package raycluster

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/netpol"
	"github.com/raygate/raygate/operator/internal/children"
	"github.com/raygate/raygate/operator/internal/ownerref"
)

// +kubebuilder:rbac:groups=networking.k8s.io,resources=networkpolicies,verbs=get;list;watch;create;patch;delete

// networkPolicies creates the policies before the first Pod. A policy that the API server rejects, or whose name is taken, does
// not block Pods: under KubeRay such a cluster runs.
func (r *Reconciler) networkPolicies(ctx context.Context, s *scope) {
	rc := s.cluster
	if rc.Spec.NetworkPolicy != nil && !r.config.NetworkPolicies {
		return
	}
	var existing networkingv1.NetworkPolicyList
	if err := ownerref.List(ctx, r.config.Client, rc, &existing); err != nil {
		s.errs = append(s.errs, fmt.Errorf("listing NetworkPolicies: %w", err))
		return
	}
	known := map[string]bool{}
	for _, p := range wantedPolicies(s, existing.Items) {
		known[p.Name] = true
		result := r.children.Ensure(ctx, rc, children.Child{Desired: p})
		if result.Failure != nil && result.Failure.Taken {
			s.facts.ForeignNetworkPolicies = append(s.facts.ForeignNetworkPolicies, p.Name) // validation.RuleNetworkPolicyNames reports it
			result.Failure = nil
		}
		if result.Err != nil && result.Object == nil {
			s.hold(fmt.Sprintf("NetworkPolicy %s could not be made yet", p.Name))
		}
		s.dependent(result)
	}
	for i := range existing.Items {
		if p := &existing.Items[i]; !known[p.Name] {
			s.dependent(r.children.Remove(ctx, rc, p))
		}
	}
}

// wantedPolicies returns the policies of the spec, and those of removed groups that still have Pods. KubeRay leaves such Pods
// without a policy.
func wantedPolicies(s *scope, existing []networkingv1.NetworkPolicy) []*networkingv1.NetworkPolicy {
	wanted := netpol.Policies(s.cluster)
	if len(wanted) == 0 {
		return nil
	}
	for i := range existing {
		group := existing[i].Labels[rayv1.LabelGroup]
		late := netpol.Group(s.cluster, group)
		known := slices.ContainsFunc(wanted, func(p *networkingv1.NetworkPolicy) bool { return p.Name == late.Name })
		hasWorkers := func(p *corev1.Pod) bool { return inGroup(p, group) }
		if !known && late.Name == existing[i].Name && slices.ContainsFunc(s.pods, hasWorkers) {
			wanted = append(wanted, late)
		}
	}
	return wanted
}
