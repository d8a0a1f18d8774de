package devicequota

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	testclock "k8s.io/utils/clock/testing"

	"github.com/raygate/raygate/pkg/devices/load"
	"github.com/raygate/raygate/pkg/devices/plan"
	"github.com/raygate/raygate/pkg/devices/shipped"
)

// state is an engine and a way to ask it.
type state struct {
	t      *testing.T
	engine *Engine
	live   *load.Live
	clock  *testclock.FakePassiveClock
}

func newState(t *testing.T, registry string) *state {
	t.Helper()
	p, err := load.Registry([]byte(registry))
	if err != nil {
		t.Fatal(err)
	}
	s := &state{t: t, live: load.NewLive(p), clock: testclock.NewFakePassiveClock(time.Unix(0, 0))}
	s.engine = New(Options{Registry: s.live, Clock: s.clock})
	return s
}

func resources(asks string) corev1.ResourceList {
	list := corev1.ResourceList{}
	for pair := range strings.FieldsSeq(asks) {
		name, n, _ := strings.Cut(pair, "=")
		list[corev1.ResourceName(name)] = resource.MustParse(n)
	}
	return list
}

func pod(uid, asks string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: uid, UID: types.UID(uid)},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "ray-worker", Resources: corev1.ResourceRequirements{Limits: resources(asks), Requests: resources(asks)}}}},
	}
}

func (s *state) quota(name, hard string) {
	s.engine.SetQuota(&corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}, Spec: corev1.ResourceQuotaSpec{Hard: resources(hard)}})
}

func (s *state) check(p *corev1.Pod, reserve bool) Verdict {
	s.t.Helper()
	program := s.live.Program()
	r := program.Plan(plan.FromPod(p.Annotations, &p.Spec))
	v, err := s.engine.Check(s.t.Context(), program, p, &r.Demand, reserve)
	if err != nil {
		s.t.Fatal(err)
	}
	return v
}

func (s *state) fits(uid, asks string) bool {
	s.t.Helper()
	return len(s.check(pod(uid, asks), true).Exceeded) == 0
}

// TestMessage: who asked for what, who has what, and by how much it is too much.
func TestMessage(t *testing.T) {
	s := newState(t, string(shipped.HAMi))
	s.quota("team-a-gpu", "limits.nvidia.com/gpumem=8192 limits.nvidia.com/gpu=3 requests.nvidia.com/gpumem=1 limits.cpu=1")
	for i := range 3 {
		p := pod(fmt.Sprint(i), "nvidia.com/gpu=1 nvidia.com/gpumem=2048")
		if i < 2 {
			p.Status.Phase = corev1.PodRunning
		}
		s.engine.SetPod(p)
	}
	got := s.check(pod("new", "nvidia.com/gpu=2 nvidia.com/gpumem=4096"), true)
	want := []string{
		`quota "team-a-gpu": nvidia.com/gpu requested 2 (container ray-worker: 2), in use 3 (2 running, 1 pending), hard 3, exceeds by 2`,
		`quota "team-a-gpu": nvidia.com/gpumem requested 8192 MiB (container ray-worker: 2 × 4096), in use 6144 MiB (2 running, 1 pending), hard 8192 MiB, exceeds by 6144 MiB`,
	}
	if diff := cmp.Diff(want, got.Exceeded); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestReservations: what was admitted counts until it is seen, and no longer than the time to live.
func TestReservations(t *testing.T) {
	s := newState(t, string(shipped.HAMi))
	s.quota("q", "limits.nvidia.com/gpu=1")
	if len(s.check(pod("dry", "nvidia.com/gpu=1"), false).Exceeded) > 0 || !s.fits("a", "nvidia.com/gpu=1") {
		t.Fatal("an empty quota is full")
	}
	if s.fits("b", "nvidia.com/gpu=1") {
		t.Error("the reservation does not count")
	}
	if !s.fits("a", "nvidia.com/gpu=1") {
		t.Error("a Pod that is asked about again is in its own way")
	}
	s.engine.SetPod(pod("a", "nvidia.com/gpu=1"))
	s.clock.SetTime(s.clock.Now().Add(DefaultTTL))
	if got := s.check(pod("b", "nvidia.com/gpu=1"), true).Exceeded; len(got) != 1 || !strings.Contains(got[0], "in use 1 (1 pending)") {
		t.Errorf("a Pod that was seen counts otherwise: %v", got)
	}
	s.engine.DeletePod(pod("a", "nvidia.com/gpu=1"))
	if !s.fits("c", "nvidia.com/gpu=1") {
		t.Error("a Pod that is gone counts")
	}
	s.clock.SetTime(s.clock.Now().Add(DefaultTTL - 1))
	if s.fits("d", "nvidia.com/gpu=1") {
		t.Error("the reservation ends too early")
	}
	s.clock.SetTime(s.clock.Now().Add(1))
	if !s.fits("d", "nvidia.com/gpu=1") {
		t.Error("the reservation outlives its time")
	}
}

// TestPercentUnderQuota: shares are refused, or let pass with a warning, where there is a quota for memory.
func TestPercentUnderQuota(t *testing.T) {
	for policy, want := range map[string]struct{ fits, warns bool }{"Warn": {true, true}, "Deny": {false, false}, "Assume": {false, false}} {
		s := newState(t, "apiVersion: devices.ray.io/v1alpha1\nkind: DeviceRegistry\nvendors:\n- {name: a, resources: {count: a.io/c, memory: a.io/m, memoryPercent: a.io/p}, quota: {wholeDeviceMiB: 1000, percent: "+policy+"}}\n")
		if v := s.check(pod("free", "a.io/c=1 a.io/p=50"), false); len(v.Exceeded)+len(v.Warnings) > 0 {
			t.Errorf("%s, no quota: %+v", policy, v)
		}
		s.quota("q", "limits.a.io/m=499")
		v := s.check(pod("p", "a.io/c=1 a.io/p=50"), true)
		if (len(v.Exceeded) == 0) != want.fits || (len(v.Warnings) > 0) != want.warns {
			t.Errorf("%s: %+v", policy, v)
		}
	}
}

// TestIluvatarUnderQuota: HAMi needs a quota of 400 for two cards.
func TestIluvatarUnderQuota(t *testing.T) {
	s := newState(t, string(shipped.HAMi))
	s.quota("q", "limits.iluvatar.ai/MR-V100.vCore=200")
	if !s.fits("a", "iluvatar.ai/MR-V100-vgpu=2") || s.fits("b", "iluvatar.ai/MR-V100-vgpu=1 iluvatar.ai/MR-V100.vCore=1") {
		t.Error("two cards are not 200 cores")
	}
}

// TestScopes: each scope, of Pods that are in it and Pods that are not.
func TestScopes(t *testing.T) {
	deadline, affinity, class, guaranteed := pod("a", "a.io/x=1"), pod("b", "a.io/x=1"), pod("c", "a.io/x=1"), pod("d", "a.io/x=1 cpu=1")
	deadline.Spec.ActiveDeadlineSeconds = new(int64(5))
	affinity.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{
		{PodAffinityTerm: corev1.PodAffinityTerm{Namespaces: []string{"x"}}}}}}
	class.Spec.PriorityClassName = "high"
	cases := map[string]struct {
		spec corev1.ResourceQuotaSpec
		want string // UIDs of those in it
	}{
		"none":              {want: "abcd"},
		"BestEffort":        {corev1.ResourceQuotaSpec{Scopes: []corev1.ResourceQuotaScope{"BestEffort"}}, "abc"},
		"NotBestEffort":     {corev1.ResourceQuotaSpec{Scopes: []corev1.ResourceQuotaScope{"NotBestEffort"}}, "d"},
		"Terminating":       {corev1.ResourceQuotaSpec{Scopes: []corev1.ResourceQuotaScope{"Terminating"}}, "a"},
		"NotTerminating":    {corev1.ResourceQuotaSpec{Scopes: []corev1.ResourceQuotaScope{"NotTerminating"}}, "bcd"},
		"affinity":          {corev1.ResourceQuotaSpec{Scopes: []corev1.ResourceQuotaScope{"CrossNamespacePodAffinity"}}, "b"},
		"two":               {corev1.ResourceQuotaSpec{Scopes: []corev1.ResourceQuotaScope{"BestEffort", "NotTerminating"}}, "bc"},
		"class":             {corev1.ResourceQuotaSpec{Scopes: []corev1.ResourceQuotaScope{"PriorityClass"}}, "c"},
		"one of classes":    {selector("In", "high", "low"), "c"},
		"none of classes":   {selector("NotIn", "high"), "abd"},
		"no class":          {selector("DoesNotExist"), "abd"},
		"another class":     {selector("In", "low"), ""},
		"volume attributes": {corev1.ResourceQuotaSpec{Scopes: []corev1.ResourceQuotaScope{"VolumeAttributesClass"}}, ""},
	}
	for name, tc := range cases {
		got := ""
		for _, p := range []*corev1.Pod{deadline, affinity, class, guaranteed} {
			slim, err := Slim(p)
			if err != nil {
				t.Fatal(err)
			}
			whole, less := factsOf(p), factsOf(slim.(*corev1.Pod))
			if whole != less {
				t.Errorf("%s: slimming changes %+v to %+v", p.Name, whole, less)
			}
			if whole.match(&corev1.ResourceQuota{Spec: tc.spec}) {
				got += p.Name
			}
		}
		if got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}

func selector(operator corev1.ScopeSelectorOperator, values ...string) corev1.ResourceQuotaSpec {
	return corev1.ResourceQuotaSpec{ScopeSelector: &corev1.ScopeSelector{MatchExpressions: []corev1.ScopedResourceSelectorRequirement{
		{ScopeName: corev1.ResourceQuotaScopePriorityClass, Operator: operator, Values: values}}}}
}

// TestReloadRecounts: what is used follows the registry, without a new look at the cluster.
func TestReloadRecounts(t *testing.T) {
	const text = "apiVersion: devices.ray.io/v1alpha1\nkind: DeviceRegistry\nvendors:\n- {name: a, resources: {count: a.io/c, memory: a.io/m}, units: {memory: {toMiB: %d}}}\n"
	s := newState(t, fmt.Sprintf(text, 1))
	s.quota("q", "limits.a.io/m=10")
	s.engine.SetPod(pod("a", "a.io/c=1 a.io/m=5"))
	used := func() float64 {
		registry := prometheus.NewPedanticRegistry()
		registry.MustRegister(s.engine)
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range families {
			if f.GetName() == "device_quota_used" {
				return f.GetMetric()[0].GetGauge().GetValue()
			}
		}
		return -1
	}
	if n := used(); n != 5 {
		t.Errorf("%v MiB are used, want 5", n)
	}
	p, err := load.Registry(fmt.Appendf(nil, text, 256))
	if err != nil {
		t.Fatal(err)
	}
	s.live.Replace(p)
	if n := used(); n != 1280 {
		t.Errorf("%v MiB are used after a change of the unit, want 1280", n)
	}
	if n := testutil.CollectAndCount(s.engine); n != 9 { // of the quota: hard, exceeded, and three states of two; of the cache: synced
		t.Errorf("%d metrics, want 9", n)
	}
}

// TestSlimKeepsTheSum: what the cache holds of a Pod takes as much as the Pod.
func TestSlimKeepsTheSum(t *testing.T) {
	p := pod("a", "nvidia.com/gpumem=100 cpu=1")
	p.Annotations = map[string]string{"huawei.com/vnpu-mode": "hami-core"}
	p.Spec.InitContainers = []corev1.Container{{Name: "i", RestartPolicy: new(corev1.ContainerRestartPolicyAlways), Resources: corev1.ResourceRequirements{Limits: resources("nvidia.com/gpumem=7")}}}
	p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "skipped", SecurityContext: &corev1.SecurityContext{Privileged: new(true)}, Resources: corev1.ResourceRequirements{Limits: resources("nvidia.com/gpu=9")}})
	slim, err := Slim(p)
	if err != nil {
		t.Fatal(err)
	}
	s := newState(t, string(shipped.HAMi))
	less := slim.(*corev1.Pod)
	want := s.live.Program().Plan(plan.FromPod(p.Annotations, &p.Spec)).Demand.Totals
	got := s.live.Program().Plan(plan.FromPod(less.Annotations, &less.Spec)).Demand.Totals
	if diff := cmp.Diff(want, got); diff != "" || want["nvidia.com/gpumem"] != 107 {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
