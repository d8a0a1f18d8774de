package manifest

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// readCluster reads a RayCluster as the gateway does.
func readCluster(data []byte, isYAML bool) (map[string]any, *rayv1.RayCluster, field.ErrorList) {
	cluster := &rayv1.RayCluster{}
	tree, mistakes := Read(data, isYAML)
	return tree, cluster, append(mistakes, Decode(tree, cluster, nil)...)
}

func TestReadReportsMistakes(t *testing.T) {
	const yes, no = true, false
	deep := strings.Repeat("[", 200) + strings.Repeat("]", 200)
	type violation struct{ Path, Message, Reason string }
	for name, tc := range map[string]struct {
		isYAML bool
		in     string
		want   []violation
	}{
		"wrong case": {no, `{"spec":{"rayversion":"2"}}`, []violation{
			{"spec.rayversion", `unknown field "rayversion", did you mean "rayVersion"?`, "unknown-field"}}},
		"proto name": {no, `{"spec":{"head_group_spec":{}}}`, []violation{
			{"spec.head_group_spec", `unknown field "head_group_spec", did you mean "headGroupSpec"?`, "unknown-field"}}},
		"all at once": {no, `{"kind":1,"spec":{"workerGroupSpecs":[{"minReplicas":"2"},null,{"minReplicas":1.5,"suspend":"no"}],"headServiceAnnotations":{"a/b":1}},"x":{}}`, []violation{
			{"kind", `expected string, got number 1; put it in quotes`, "wrong-type"},
			{"spec.workerGroupSpecs[0].minReplicas", `expected integer, got string "2"`, "wrong-type"},
			{"spec.workerGroupSpecs[1]", `expected object, got null`, "wrong-type"},
			{"spec.workerGroupSpecs[2].minReplicas", `expected integer, got number 1.5`, "wrong-type"},
			{"spec.workerGroupSpecs[2].suspend", `expected boolean, got string "no"`, "wrong-type"},
			{"spec.headServiceAnnotations[a/b]", `expected string, got number 1; put it in quotes`, "wrong-type"},
			{"x", `unknown field "x"`, "unknown-field"}}},
		"beyond int32": {no, `{"spec":{"workerGroupSpecs":[{"replicas":3000000000}]}}`, []violation{
			{"spec.workerGroupSpecs[0].replicas", `3000000000 does not fit in a 32-bit integer`, "out-of-range"}}},
		"beyond int64": {no, `{"metadata":{"generation":9223372036854775808}}`, []violation{
			{"metadata.generation", `9.223372036854776e+18 does not fit in a 64-bit integer`, "out-of-range"}}},
		"beyond float64": {no, `{"metadata":{"generation":1e999}}`, []violation{
			{"metadata.generation", `the number is too large`, "out-of-range"}}},
		"duplicate keys": {no, `{"kind":"a","kind":1,"spec":{"headGroupSpec":{"template":{"metadata":{"labels":{"a/b":"1","a/b":"1"}}}}}}`, []violation{
			{"kind", "the key is there twice", "duplicate-key"},
			{"spec.headGroupSpec.template.metadata.labels[a/b]", "the key is there twice", "duplicate-key"}}},
		"not UTF-8":      {no, "{\"kind\":\"a\xff\"}", []violation{{"kind", "text that is not UTF-8", "invalid-utf8"}}},
		"half surrogate": {no, `{"kind":"\ud800"}`, []violation{{"kind", `text with half a surrogate pair (\ud800 to \udfff)`, "invalid-utf8"}}},
		"time":           {no, `{"metadata":{"creationTimestamp":"yesterday"}}`, []violation{{"metadata.creationTimestamp", `"yesterday" is not a time in RFC 3339 with whole seconds, such as 2026-01-31T12:00:00Z`, "bad-format"}}},
		"not an object":  {no, `[]`, []violation{{"", "expected object, got list", "wrong-type"}}},
		"empty":          {no, ``, []violation{{"", "not JSON: unexpected end of JSON input", "syntax"}}},
		"syntax":         {no, "{\n  \"a\": é}", []violation{{"", "not JSON: line 2, column 8: invalid character 'Ã' looking for beginning of value", "syntax"}}},
		"more behind it": {no, `{} {}`, []violation{{"", "not JSON: line 1, column 4: invalid character '{' after top-level value", "syntax"}}},
		"too deep":       {no, deep, []violation{{strings.Repeat("[0]", 101), "nested deeper than 100 levels", "too-deep"}}},

		"YAML duplicate":      {yes, "kind: a\nkind: b\n", []violation{{"kind", "line 2: the key is there twice", "duplicate-key"}}},
		"YAML syntax":         {yes, "a: b: c\n", []violation{{"", "not YAML: mapping values are not allowed in this context", "syntax"}}},
		"YAML two documents":  {yes, "kind: a\n---\nkind: b\n", []violation{{"", "there is more than one YAML document; send them one by one", "syntax"}}},
		"YAML empty":          {yes, "# nothing\n", []violation{{"", "the document is empty", "syntax"}}},
		"YAML bare number":    {yes, "spec: {rayVersion: 2.4}", []violation{{"spec.rayVersion", "expected string, got number 2.4; put it in quotes", "wrong-type"}}},
		"YAML old boolean":    {yes, "spec: {rayVersion: on}", []violation{{"spec.rayVersion", "expected string, got boolean true; put it in quotes", "wrong-type"}}},
		"YAML not a number":   {yes, "spec: {rayVersion: .nan}", []violation{{"spec.rayVersion", `line 1: ".nan" is no number that JSON has`, "out-of-range"}}},
		"YAML tag":            {yes, "kind: !thing a", []violation{{"kind", "line 1: a value with the tag !thing cannot be read", "syntax"}}},
		"YAML key":            {yes, "metadata: {labels: {[a]: b}}", []violation{{"metadata.labels", "line 1: a key must be a string; put it in quotes", "wrong-type"}}},
		"YAML alias to self":  {yes, "a: &x [*x]", []violation{{"a" + strings.Repeat("[0]", 50), "line 1: nested deeper than 100 levels", "too-deep"}}},
		"YAML text not UTF-8": {yes, "kind: \xff", []violation{{"", "text that is not UTF-8", "invalid-utf8"}}},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, errs := readCluster([]byte(tc.in), tc.isYAML)
			var got []violation
			for _, e := range errs {
				got = append(got, violation{e.Field, e.Detail, e.Origin})
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("mistakes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDecodeReportsAllMistakes(t *testing.T) {
	const doc = `
apiVersion: ray.io/v2
kind: RayJob
metadata: {creationTimestamp: "2026-01-31T12:00:00.5Z"}
spec:
  headGroupSpec:
    rayStartParams: {port: 6379}
    template:
      spec:
        contaniers: []
        terminationGracePeriodSeconds: 1.5
        containers:
        - Name: a
          name: b
          resources: {limits: {cpu: many, memory: 1.5}}
          ports: [{containerPort: 3000000000}]
          livenessProbe: {httpGet: {port: true}}
        - null
  workerGroupSpecs:
  - {}
  - template: {spec: {hostNetwork: "yes"}}
  autoscalerOptions:
    env: [{name: A}, {nam: B}]
  gcsFaultToleranceOptions: {storage: {size: lots}}
status: {desiredCPU: few}
`
	_, _, errs := readCluster([]byte(doc), true)
	got := map[string]string{}
	for _, e := range errs {
		got[e.Field] = e.Origin + ": " + e.Detail
	}
	head := "spec.headGroupSpec.template.spec."
	want := map[string]string{
		"metadata.creationTimestamp":                         `bad-format: "2026-01-31T12:00:00.5Z" is not a time in RFC 3339 with whole seconds, such as 2026-01-31T12:00:00Z`,
		"spec.headGroupSpec.rayStartParams[port]":            `wrong-type: expected string, got number 6379; put it in quotes`,
		head + "contaniers":                                  `unknown-field: unknown field "contaniers", did you mean "containers"?`,
		head + "terminationGracePeriodSeconds":               `wrong-type: expected integer, got number 1.5`,
		head + "containers[0].Name":                          `unknown-field: unknown field "Name", did you mean "name"?`,
		head + "containers[0].resources.limits[cpu]":         `bad-format: "many" is not a quantity such as 500m, 2 or 16Gi`,
		head + "containers[0].resources.limits[memory]":      `wrong-type: expected quantity as a string or integer, got number 1.5; write "1.5"`,
		head + "containers[0].ports[0].containerPort":        `out-of-range: 3000000000 does not fit in a 32-bit integer`,
		head + "containers[0].livenessProbe.httpGet.port":    `wrong-type: expected integer or string, got boolean true`,
		head + "containers[1]":                               `wrong-type: expected object, got null`,
		"spec.workerGroupSpecs[1].template.spec.hostNetwork": `wrong-type: expected boolean, got string "yes"`,
		"spec.autoscalerOptions.env[1].nam":                  `unknown-field: unknown field "nam"`,
		"spec.gcsFaultToleranceOptions.storage.size":         `bad-format: "lots" is not a quantity such as 500m, 2 or 16Gi`,
		"status.desiredCPU":                                  `bad-format: "few" is not a quantity such as 500m, 2 or 16Gi`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("mistakes (-want +got):\n%s", diff)
	}
}

func TestAliasBombIsBounded(t *testing.T) {
	bomb := "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n"
	for i := range 9 {
		a, b := string(rune('0'+i)), string(rune('1'+i))
		bomb += "a" + b + ": &a" + b + " [" + strings.TrimSuffix(strings.Repeat("*a"+a+",", 10), ",") + "]\n"
	}
	tree, errs := Read([]byte(bomb), true)
	if tree != nil || len(errs) != 1 || !strings.Contains(errs[0].Detail, "larger than") {
		t.Errorf("got %v", errs)
	}
}

func TestRead(t *testing.T) {
	want := map[string]any{
		"kind": "RayCluster", "apiVersion": nil,
		"metadata": map[string]any{
			"name": "ü\n\"\U0001F600\uFFFD", "generation": int64(9007199254740993), "creationTimestamp": "2026-01-31T12:00:00Z",
			"labels": map[string]any{"8080": "x", "b": "y"},
		},
		"spec": map[string]any{
			"suspend": true, "workerGroupSpecs": []any{map[string]any{"replicas": int64(0), "maxReplicas": int64(16), "idle": 1.5}},
			"headGroupSpec": map[string]any{"rayStartParams": map[string]any{}, "template": map[string]any{"n": 1.5, "z": nil, "l": []any{false}}},
		},
	}
	for name, tc := range map[string]struct {
		isYAML bool
		in     string
	}{
		"JSON": {false, `{"kind":"RayCluster","apiVersion":null,
			"metadata":{"name":"\u00fc\n\"\ud83d\ude00\ufffd","generation":9007199254740993,"creationTimestamp":"2026-01-31T12:00:00Z","labels":{"8080":"x","b":"y"}},
			"spec":{"suspend":true,"headGroupSpec":{"rayStartParams":{},"template":{"n":1.5,"z":null,"l":[false]}},"workerGroupSpecs":[{"replicas":0,"maxReplicas":16,"idle":1.5}]}}`},
		"YAML": {true, `---
kind: RayCluster
apiVersion:
metadata:
  name: "\u00fc\n\"\U0001F600\uFFFD"
  generation: 9007199254740993
  creationTimestamp: 2026-01-31T12:00:00Z
  labels: &base {8080: x, b: "y"}
spec:
  suspend: yes
  headGroupSpec: {rayStartParams: {}, template: {<<: {"n": 1.5}, z: , l: [false]}}
  workerGroupSpecs: [{replicas: 0, maxReplicas: 0x10, idle: 1.5}]
`},
	} {
		t.Run(name, func(t *testing.T) {
			got, errs := Read([]byte(tc.in), tc.isYAML)
			if diff := cmp.Diff(want, got); diff != "" || len(errs) > 0 {
				t.Errorf("tree (-want +got):\n%s%v", diff, errs)
			}
		})
	}
}

// FuzzReadJSON: nothing panics, what encoding/json refuses is refused, what is taken means to Kubernetes' decoder what it means to us, and a
// mistake that Kubernetes' strict decoder finds is found.
func FuzzReadJSON(f *testing.F) {
	f.Add([]byte(`{"kind":"a","metadata":{"labels":{"a":"b"},"generation":3},"spec":{"headGroupSpec":{"template":{"a":[1,null,"\u00fc",{"b":1.5e3}]}}}}`))
	f.Add([]byte(`{"a":[[[{"b":"\ud83d\ude00"}]]],"a":tru}`))
	f.Add([]byte(`{"a":1,"a":2,"b":"\ud800"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		tree, _, mistakes := readCluster(data, false)
		if tree != nil && !json.Valid(data) {
			t.Fatal("taken, and it is not JSON")
		}
		for _, m := range mistakes {
			if m.Detail == "" || m.Origin == "" {
				t.Fatalf("mistake %#v says nothing", m)
			}
		}
		tree, mistakes = Read(data, false)
		if tree == nil && len(mistakes) == 0 {
			t.Fatal("refused without a word")
		}
		if len(mistakes) > 0 || tree == nil {
			return
		}
		var theirs map[string]any
		if strict, err := kjson.UnmarshalStrict(data, &theirs); err != nil || len(strict) > 0 || !reflect.DeepEqual(tree, theirs) {
			t.Fatalf("Kubernetes reads it as another tree (-theirs +ours), %v, %v:\n%s", strict, err, cmp.Diff(theirs, tree))
		}
	})
}

// FuzzReadYAML: nothing panics, and what is taken means to kubectl's reader what it means to us once it is written out.
func FuzzReadYAML(f *testing.F) {
	f.Add([]byte("kind: a\nmetadata:\n  labels: &x {a: yes, 'b': \"c\"}\nspec:\n  headGroupSpec:\n    template: {<<: *x, n: 0x10, d: 2026-01-01}\n"))
	f.Add([]byte("kind: |\n  a\n   b\nmetadata: {name: !!str 1}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		tree, mistakes := Read(data, true)
		if tree == nil || len(mistakes) > 0 {
			return
		}
		asJSON, err := json.Marshal(tree)
		if err != nil {
			t.Fatal(err)
		}
		asYAML, err := yaml.JSONToYAML(asJSON)
		if err != nil {
			t.Fatal(err)
		}
		again, mistakes := Read(asYAML, true)
		if back, err := json.Marshal(again); err != nil || len(mistakes) > 0 || string(back) != string(asJSON) {
			t.Fatalf("kubectl's YAML of it reads as another tree (-want +got), %v, %v:\n%s", mistakes, err, cmp.Diff(tree, again))
		}
	})
}
