package plan_test

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/raygate/raygate/pkg/devices/plan"
	"github.com/raygate/raygate/pkg/devices/shipped"
)

func mustRead(t testing.TB) []byte {
	t.Helper()
	return shipped.HAMi
}

// totals are what a Pod takes of a count, memory and cores.
func totals(r *plan.Result, count, memory, cores string) string {
	d := r.Demand.Totals
	return fmt.Sprintf("%d / %d / %d", d[count], d[memory], d[cores])
}

func nvidia(r *plan.Result) string {
	return totals(r, "nvidia.com/gpu", "nvidia.com/gpumem", "nvidia.com/gpucores")
}

// TestDemand: the last column of the worked examples.
func TestDemand(t *testing.T) {
	p := hami(t)
	for asks, want := range map[string]string{
		"nvidia.com/gpu=2 nvidia.com/gpumem=4096 nvidia.com/gpucores=30": "2 / 8192 / 60",
		"nvidia.com/gpu=1":                                 "1 / 0 / 100",
		"nvidia.com/gpumem=3000":                           "1 / 3000 / 0",
		"nvidia.com/gpucores=30":                           "1 / 0 / 30",
		"nvidia.com/gpu=1 nvidia.com/gpumem-percentage=50": "1 / 0 / 0",
		"nvidia.com/gpumem-percentage=100":                 "1 / 0 / 100",
		"nvidia.com/gpu=0":                                 "0 / 0 / 0",
	} {
		if got := nvidia(planOf(t, p, pod(limits("ray", asks)))); got != want {
			t.Errorf("%s: %s, want %s", asks, got, want)
		}
	}
	r := planOf(t, p, pod(limits("ray", "huawei.com/Ascend910B3=1 huawei.com/Ascend910B3-memory=5k")))
	if got := totals(r, "huawei.com/Ascend910B3", "huawei.com/Ascend910B3-memory", "x"); got != "1 / 16384 / 0" {
		t.Errorf("Ascend: %s", got)
	}
}

// TestDemandOfContainers: sidecars run next to the app, other init containers before it.
func TestDemandOfContainers(t *testing.T) {
	p := hami(t)
	gpu := func(n int, sidecar bool) m {
		c := limits(fmt.Sprint("c", n, sidecar), fmt.Sprint("nvidia.com/gpu=1 nvidia.com/gpumem=", n))
		if sidecar {
			c["restartPolicy"] = "Always"
		}
		return c
	}
	cases := map[string]struct {
		init, app []m
		want      string
	}{
		"app and app":              {app: []m{gpu(3000, false), gpu(2000, false)}, want: "2 / 5000 / 0"},
		"sidecar and app":          {init: []m{gpu(3000, true)}, app: []m{gpu(3001, false)}, want: "2 / 6001 / 0"},
		"init and app":             {init: []m{gpu(3000, false)}, app: []m{gpu(3001, false)}, want: "1 / 3001 / 0"},
		"greater init":             {init: []m{gpu(4000, false), gpu(100, false)}, app: []m{gpu(3001, false)}, want: "1 / 4000 / 0"},
		"init after a sidecar":     {init: []m{gpu(1000, true), gpu(4000, false)}, app: []m{gpu(3001, false)}, want: "2 / 5000 / 0"},
		"init before a sidecar":    {init: []m{gpu(4000, false), gpu(1000, true)}, app: []m{gpu(2000, false)}, want: "2 / 4000 / 0"},
		"app that says Always too": {app: []m{gpu(1000, true), gpu(1, false)}, want: "2 / 1001 / 0"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			in := pod(tc.app...)
			in["spec"].(m)["initContainers"] = pod(tc.init...)["spec"].(m)["containers"]
			if got := nvidia(planOf(t, p, in)); got != tc.want {
				t.Errorf("%s, want %s", got, tc.want)
			}
		})
	}
}

// TestPercentDemand: how much memory a share is.
func TestPercentDemand(t *testing.T) {
	family := func(quota string) *plan.Program {
		return registry(t, head+"vendors:\n- {name: a, resources: {count: nvidia.com/gpu, memory: nvidia.com/gpumem, memoryPercent: a.io/p, cores: nvidia.com/gpucores}, quota: "+quota+"}\n")
	}
	share, whole := pod(limits("c", "nvidia.com/gpu=4 a.io/p=50")), pod(limits("c", "nvidia.com/gpu=2"))
	for quota, want := range map[string]struct {
		share, whole string
		unsized      int
		deny         bool
	}{
		"{}":              {"4 / 0 / 0", "2 / 0 / 0", 1, false},
		"{percent: Warn}": {"4 / 0 / 0", "2 / 0 / 0", 1, false},
		"{percent: Deny}": {"4 / 0 / 0", "2 / 0 / 0", 1, true},
		"{percent: Assume, wholeDeviceMiB: 81559}":    {"4 / 163120 / 0", "2 / 163118 / 0", 0, false},
		"{memory: false}":                             {"4 / 0 / 0", "2 / 0 / 0", 0, false},
		"{memory: false, cores: false, count: false}": {"0 / 0 / 0", "0 / 0 / 0", 0, false},
		"{coresWhenAbsent: 100, percent: Warn}":       {"4 / 0 / 400", "2 / 0 / 200", 1, false},
	} {
		p := family(quota)
		for name, in := range map[string]m{want.share: share, want.whole: whole} {
			r := planOf(t, p, in)
			if got := nvidia(r); got != name || len(r.Demand.Unsized) != want.unsized || want.unsized > 0 && r.Demand.Unsized[0].Deny != want.deny {
				t.Errorf("%s: %s %v, want %s", quota, got, r.Demand.Unsized, name)
			}
		}
	}
}

// TestCoresCountOnce: HAMi charges two cards of 100 cores with 400.
func TestCoresCountOnce(t *testing.T) {
	r := planOf(t, hami(t), pod(limits("c", "iluvatar.ai/MR-V100-vgpu=2 iluvatar.ai/MR-V100.vMem=4")))
	if got := totals(r, "iluvatar.ai/MR-V100-vgpu", "iluvatar.ai/MR-V100.vMem", "iluvatar.ai/MR-V100.vCore"); got != "2 / 2048 / 200" {
		t.Errorf("got %s", got)
	}
	r = planOf(t, hami(t), pod(limits("c", "mthreads.com/vgpu=2")))
	if got := totals(r, "mthreads.com/vgpu", "mthreads.com/sgpu-memory", "mthreads.com/sgpu-core"); got != "2 / 98304 / 32" {
		t.Errorf("Moore Threads: %s", got)
	}
	r = planOf(t, hami(t), pod(limits("c", "enflame.com/drs-gcu=3")))
	if got := totals(r, "enflame.com/drs-gcu", "enflame.com/gcu-memory", "enflame.com/gcu-core"); got != "3 / 0 / 0" {
		t.Errorf("Enflame: %s", got)
	}
}

// TestHard: the unit of a quota is that of the Pods.
func TestHard(t *testing.T) {
	p := hami(t)
	for _, tc := range []struct {
		name, text string
		want       int64
		exact, ok  bool
	}{
		{"nvidia.com/gpumem", "8192", 8192, true, true},
		{"nvidia.com/gpumem", "8k", 8000, true, true},
		{"nvidia.com/gpumem", "1500m", 1, false, true},
		{"nvidia.com/gpumem", "1e30", 1 << 60, true, true},
		{"nvidia.com/gpu", "0", 0, true, true},
		{"cambricon.com/mlu.smlu.vmemory", "4", 1024, true, true},
		{"metax-tech.com/vmemory", "16", 16384, true, true},
		{"metax-tech.com/vmemory", "4k", 4096000, true, true},
		{"metax-tech.com/vmemory", "16Gi", 16384, true, true},
		{"metax-tech.com/vmemory", "1048577", 1, false, true},
		{"nvidia.com/gpumem-percentage", "1", 0, false, false},
		{"cpu", "1", 0, false, false},
	} {
		n, exact, ok := p.Hard(tc.name, resource.MustParse(tc.text))
		if n != tc.want || exact != tc.exact || ok != tc.ok {
			t.Errorf("%s %s: %d %t %t, want %d %t %t", tc.name, tc.text, n, exact, ok, tc.want, tc.exact, tc.ok)
		}
	}
}
