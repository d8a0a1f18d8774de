package netpol

import (
	"testing"

	networkingv1 "k8s.io/api/networking/v1"

	rayv1 "github.com/raygate/raygate/operator/api/ray/v1"
	"github.com/raygate/raygate/test/golden"
	"github.com/raygate/raygate/test/raytest"
)

func TestGolden(t *testing.T) { golden.Run(t, Policies) }

func FuzzBuild(f *testing.F) {
	golden.Fuzz(f, func(rc *rayv1.RayCluster) []*networkingv1.NetworkPolicy {
		return append(Policies(rc), Head(rc), Group(rc, "gone"))
	})
}

func TestOneGroupsRulesTakeThePlaceOfTheCommonOnes(t *testing.T) {
	open := []networkingv1.NetworkPolicyEgressRule{{}}
	rc := raytest.RayCluster("ns/demo", raytest.Workers("a", 1), raytest.Workers("b", 1), raytest.Spec(func(s *rayv1.RayClusterSpec) {
		s.NetworkPolicy = &rayv1.NetworkPolicyConfig{
			Worker:       &rayv1.NetworkPolicyRules{EgressRules: open},
			WorkerGroups: []rayv1.WorkerGroupNetworkPolicyRules{{GroupName: "b"}},
		}
	}))
	for group, want := range map[string]int{"a": 2, "b": 1, "no longer in the spec": 2} {
		if got := len(Group(rc, group).Spec.Egress); got != want {
			t.Errorf("group %s has %d egress rules, want %d", group, got, want)
		}
	}
}
