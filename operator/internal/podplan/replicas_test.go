package podplan

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/raytest"
	"github.com/raygate/raygate/pkg/devices/claims"
)

func TestCountsOf(t *testing.T) {
	bare := raytest.Group(func(g *rayv1.WorkerGroupSpec) {
		g.Replicas, g.MinReplicas, g.MaxReplicas, g.NumOfHosts = nil, nil, nil, 0
	})
	cases := map[string]struct {
		groups []raytest.ClusterOption
		want   Counts
	}{
		"no groups":                      {want: Counts{}},
		"one group":                      {[]raytest.ClusterOption{raytest.Workers("a", 3, raytest.Bounds(1, 5))}, Counts{3, 1, 5}},
		"hosts multiply":                 {[]raytest.ClusterOption{raytest.Workers("a", 3, raytest.Bounds(1, 5), raytest.Hosts(4))}, Counts{12, 4, 20}},
		"a suspended group is nothing":   {[]raytest.ClusterOption{raytest.Workers("a", 3, raytest.Bounds(1, 5), raytest.SuspendGroup())}, Counts{}},
		"negative numbers are nothing":   {[]raytest.ClusterOption{raytest.Workers("a", -3, raytest.Bounds(-5, -1), raytest.Hosts(-2))}, Counts{}},
		"sums end at the largest number": {[]raytest.ClusterOption{raytest.Workers("a", math.MaxInt32), raytest.Workers("b", math.MaxInt32, raytest.Hosts(8))}, Counts{math.MaxInt32, 0, math.MaxInt32}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, CountsOf(raytest.RayCluster("ns/demo", tc.groups...))); diff != "" {
				t.Errorf("counts (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("an object without defaults", func(t *testing.T) {
		rc := raytest.RayCluster("ns/demo", raytest.Workers("a", 3))
		bare(&rc.Spec.WorkerGroupSpecs[0])
		if diff := cmp.Diff(Counts{0, 0, math.MaxInt32}, CountsOf(rc)); diff != "" {
			t.Errorf("counts (-want +got):\n%s", diff)
		}
	})
}

func TestTotalsOf(t *testing.T) {
	q := resource.MustParse
	rc := raytest.RayCluster("ns/demo",
		raytest.HeadContainer(func(c *corev1.Container) {
			c.Resources.Limits = corev1.ResourceList{"cpu": q("1500m"), "memory": q("2Gi")}
			c.Resources.Requests = corev1.ResourceList{"cpu": q("1"), "memory": q("1Gi")}
		}),
		raytest.Workers("tpu", 9, raytest.Bounds(0, 2), raytest.GroupContainer(func(c *corev1.Container) {
			c.Resources.Requests = nil
			c.Resources.Limits = corev1.ResourceList{"cpu": q("500m"), "memory": q("1Gi"), "nvidia.com/gpu": q("2"), "amd.com/gpu": q("1"), "google.com/tpu": q("4")}
		})),
		raytest.Workers("off", 5, raytest.SuspendGroup()),
	)
	want := Totals{CPU: q("2"), Memory: q("3Gi"), GPU: q("6"), TPU: q("8")}
	if diff := cmp.Diff(want, TotalsOf(rc, nil)); diff != "" {
		t.Errorf("totals (-want +got):\n%s", diff)
	}
}

// TestTotalsOfClaims: devices of templates count for each Pod, those of a shared claim once, and those of suspended groups not at all.
func TestTotalsOfClaims(t *testing.T) {
	rc := raytest.RayCluster("ns/demo", raytest.Workers("gpu", 3, raytest.Bounds(0, 3)), raytest.Workers("off", 5, raytest.SuspendGroup()))
	both := claims.Devices{Pod: claims.Amounts{"GPU": 2, "TPU": 1}, Shared: map[string]claims.Amounts{"shared": {"GPU": 8}}}
	got := TotalsOf(rc, map[string]*claims.Devices{rayv1.HeadGroupName: &both, "gpu": &both, "off": {Pod: claims.Amounts{"GPU": 100}}})
	if got.GPU.Value() != 4*2+8 || got.TPU.Value() != 4 {
		t.Errorf("%s GPUs and %s TPUs", got.GPU.String(), got.TPU.String())
	}
}

func TestMinPods(t *testing.T) {
	for name, tc := range map[string]struct {
		option raytest.GroupOption
		want   int64
	}{
		"hosts multiply":               {raytest.Hosts(4), 8},
		"a suspended group has none":   {raytest.SuspendGroup(), 0},
		"a negative minimum is none":   {raytest.Bounds(-2, 5), 0},
		"a missing minimum is none":    {func(g *rayv1.WorkerGroupSpec) { g.MinReplicas = nil }, 0},
		"a minimum above the replicas": {raytest.Bounds(7, 9), 7},
	} {
		rc := raytest.RayCluster("ns/demo", raytest.Workers("a", 3, raytest.Bounds(2, 5), tc.option))
		if got := MinPods(&rc.Spec.WorkerGroupSpecs[0]); got != tc.want {
			t.Errorf("%s: want %d, got %d", name, tc.want, got)
		}
	}
}
