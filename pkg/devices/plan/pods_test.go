package plan_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/raygate/raygate/pkg/devices/plan"
)

// TestZeroIsNothing: Ray templates ask for zero GPUs now and then.
func TestZeroIsNothing(t *testing.T) {
	c := limits("ray", "nvidia.com/gpu=0 nvidia.com/gpumem=0")
	c["securityContext"] = m{"privileged": true}
	for name, p := range map[string]*plan.Program{"Skip": hami(t), "Deny": registry(t, denying)} {
		if r := planOf(t, p, pod(c)); r.Refused() || len(r.Operations()) > 0 || len(r.Warnings) > 0 || len(r.Demand.Totals) > 0 {
			t.Errorf("%s: %v %v %v %v", name, r.Problems, r.Operations(), r.Warnings, r.Demand)
		}
	}
}

const denying = head + `
defaults: {privileged: Deny, nodeName: Deny}
vendors:
- name: a
  resources: {count: nvidia.com/gpu, memory: nvidia.com/gpumem, cores: nvidia.com/gpucores}
  defaults: {count: 1}
  exclusive: {cores: 100}
`

func TestPrivileged(t *testing.T) {
	bad, good := limits("bad", "nvidia.com/gpu=1"), limits("good", "nvidia.com/gpumem=100")
	bad["securityContext"] = m{"privileged": true}
	p := hami(t)
	r := planOf(t, p, pod(bad, good))
	for _, op := range r.Operations() {
		if strings.HasPrefix(op.Path, "/spec/containers/0") {
			t.Errorf("the privileged container was changed: %v", op)
		}
	}
	out := apply(t, p, pod(bad, good))
	if got := at(out, "spec", "containers", "1", "resources", "limits", "nvidia.com/gpu"); got != "1" {
		t.Errorf("its sibling asks for %v devices, want 1", got)
	}
	if !slices.ContainsFunc(r.Warnings, func(w string) bool { return strings.HasPrefix(w, "container bad is privileged and was passed over") }) {
		t.Errorf("warnings %v", r.Warnings)
	}
	if got := r.Demand.Totals["nvidia.com/gpu"]; got != 1 {
		t.Errorf("%d devices are charged, want that of the sibling", got)
	}
	r = planOf(t, registry(t, denying), pod(bad, good))
	if len(r.Problems) != 1 || !r.Problems[0].Forbidden || r.Problems[0].Container != "bad" || !strings.Contains(r.Problems[0].Text, "privileged: Deny") {
		t.Errorf("problems %v", r.Problems)
	}
	delete(good, "resources")
	good["securityContext"] = m{"privileged": true}
	if r := planOf(t, registry(t, denying), pod(limits("asks", "nvidia.com/gpu=1"), good)); r.Refused() {
		t.Errorf("a privileged container that asks for nothing is refused: %v", r.Problems)
	}
}

func TestScheduler(t *testing.T) {
	p := hami(t)
	cases := map[string]struct{ has, want, warning string }{
		"default":      {has: "default-scheduler", want: "hami-scheduler"},
		"none":         {want: "hami-scheduler"},
		"that of HAMi": {has: "hami-scheduler", want: "hami-scheduler"},
		"foreign":      {has: "volcano", want: "volcano", warning: "spec.schedulerName is volcano and was kept, but nvidia needs hami-scheduler"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			in := with(pod(limits("ray", "nvidia.com/gpumem=3k")), "spec.schedulerName", tc.has)
			out := apply(t, p, in)
			if got := at(out, "spec", "schedulerName"); got != tc.want {
				t.Errorf("scheduler %v, want %s", got, tc.want)
			}
			if got := asked(t, out); got != "nvidia.com/gpu=1 nvidia.com/gpumem=3k" {
				t.Errorf("asks for %s: the scheduler has nothing to do with that", got)
			}
			if got := strings.Join(planOf(t, p, in).Warnings, "\n"); !strings.Contains(got, tc.warning) || strings.Contains(got, "schedulerName") != (tc.warning != "") {
				t.Errorf("warnings %s", got)
			}
		})
	}
	two := registry(t, head+"vendors:\n- {name: a, resources: {count: a.io/x}, scheduler: {name: s}}\n- {name: b, resources: {count: b.io/x}, scheduler: {name: t}}\n")
	if got := problems(planOf(t, two, pod(limits("c", "a.io/x=1 b.io/x=1")))); got != "spec.schedulerName: a Pod has one, but a needs s, and b needs t" {
		t.Errorf("problems %s", got)
	}
	if r := planOf(t, two, with(pod(limits("c", "a.io/x=1 b.io/x=1")), "spec.schedulerName", "other")); r.Refused() || len(r.Warnings) != 2 {
		t.Errorf("with another scheduler: %v %v", r.Problems, r.Warnings)
	}
	never := registry(t, head+"defaults: {scheduler: {name: s, when: Never}}\nvendors:\n- {name: a, resources: {count: a.io/x}}\n")
	if r := planOf(t, never, pod(limits("c", "a.io/x=1"))); len(r.Operations()) > 0 {
		t.Errorf("when: Never changes %v", r.Operations())
	}
}

func TestNodeName(t *testing.T) {
	in := with(pod(limits("ray", "nvidia.com/gpu=1")), "spec.nodeName", "n1")
	r := planOf(t, hami(t), in)
	if r.Refused() || len(r.Operations()) > 0 || r.Demand.Totals["nvidia.com/gpu"] != 1 || !strings.Contains(strings.Join(r.Warnings, "\n"), "spec.nodeName is set") {
		t.Errorf("Skip: %v %v %v %v", r.Problems, r.Operations(), r.Demand, r.Warnings)
	}
	r = planOf(t, registry(t, denying), in)
	if len(r.Problems) != 1 || !r.Problems[0].Forbidden || !strings.Contains(r.Problems[0].Text, "nodeName: Deny") {
		t.Errorf("Deny: %v", r.Problems)
	}
	if r := planOf(t, registry(t, denying), with(pod(limits("ray", "cpu=1")), "spec.nodeName", "n1")); r.Refused() {
		t.Errorf("a Pod without devices: %v", r.Problems)
	}
}

func TestRuntimeClass(t *testing.T) {
	p := registry(t, head+"vendors:\n- {name: a, resources: {count: a.io/x}, runtimeClass: fast}\n- {name: b, resources: {count: b.io/x}, runtimeClass: other}\n- {name: c, resources: {count: c.io/x}}\n")
	cases := map[string]struct{ asks, has, want, refused string }{
		"unset":         {asks: "a.io/x=1", want: "fast"},
		"set":           {asks: "a.io/x=1", has: "mine", want: "mine"},
		"one of two":    {asks: "a.io/x=1 c.io/x=1", want: "fast"},
		"none":          {asks: "c.io/x=1"},
		"two, conflict": {asks: "a.io/x=1 b.io/x=1", refused: "spec.runtimeClassName: a Pod has one, but a needs fast, and b needs other"},
		"two, set":      {asks: "a.io/x=1 b.io/x=1", has: "mine", want: "mine"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			in := pod(limits("ray", tc.asks))
			if tc.has != "" {
				with(in, "spec.runtimeClassName", tc.has)
			}
			if got := problems(planOf(t, p, in)); got != tc.refused {
				t.Fatalf("problems %q, want %q", got, tc.refused)
			}
			if tc.refused != "" {
				return
			}
			if got, _ := at(apply(t, p, in), "spec", "runtimeClassName").(string); got != tc.want {
				t.Errorf("class %q, want %q", got, tc.want)
			}
		})
	}
}

// TestUnknownFieldsAreKept: what a newer API server has is not lost.
func TestUnknownFieldsAreKept(t *testing.T) {
	c := limits("ray", "nvidia.com/gpumem=3k")
	c["invented"], c["resources"].(m)["invented"] = m{"a": 1.0}, []any{"b"}
	c["env"] = []any{m{"name": "X", "value": "x", "invented": true}}
	in := with(with(pod(c), "spec.invented", m{"deep": m{"er": 1.0}}), "metadata.invented", "x")
	p := hami(t)
	for _, op := range planOf(t, p, in).Operations() {
		if op.Op != "add" && op.Op != "replace" {
			t.Errorf("operation %s %s", op.Op, op.Path)
		}
	}
	out := apply(t, p, in)
	for _, path := range []string{"metadata invented", "spec invented deep er", "spec containers 0 invented a", "spec containers 0 resources invented 0", "spec containers 0 env 0 invented"} {
		if at(out, strings.Fields(path)...) == nil {
			t.Errorf("%s was lost", path)
		}
	}
}

func TestNothingToDo(t *testing.T) {
	p := hami(t)
	for name, in := range map[string]m{
		"no device":     pod(limits("ray", "cpu=3k memory=8Gi")),
		"no containers": pod(),
		"static":        with(pod(limits("ray", "nvidia.com/gpu=1")), "metadata.annotations", m{"kubernetes.io/config.mirror": "x"}),
		"all there":     with(pod(limits("ray", "nvidia.com/gpu=1 nvidia.com/gpumem=10")), "spec.schedulerName", "hami-scheduler"),
	} {
		if r := planOf(t, p, in); r.Operations() != nil || r.Refused() {
			t.Errorf("%s: %v %v", name, r.Operations(), r.Problems)
		}
	}
}

// TestMissingParents: apply is strict about what is not there.
func TestMissingParents(t *testing.T) {
	p := registry(t, head+`
vendors:
- name: a
  resources: {count: a.io/x, cores: a.io/c}
  rules: [{field: cores, absent: 7}]
  env: [{name: A, value: "${cores}"}, {name: B, value: "${container}"}]
  absentEnv: [{name: NONE, value: "1"}]
  annotations: [{key: a.io/n, default: "${count}"}]
`)
	plain := limits("plain", "")
	for name, in := range map[string]m{
		"no requests":            pod(m{"name": "c", "resources": m{"limits": amounts("a.io/x=1")}}, plain),
		"no limits":              pod(m{"name": "c", "resources": m{"requests": amounts("a.io/x=1")}}, plain),
		"null":                   pod(m{"name": "c", "env": nil, "resources": m{"limits": amounts("a.io/x=1"), "requests": nil}}, m{"name": "d", "resources": nil}),
		"numbers":                pod(m{"name": "c", "resources": m{"limits": m{"a.io/x": 1}, "requests": m{"a.io/x": 1.0}}}),
		"no metadata":            {"spec": m{"containers": []any{limits("c", "a.io/x=1")}}},
		"other annotations":      with(pod(limits("c", "a.io/x=1")), "metadata.annotations", m{"x": "y"}),
		"annotations that do":    with(pod(limits("c", "a.io/x=1")), "metadata.annotations", m{"a.io/n": "1"}),
		"a null among the list":  {"spec": m{"containers": []any{nil, limits("c", "a.io/x=1")}}},
		"variables of its own":   pod(m{"name": "c", "env": []any{m{"name": "A", "value": "mine"}}, "resources": m{"limits": amounts("a.io/x=1")}}),
		"a variable from a file": pod(m{"name": "c", "env": []any{m{"name": "A", "valueFrom": m{}}}, "resources": m{"limits": amounts("a.io/x=1")}}),
	} {
		t.Run(name, func(t *testing.T) { apply(t, p, in) })
	}
	out := apply(t, p, pod(limits("c", "a.io/x=2"), plain))
	if got := env(out, "0") + " " + env(out, "1"); got != "A=7 B=c NONE=1" {
		t.Errorf("variables %s", got)
	}
}

func TestEnvConflicts(t *testing.T) {
	for conflict, want := range map[string]string{"Keep": "V=mine", "Replace": "V=1", "Deny": ""} {
		p := registry(t, head+"vendors:\n- {name: a, resources: {count: a.io/x}, env: [{name: V, value: \"${count}\", conflict: "+conflict+"}]}\n")
		in := pod(limits("c", "a.io/x=1"))
		at(in, "spec", "containers", "0").(m)["env"] = []any{m{"name": "V", "value": "mine"}}
		if r := planOf(t, p, in); want == "" {
			if got := problems(r); got != `container c: variable V must be "1", or be left out` {
				t.Errorf("%s: %s", conflict, got)
			}
			continue
		}
		if got := env(apply(t, p, in), "0"); got != want {
			t.Errorf("%s: %s, want %s", conflict, got, want)
		}
		at(in, "spec", "containers", "0").(m)["env"] = []any{m{"name": "V", "valueFrom": m{"fieldRef": m{}}}}
		out := apply(t, p, in)
		if from := at(out, "spec", "containers", "0", "env", "0", "valueFrom"); (from == nil) != (conflict == "Replace") {
			t.Errorf("%s: a source is %v", conflict, from)
		}
	}
}

// TestCorePolicy: the variable of the core policy is in the shipped registry, to be enabled.
func TestCorePolicy(t *testing.T) {
	text := strings.Replace(string(mustRead(t)), "{name: GPU_CORE_UTILIZATION_POLICY, value: force, enabled: false}", "{name: GPU_CORE_UTILIZATION_POLICY, value: force}", 1)
	if got := env(apply(t, registry(t, text), pod(limits("ray", "nvidia.com/gpu=1"))), "0"); got != "GPU_CORE_UTILIZATION_POLICY=force" {
		t.Errorf("variables %s", got)
	}
	if got := env(apply(t, hami(t), pod(limits("ray", "nvidia.com/gpu=1"))), "0"); got != "" {
		t.Errorf("variables %s by default", got)
	}
}

// TestAbsentEnvOfGroup: once, and only where no member is asked for. HAMi adds one for each chip.
func TestAbsentEnvOfGroup(t *testing.T) {
	text := strings.ReplaceAll(string(mustRead(t)), `{name: ASCEND_VISIBLE_DEVICES, value: "", enabled: false}`, `{name: ASCEND_VISIBLE_DEVICES, value: ""}`)
	out := apply(t, registry(t, text), pod(limits("plain", ""), limits("chip", "huawei.com/Ascend910B3=1")))
	if got := env(out, "0") + "|" + env(out, "1"); got != "ASCEND_VISIBLE_DEVICES=|" {
		t.Errorf("variables %s", got)
	}
}

// TestPlanIsDeterministic: maps have no order.
func TestPlanIsDeterministic(t *testing.T) {
	p := hami(t)
	raw := encode(t, pod(limits("a", "nvidia.com/gpu=1 mthreads.com/vgpu=2 huawei.com/Ascend910B3=1 iluvatar.ai/BI-V150-vgpu=2 nvidia.com/priority=1"), limits("b", "metax-tech.com/sgpu=1")))
	broken := encode(t, pod(limits("a", "nvidia.com/gpu=1m mthreads.com/vgpu=x huawei.com/Ascend910B3=-1"), limits("b", "metax-tech.com/sgpu=8Gi")))
	var first [2][]byte
	for i := range 1000 {
		for j, data := range [][]byte{raw, broken} {
			r := p.Plan(read(t, data))
			got := encode(t, []any{r.Operations(), r.Problems, r.Warnings, r.Demand, r.Devices, r.Vendors})
			if i == 0 {
				first[j] = got
			} else if !bytes.Equal(got, first[j]) {
				t.Fatalf("plan %d is\n%s\nnot\n%s", i, got, first[j])
			}
		}
	}
}

// TestNewFamily: a family that is not shipped, from a file alone.
func TestNewFamily(t *testing.T) {
	p := registry(t, head+`
vendors:
- name: invented
  resources: {count: chips.example.com/q, memory: chips.example.com/q-memory}
  units: {memory: {toMiB: 1024}}
  defaults: {count: 1}
  rules: [{field: memory, roundUpTo: [2, 8]}]
  env: [{name: Q_MEMORY, value: "${count}x${memory}@${container}"}]
`)
	out := apply(t, p, pod(limits("ray", "chips.example.com/q-memory=3")))
	if got := asked(t, out) + " " + env(out, "0"); got != "chips.example.com/q-memory=8 chips.example.com/q=1 Q_MEMORY=1x8@ray" {
		t.Errorf("got %s", got)
	}
}
