package plan_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/raygate/raygate/pkg/devices"
	"github.com/raygate/raygate/pkg/devices/load"
	"github.com/raygate/raygate/pkg/devices/plan"
	"github.com/raygate/raygate/pkg/manifest"
)

// FuzzPlan: any registry that loads and any Pod. No panic; operations that apply, remove nothing and leave nothing to do; nothing of others is lost.
func FuzzPlan(f *testing.F) {
	f.Add([]byte(head+"vendors:\n- {name: a, resources: {count: a.io/x, memory: a.io/m}, rules: [{field: memory, roundUpTo: [4, 8]}], env: [{name: E, value: \"${count}\"}]}\n"),
		encode(f, pod(limits("c", "a.io/x=1 a.io/m=3"))))
	f.Add([]byte(denying), encode(f, with(pod(limits("c", "nvidia.com/gpu=1 nvidia.com/gpumem=8Gi")), "spec.initContainers", []any{limits("i", "nvidia.com/gpu=1")})))
	f.Fuzz(func(t *testing.T, text, raw []byte) {
		p, err := load.Registry(text)
		if err != nil {
			return
		}
		var tree any
		if json.Unmarshal(raw, &tree) != nil {
			_, _ = plan.FromJSON(raw)
			return
		}
		checkInvariants(t, p, encode(t, tree)) // as the API server encodes it: each key once
	})
}

// FuzzRegistries: registries of a generator and any Pod. Random texts, as in FuzzPlan, are seldom a registry, and loading one takes long.
func FuzzRegistries(f *testing.F) {
	programs := map[uint8]*plan.Program{}
	for seed := range 40 {
		if p, err := load.Registry(randomRegistry(f, rand.New(rand.NewPCG(uint64(seed), 11)))); err == nil {
			programs[uint8(len(programs))] = p
		}
		f.Add(uint8(seed), encode(f, randomPod(rand.New(rand.NewPCG(uint64(seed), 1)))))
	}
	f.Add(uint8(3), []byte(`{"spec":{"containers":[null,{"name":"c","env":null,"resources":{"limits":{"v0.io/c":1,"v0.io/m":"8Gi"},"requests":null}}],"initContainers":null}}`))
	f.Fuzz(func(t *testing.T, seed uint8, raw []byte) {
		var tree any
		if json.Unmarshal(raw, &tree) != nil {
			return
		}
		checkInvariants(t, programs[seed%uint8(len(programs))], encode(t, tree))
	})
}

// FuzzAmounts: quantities as people write them, against all families that there are.
func FuzzAmounts(f *testing.F) {
	for _, text := range []string{"8Gi", "1e30", "-1", "500m", "3k", "0", "", "1e-30", "9223372036854775808", "0.5", "1E3", "2147483649", "1Ki"} {
		f.Add(uint64(1), text, "1")
	}
	p := hami(f)
	owned := p.Owned()
	f.Fuzz(func(t *testing.T, seed uint64, a, b string) {
		r := rand.New(rand.NewPCG(seed, 0))
		list := m{}
		for _, text := range []string{a, b} {
			list[owned[r.IntN(len(owned))]] = text
		}
		raw := encode(t, pod(m{"name": "c", "resources": m{"limits": list}}, m{"name": "d", "resources": m{"requests": list}}))
		result := checkInvariants(t, p, raw)
		if !result.Refused() {
			chargesSomething(t, list, result)
		}
	})
}

// chargesSomething: what asks for memory, cores or devices is never free, unless its size is not known.
func chargesSomething(t *testing.T, list m, r *plan.Result) {
	t.Helper()
	for name, text := range list {
		q, err := manifest.ParseQuantity(fmt.Sprint(text))
		if err != nil || q.IsZero() || strings.HasSuffix(name, "priority") {
			continue
		}
		if len(r.Demand.Totals) == 0 && len(r.Demand.Unsized) == 0 {
			t.Errorf("%s=%s is admitted and free", name, text)
		}
	}
}

func checkInvariants(t *testing.T, p *plan.Program, raw []byte) *plan.Result {
	t.Helper()
	in, err := plan.FromJSON(raw)
	if err != nil {
		return &plan.Result{Problems: []plan.Problem{{}}}
	}
	r := p.Plan(in)
	ops := r.Operations()
	if r.Refused() && len(ops) > 0 {
		t.Fatalf("refused and changed: %v", ops)
	}
	if r.Refused() || len(ops) == 0 {
		return r
	}
	for _, op := range ops {
		if op.Op != "add" && op.Op != "replace" {
			t.Fatalf("operation %v", op)
		}
	}
	after := patched(t, raw, ops)
	again := p.Plan(read(t, after))
	if again.Refused() || again.Operations() != nil {
		t.Fatalf("planning again says %v %v of\n%s", again.Problems, again.Operations(), after)
	}
	if a, b := encode(t, r.Demand.Totals), encode(t, again.Demand.Totals); !bytes.Equal(a, b) {
		t.Fatalf("demand %s, planned again %s", a, b)
	}
	var before, now any
	if json.Unmarshal(raw, &before) != nil || json.Unmarshal(after, &now) != nil {
		t.Fatal("no JSON")
	}
	owned := map[string]bool{}
	for _, name := range p.Owned() {
		owned[name] = true
	}
	kept(t, "", before, now, owned)
	return r
}

// kept demands that everything is where it was, but for what is ours to change.
func kept(t *testing.T, path string, before, now any, owned map[string]bool) {
	t.Helper()
	switch b := before.(type) {
	case map[string]any:
		n, ok := now.(map[string]any)
		if !ok {
			t.Fatalf("%s was an object and is %v", path, now)
		}
		for key, value := range b {
			ours := owned[key] && (strings.HasSuffix(path, "/limits") || strings.HasSuffix(path, "/requests")) ||
				path == "/spec" && (key == "schedulerName" || key == "runtimeClassName") ||
				strings.Contains(path, "/env/") && (key == "value" || key == "valueFrom")
			if ours || value == nil {
				continue
			}
			kept(t, path+"/"+key, value, n[key], owned)
		}
	case []any:
		n, ok := now.([]any)
		if !ok || len(n) < len(b) {
			t.Fatalf("%s was a list and is %v", path, now)
		}
		for i := range b {
			kept(t, fmt.Sprintf("%s/%d", path, i), b[i], n[i], owned)
		}
	default:
		if b != now {
			t.Fatalf("%s was %v and is %v", path, before, now)
		}
	}
}

// TestPlanIsIdempotent: random registries and random Pods, planned twice. By JSON and as Go types the same comes out.
func TestPlanIsIdempotent(t *testing.T) {
	if testing.Short() {
		t.Skip("plans 3,000 random Pods")
	}
	loaded, changed := 0, 0
	for seed := range uint64(150) {
		r := rand.New(rand.NewPCG(seed, 11))
		p, err := load.Registry(randomRegistry(t, r))
		if err != nil {
			continue
		}
		loaded++
		for range 20 {
			raw := encode(t, randomPod(r))
			result := checkInvariants(t, p, raw)
			if result.Refused() || result.Empty() {
				continue
			}
			changed++
			sameAsTyped(t, p, raw, patched(t, raw, result.Operations()))
		}
	}
	if loaded < 40 || changed < 200 {
		t.Errorf("only %d registries loaded and %d Pods changed: the generator says little", loaded, changed)
	}
}

func sameAsTyped(t *testing.T, p *plan.Program, raw, patched []byte) {
	t.Helper()
	var in, want corev1.Pod
	if json.Unmarshal(raw, &in) != nil || json.Unmarshal(patched, &want) != nil {
		return // amounts that no API server would let pass
	}
	before := encode(t, in)
	r := p.Plan(plan.FromPod(in.Annotations, &in.Spec).WithLabels(in.Labels))
	if !bytes.Equal(before, encode(t, in)) {
		t.Fatal("planning changed the Pod")
	}
	in.Annotations = r.Apply(in.Annotations, &in.Spec)
	if got, want := encode(t, in), encode(t, want); !bytes.Equal(got, want) {
		t.Fatalf("as Go types\n%s\nby JSON\n%s", got, want)
	}
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

func randomRegistry(t testing.TB, r *rand.Rand) []byte {
	t.Helper()
	reg := devices.Registry{APIVersion: devices.APIVersion, Kind: devices.Kind}
	reg.Defaults.Privileged, reg.Defaults.NodeName = pick(r, "", devices.Skip, devices.Deny), pick(r, "", devices.Skip)
	reg.Defaults.Scheduler = devices.Scheduler{Name: pick(r, "", "s1"), When: pick(r, "", "Never", "DefaultOnly")}
	for i := range 1 + r.IntN(3) {
		n := fmt.Sprint("v", i)
		v := devices.Vendor{Name: n, Resources: devices.Resources{Count: n + ".io/c", Memory: n + ".io/m", Cores: n + ".io/k", MemoryPercent: n + ".io/p", Priority: n + ".io/q"}}
		v.Defaults.Count = pick[int64](r, 0, 1, 2)
		v.Units.Memory = pick(r, devices.MemoryUnit{}, devices.MemoryUnit{ToMiB: 256}, devices.MemoryUnit{Form: "Bytes", BareMiB: 1024}, devices.MemoryUnit{Per: "Container"})
		v.RuntimeClass, v.Scheduler.Name = pick(r, "", "", "rc"), pick(r, "", "", "s2")
		if r.IntN(2) == 0 {
			v.Exclusive = &devices.Exclusive{Cores: 100}
		}
		for range r.IntN(4) {
			v.Rules = append(v.Rules, randomRule(r))
		}
		for range r.IntN(2) {
			v.Env = append(v.Env, devices.Env{Name: pick(r, "A", "B"), Value: pick(r, "1", "${count}-${container}", "${memory}", "${priority}"), Conflict: pick(r, "", "Keep", "Replace", "Deny")})
		}
		for range r.IntN(2) {
			v.AbsentEnv = append(v.AbsentEnv, devices.Env{Name: pick(r, "A", "N"), Value: "none", Conflict: pick(r, "", "Replace")})
		}
		if r.IntN(3) == 0 {
			v.Annotations = []devices.Annotation{{Key: pick(r, "x.io/a", "x.io/b"), Default: pick(r, "${count}", "fixed"), If: pick(r, nil, &devices.Condition{Field: "count", Above: new(int64(1))})}}
		}
		reg.Vendors = append(reg.Vendors, v)
	}
	data, err := yaml.Marshal(reg)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func randomRule(r *rand.Rand) devices.Rule {
	field := pick(r, devices.Memory, devices.Cores, devices.Count)
	rule := devices.Rule{Field: field}
	switch r.IntN(6) {
	case 0:
		rule.Range = []int64{0, pick[int64](r, 10, 100)}
	case 1:
		rule.RoundUpTo, rule.Above = []int64{2, 8, 64}, pick(r, "", "Clamp")
	case 2:
		rule.Absent, rule.PerDevice = 8, r.IntN(2) == 0
	case 3:
		rule.MultipleOf, rule.Also = 4, []int64{1}
	case 4:
		if field == devices.Count {
			rule.RequireOneWhen = &devices.OneWhen{Field: devices.Memory, NotEqual: 64}
		} else {
			rule.DeriveWhenCountAbove = &devices.Derive{Count: 1, PerDevice: 8}
		}
	default:
		rule.OneOf = []int64{1, 2, 8, 16, 64}
	}
	if r.IntN(4) == 0 {
		rule.UnlessAnnotation = &devices.AnnotationValue{Key: "x.io/a"}
	}
	if r.IntN(3) == 0 {
		rule.When = pick(r, "request.cores == 0", "request.count > 1", `annotations[?"x.io/b"].orValue("") != "2"`, `"team" in labels`, "container.sidecar || request.memory > 8")
	}
	return rule
}

func randomPod(r *rand.Rand) m {
	containers := func(n int) []any {
		list := []any{}
		for i := range n {
			limits, requests := m{"cpu": "1"}, m{}
			for range r.IntN(4) {
				name := fmt.Sprintf("v%d.io/%s", r.IntN(3), pick(r, "c", "m", "k", "p", "q"))
				limits[name] = pick(r, "1", "2", "3", "8", "64", "3k", "0", "8Gi", "100")
				if r.IntN(2) == 0 {
					requests[name] = limits[name]
				}
			}
			c := m{"name": fmt.Sprint("c", i), "resources": m{"limits": limits, "requests": requests}}
			if r.IntN(3) == 0 {
				c["env"] = []any{m{"name": pick(r, "A", "B", "N"), "value": "mine"}}
			}
			if r.IntN(8) == 0 {
				c["securityContext"] = m{"privileged": true}
			}
			if r.IntN(4) == 0 {
				c["restartPolicy"] = "Always"
			}
			list = append(list, c)
		}
		return list
	}
	p := m{"metadata": m{"name": "p"}, "spec": m{"schedulerName": pick(r, "", "default-scheduler", "s1", "other"), "initContainers": containers(r.IntN(2)), "containers": containers(1 + r.IntN(2))}}
	if r.IntN(3) == 0 {
		with(p, "metadata.labels", m{"team": "a"})
	}
	if r.IntN(3) == 0 {
		with(p, "metadata.annotations", m{pick(r, "x.io/a", "x.io/b", "y"): pick(r, "fixed", "2", "z")})
	}
	return p
}
