package v1_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

func TestSetRayClusterDefaults(t *testing.T) {
	one := func() *rayv1.RayCluster {
		return &rayv1.RayCluster{Spec: rayv1.RayClusterSpec{WorkerGroupSpecs: []rayv1.WorkerGroupSpec{{GroupName: "g"}}}}
	}
	cases := map[string]struct {
		change func(*rayv1.RayCluster)
		want   func(*rayv1.RayCluster)
	}{
		"an empty group": {},
		"given values stay": {
			change: func(rc *rayv1.RayCluster) {
				g := &rc.Spec.WorkerGroupSpecs[0]
				g.Replicas, g.MinReplicas, g.MaxReplicas, g.NumOfHosts, g.Priority = new(int32(3)), new(int32(2)), new(int32(9)), 4, new(int32(5))
			},
			want: func(rc *rayv1.RayCluster) {
				g := &rc.Spec.WorkerGroupSpecs[0]
				g.Replicas, g.MinReplicas, g.MaxReplicas, g.NumOfHosts, g.Priority = new(int32(3)), new(int32(2)), new(int32(9)), 4, new(int32(5))
			},
		},
		"a network policy gets a mode": {
			change: func(rc *rayv1.RayCluster) { rc.Spec.NetworkPolicy = &rayv1.NetworkPolicyConfig{} },
			want: func(rc *rayv1.RayCluster) {
				rc.Spec.NetworkPolicy = &rayv1.NetworkPolicyConfig{Mode: new(rayv1.NetworkPolicyDenyAll)}
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, want := one(), one()
			g := &want.Spec.WorkerGroupSpecs[0]
			g.Replicas, g.MinReplicas, g.MaxReplicas, g.NumOfHosts, g.Priority = new(int32(0)), new(int32(0)), new(int32(2147483647)), 1, new(int32(0))
			if tc.change != nil {
				tc.change(got)
				tc.want(want)
			}
			rayv1.SetRayClusterDefaults(got)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("defaults (-want +got):\n%s", diff)
			}
		})
	}
}
