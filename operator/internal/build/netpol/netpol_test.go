package netpol

import (
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/golden"
	"github.com/raygate/raygate/internal/testing/raytest"
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

// TestTheSubmitterGetsIn: only what a RayJob in the mode K8sJobMode controls lets a submitter in, at the port of the dashboard.
func TestTheSubmitterGetsIn(t *testing.T) {
	owner := func(apiVersion, kind string, controller bool) metav1.OwnerReference {
		return metav1.OwnerReference{APIVersion: apiVersion, Kind: kind, Name: "train", Controller: &controller}
	}
	cases := map[string]struct {
		mode     rayv1.JobSubmissionMode
		owner    metav1.OwnerReference
		params   map[string]string
		wantPort int // 0 for nobody
	}{
		"a RayJob":                      {rayv1.K8sJobMode, owner("ray.io/v1", "RayJob", true), nil, 8265},
		"a RayJob of another version":   {rayv1.K8sJobMode, owner("ray.io/v1alpha1", "RayJob", true), nil, 8265},
		"with a port of its own":        {rayv1.K8sJobMode, owner("ray.io/v1", "RayJob", true), map[string]string{"dashboard-port": "8266"}, 8266},
		"with a port that is none":      {rayv1.K8sJobMode, owner("ray.io/v1", "RayJob", true), map[string]string{"dashboard-port": "http"}, 8265},
		"with a port beyond all ports":  {rayv1.K8sJobMode, owner("ray.io/v1", "RayJob", true), map[string]string{"dashboard-port": "4294967296"}, 8265},
		"another mode":                  {rayv1.HTTPMode, owner("ray.io/v1", "RayJob", true), nil, 0},
		"no mode":                       {"", owner("ray.io/v1", "RayJob", true), nil, 0},
		"a RayJob that does not govern": {rayv1.K8sJobMode, owner("ray.io/v1", "RayJob", false), nil, 0},
		"a RayService":                  {rayv1.K8sJobMode, owner("ray.io/v1", "RayService", true), nil, 0},
		"a RayJob of somebody else":     {rayv1.K8sJobMode, owner("xray.io/v1", "RayJob", true), nil, 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			rc := raytest.RayCluster("ns/demo", raytest.HeadParams(tc.params), raytest.Labels(map[string]string{rayv1.LabelJobSubmissionMode: string(tc.mode)}),
				raytest.Spec(func(s *rayv1.RayClusterSpec) { s.NetworkPolicy = &rayv1.NetworkPolicyConfig{} }))
			rc.OwnerReferences = []metav1.OwnerReference{tc.owner}
			got := 0
			for _, r := range Head(rc).Spec.Ingress[1:] {
				got += r.Ports[0].Port.IntValue()
			}
			if got != tc.wantPort {
				t.Errorf("a submitter gets in at port %d, want %d", got, tc.wantPort)
			}
		})
	}
}
