package load

import (
	"strings"
	"testing"

	"github.com/raygate/raygate/pkg/devices/shipped"
)

func TestShippedRegistryLoads(t *testing.T) {
	p, err := Registry(shipped.HAMi)
	if err != nil {
		t.Fatal(err)
	}
	// 3.1 of the specification, a chip each for Iluvatar and Ascend. The entry for Volcano is not enabled.
	want := "amd ascend-310p ascend-910a ascend-910b2 ascend-910b3 ascend-910b4 ascend-910b4-1 ascend-910c biren cambricon enflame enflame-shared hygon " +
		"iluvatar-bi-v100 iluvatar-bi-v150 iluvatar-mr-v100 iluvatar-mr-v50 kunlun kunlun-virtual metax metax-shared mthreads neuron nvidia vastai"
	if got := strings.Join(p.Vendors(), " "); got != want {
		t.Errorf("families %s\nwant %s", got, want)
	}
	if p.SetsAbsentEnv() {
		t.Error("containers without a device are changed by default")
	}
	if p.Hash == "" {
		t.Error("no hash")
	}
}

const head = "apiVersion: devices.ray.io/v1alpha1\nkind: DeviceRegistry\nvendors:\n"

// rule is a registry with a condition in a rule of the family fam.
func rule(condition string) string {
	when, text, _ := strings.Cut(condition, ": ")
	return head + "- {name: fam, resources: {count: a.io/x}, rules: [{field: count, range: [1, 2], " + when + ": \"" + text + "\"}]}"
}

// TestRegistryRefusedAtLoad: what cannot be meant is refused, with the place.
func TestRegistryRefusedAtLoad(t *testing.T) {
	cases := map[string]struct{ text, want string }{
		"not YAML":                     {"\t:", ""},
		"another kind":                 {"apiVersion: v1\nkind: ConfigMap\n", "must be devices.ray.io/v1alpha1 DeviceRegistry"},
		"unknown key":                  {head + "- {name: a, resources: {count: a.io/x, cunt: a.io/y}}", "cunt"},
		"repeated key":                 {head + "- {name: a, name: b, resources: {count: a.io/x}}", "name"},
		"one resource of two families": {head + "- {name: a, resources: {count: a.io/x}}\n- {name: b, resources: {memory: a.io/x}}", "is a resource of a.count already"},
		"one resource for two fields":  {head + "- {name: a, resources: {count: a.io/x, memory: a.io/x}}", "is a resource of a.count already"},
		"one name for two families":    {head + "- {name: a, resources: {count: a.io/x}}\n- {name: a, resources: {count: a.io/y}}", "Duplicate value"},
		"resource of Kubernetes":       {head + "- {name: a, resources: {count: cpu}}", "extended resource"},
		"no resource":                  {head + "- {name: a, resources: {}}", "Required value"},
		"unknown variable":             {head + "- {name: a, resources: {count: a.io/x}, env: [{name: X, value: \"${memory}\"}]}", "${memory} is no field of the family"},
		"open brace":                   {head + "- {name: a, resources: {count: a.io/x}, env: [{name: X, value: \"${count\"}]}", "${count is no field"},
		"sizes not in order":           {head + "- {name: a, resources: {memory: a.io/x}, rules: [{field: memory, roundUpTo: [2, 1]}]}", "ascending"},
		"field without resource":       {head + "- {name: a, resources: {count: a.io/x}, rules: [{field: cores, positive: true}]}", "is no field"},
		"rule without content":         {head + "- {name: a, resources: {count: a.io/x}, rules: [{field: count}]}", "says nothing"},
		"default against the rules":    {head + "- {name: a, resources: {count: a.io/x, memory: a.io/m}, rules: [{field: memory, range: [1, 5]}, {field: memory, absent: 6}]}", "undo each other"},
		"size against the rules":       {head + "- {name: a, resources: {memory: a.io/m}, rules: [{field: memory, oneOf: [4]}, {field: memory, roundUpTo: [8]}]}", "undo each other"},
		"sizes that chase each other":  {head + "- {name: a, resources: {count: a.io/x, memory: a.io/m}, rules: [{field: memory, roundUpTo: [2, 9], above: Clamp}, {field: memory, if: {field: memory, equals: 2}, roundUpTo: [3]}]}", "undo each other"},
		"variable given twice":         {head + "- {name: a, resources: {count: a.io/x}, env: [{name: X, value: a, conflict: Replace}, {name: X, value: b, conflict: Replace}]}", "Duplicate value"},
		"assume without a size":        {head + "- {name: a, resources: {count: a.io/x}, quota: {percent: Assume}}", "percent: Assume needs"},
		"policy that there is not":     {"defaults: {privileged: Allow}\n" + head + "- {name: a, resources: {count: a.io/x}}", "Unsupported value"},
		"groups that differ": {head + "- {name: a, resources: {count: a.io/x}, absentEnvGroup: g, absentEnv: [{name: X, value: a}]}\n" +
			"- {name: b, resources: {count: a.io/y}, absentEnvGroup: g, absentEnv: [{name: X, value: b}]}", "differs from that of a"},
		"CPU of Ray":                   {head + "- {name: a, resources: {count: a.io/x}, ray: {custom: {CPU: Count}}}", "no custom resource"},
		"GPU of Ray as a total":        {head + "- {name: a, resources: {memory: a.io/x}, ray: {totals: {GPU: MemoryMiB}}}", "no custom resource"},
		"total without resource":       {head + "- {name: a, resources: {count: a.io/x}, ray: {totals: {x: MemoryMiB}}}", "no resource"},
		"total that there is not":      {head + "- {name: a, resources: {memory: a.io/x}, ray: {totals: {x: Memory}}}", "Unsupported value"},
		"condition with a fault":       {rule("when: request.count =="), "vendors[0].rules[0].when: Invalid value: \"request.count ==\": fam: "},
		"condition on another field":   {rule("when: request.cores == 1"), "undeclared reference to 'request'"},
		"condition of another type":    {rule("when: request.count + 1"), "fam: is of type int, but must be true or false"},
		"condition that may cost much": {rule("when: annotations.exists(k, annotations[k].matches('a*b*'))"), "fam: may cost"},
		"condition without answer":     {rule("when: labels['x'] == 'y'"), "condition of fam for container a: labels['x'] == 'y': no such key: x; a key that may be missing is asked for by labels[?\"key\"].orValue(\"\")"},
		"condition of a variable":      {head + "- {name: fam, resources: {count: a.io/x}, env: [{name: X, value: a, when: HasNothing}]}", "vendors[0].env[0].when: Invalid value: \"HasNothing\": fam: "},
		"condition of an annotation":   {head + "- {name: fam, resources: {count: a.io/x}, annotations: [{key: x, default: a, when: '1'}]}", "vendors[0].annotations[0].when"},
		"condition that undoes itself": {head + "- {name: fam, resources: {count: a.io/x, cores: a.io/c}, rules: [{field: cores, roundUpTo: [9], when: request.cores == 4}, {field: cores, roundUpTo: [4], when: request.cores < 4}]}", "undo each other"},
		"too large":                    {head + strings.Repeat("#", MaxBytes), "must be at most"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p, err := Registry([]byte(tc.text))
			if err == nil || p != nil {
				t.Fatal("was loaded")
			}
			if !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %q, want %q in it", err, tc.want)
			}
		})
	}
}
