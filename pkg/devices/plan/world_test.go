package plan_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"

	"github.com/raygate/raygate/pkg/devices/load"
	"github.com/raygate/raygate/pkg/devices/plan"
	"github.com/raygate/raygate/pkg/devices/shipped"
)

var loaded = sync.OnceValues(func() (*plan.Program, error) { return load.Registry(shipped.HAMi) })

func hami(t testing.TB) *plan.Program {
	t.Helper()
	p, err := loaded()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func registry(t testing.TB, text string) *plan.Program {
	t.Helper()
	p, err := load.Registry([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// head starts a registry of a test.
const head = "apiVersion: devices.ray.io/v1alpha1\nkind: DeviceRegistry\n"

type m = map[string]any

// limits is a container that asks for "name=amount name=amount", with requests as the API server fills them in.
func limits(name, text string) m {
	c := m{"name": name, "image": "ray"}
	if list := amounts(text); len(list) > 0 {
		c["resources"] = m{"limits": list, "requests": maps.Clone(list)}
	}
	return c
}

func amounts(text string) m {
	list := m{}
	for pair := range strings.FieldsSeq(text) {
		name, n, _ := strings.Cut(pair, "=")
		list[name] = n
	}
	return list
}

func pod(containers ...m) m {
	list := []any{}
	for _, c := range containers {
		list = append(list, c)
	}
	return m{"metadata": m{"name": "p"}, "spec": m{"schedulerName": "default-scheduler", "containers": list}}
}

// with sets a member at a path such as spec.nodeName.
func with(p m, path string, value any) m {
	parts := strings.Split(path, ".")
	at := p
	for _, part := range parts[:len(parts)-1] {
		next, ok := at[part].(m)
		if !ok {
			next = m{}
			at[part] = next
		}
		at = next
	}
	at[parts[len(parts)-1]] = value
	return p
}

func planOf(t testing.TB, p *plan.Program, pod m) *plan.Result {
	t.Helper()
	return p.Plan(read(t, encode(t, pod)))
}

func encode(t testing.TB, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func read(t testing.TB, data []byte) *plan.Pod {
	t.Helper()
	p, err := plan.FromJSON(data)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// apply carries the operations out as RFC 6902 says, and demands that planning again finds nothing.
func apply(t testing.TB, p *plan.Program, pod m) m {
	t.Helper()
	raw := encode(t, pod)
	r := p.Plan(read(t, raw))
	if r.Refused() {
		t.Fatalf("refused: %v", r.Problems)
	}
	after := patched(t, raw, r.Operations())
	if again := p.Plan(read(t, after)); again.Refused() || len(again.Operations()) > 0 {
		t.Errorf("planning again says %v %v of\n%s", again.Problems, again.Operations(), after)
	}
	out := m{}
	if err := json.Unmarshal(after, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func patched(t testing.TB, raw []byte, ops []plan.Operation) []byte {
	t.Helper()
	patch, err := jsonpatch.DecodePatch(encode(t, ops))
	if err != nil {
		t.Fatal(err)
	}
	after, err := patch.Apply(raw)
	if err != nil {
		t.Fatalf("applying %s to %s: %v", encode(t, ops), raw, err)
	}
	return after
}

// at reads a member at a path such as spec.containers.0.resources.
func at(p any, path ...string) any {
	for _, part := range path {
		switch v := p.(type) {
		case m:
			p = v[part]
		case []any:
			p = v[int(part[0]-'0')]
		default:
			return nil
		}
	}
	return p
}

// asked are the amounts of the first container, as limits takes them; requests must be the same.
func asked(t testing.TB, p m) string {
	t.Helper()
	var text [2]string
	for i, list := range []string{"limits", "requests"} {
		values, _ := at(p, "spec", "containers", "0", "resources", list).(m)
		var pairs []string
		for _, name := range slices.Sorted(maps.Keys(values)) {
			pairs = append(pairs, name+"="+values[name].(string))
		}
		slices.Sort(pairs)
		text[i] = strings.Join(pairs, " ")
	}
	if text[0] != text[1] {
		t.Errorf("limits %s, but requests %s", text[0], text[1])
	}
	return text[0]
}

func env(p m, container string) string {
	list, _ := at(p, "spec", "containers", container, "env").([]any)
	var pairs []string
	for _, e := range list {
		value, _ := at(e, "value").(string)
		pairs = append(pairs, at(e, "name").(string)+"="+value)
	}
	return strings.Join(pairs, " ")
}

func problems(r *plan.Result) string {
	var lines []string
	for _, p := range r.Problems {
		lines = append(lines, p.String())
	}
	return strings.Join(lines, "\n")
}
