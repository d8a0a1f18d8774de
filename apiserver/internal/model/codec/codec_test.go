package codec

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	"sigs.k8s.io/yaml"

	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

func TestDecodeReportsMistakes(t *testing.T) {
	deep := strings.Repeat("[", 200) + strings.Repeat("]", 200)
	for name, tc := range map[string]struct {
		contentType, in string
		want            []Violation
	}{
		"wrong case": {JSON, `{"spec":{"rayversion":"2"}}`, []Violation{
			{"spec.rayversion", `unknown field "rayversion", did you mean "rayVersion"?`, "unknown-field"}}},
		"proto name": {JSON, `{"spec":{"head_group_spec":{}}}`, []Violation{
			{"spec.head_group_spec", `unknown field "head_group_spec", did you mean "headGroupSpec"?`, "unknown-field"}}},
		"all at once, in order": {JSON, `{"kind":1,"spec":{"workerGroupSpecs":[{"minReplicas":"2"},null,{"minReplicas":1.5,"suspend":"no"}],"headServiceAnnotations":{"a/b":1}},"x":{}}`, []Violation{
			{"kind", `expected string, got number 1; put it in quotes`, "wrong-type"},
			{"spec.workerGroupSpecs[0].minReplicas", `expected integer, got string "2"`, "wrong-type"},
			{"spec.workerGroupSpecs[1]", `expected object, got null`, "wrong-type"},
			{"spec.workerGroupSpecs[2].minReplicas", `expected integer, got number 1.5`, "wrong-type"},
			{"spec.workerGroupSpecs[2].suspend", `expected boolean, got string "no"`, "wrong-type"},
			{"spec.headServiceAnnotations[a/b]", `expected string, got number 1; put it in quotes`, "wrong-type"},
			{"x", `unknown field "x"`, "unknown-field"}}},
		"beyond int32": {JSON, `{"spec":{"workerGroupSpecs":[{"replicas":3000000000}]}}`, []Violation{
			{"spec.workerGroupSpecs[0].replicas", `number 3000000000 does not fit in a 32-bit integer`, "out-of-range"}}},
		"beyond int64": {JSON, `{"metadata":{"generation":9223372036854775808}}`, []Violation{
			{"metadata.generation", `number 9223372036854775808 does not fit in a 64-bit integer`, "out-of-range"}}},
		"beyond a Struct": {JSON, `{"spec":{"headGroupSpec":{"template":{"a":9007199254740993}}}}`, []Violation{
			{"spec.headGroupSpec.template.a", `number 9007199254740993 is beyond 2^53 and would not stay exact; if the field is a 64-bit integer, put it in quotes`, "out-of-range"}}},
		"duplicate keys": {JSON, `{"kind":"a","kind":"b","spec":{"headGroupSpec":{"template":{"x":1,"x":1}}}}`, []Violation{
			{"kind", "the key is there twice", "duplicate-key"},
			{"spec.headGroupSpec.template.x", "the key is there twice", "duplicate-key"}}},
		"not UTF-8":      {JSON, "{\"kind\":\"a\xff\"}", []Violation{{"kind", "text that is not UTF-8", "invalid-utf8"}}},
		"half surrogate": {JSON, `{"kind":"\ud800"}`, []Violation{{"kind", `text with half a surrogate pair (\ud800 to \udfff)`, "invalid-utf8"}}},
		"time":           {JSON, `{"metadata":{"creationTimestamp":"yesterday"}}`, []Violation{{"metadata.creationTimestamp", `string "yesterday" is not a time in RFC 3339, such as 2026-01-31T12:00:00Z`, "bad-format"}}},
		"not an object":  {JSON, `[]`, []Violation{{"", "expected object, got list", "wrong-type"}}},
		"empty":          {JSON, ``, []Violation{{"", "not JSON: line 1, column 1: expected a value, found the end of the document", "syntax"}}},
		"syntax":         {JSON, "{\n  \"a\": é}", []Violation{{"", "not JSON: line 2, column 8: expected a value, found 'é'", "syntax"}}},
		"more behind it": {JSON, `{} {}`, []Violation{{"", "not JSON: line 1, column 4: expected the end of the document, found '{'", "syntax"}}},
		"too deep":       {JSON, deep, []Violation{{strings.Repeat("[0]", 101), "nested deeper than 100 levels", "too-deep"}}},

		"YAML duplicate":      {YAML, "kind: a\nkind: b\n", []Violation{{"kind", "line 2: the key is there twice", "duplicate-key"}}},
		"YAML syntax":         {YAML, "a: b: c\n", []Violation{{"", "not YAML: mapping values are not allowed in this context", "syntax"}}},
		"YAML two documents":  {YAML, "kind: a\n---\nkind: b\n", []Violation{{"", "there is more than one YAML document; send them one by one", "syntax"}}},
		"YAML empty":          {YAML, "# nothing\n", []Violation{{"", "the document is empty", "syntax"}}},
		"YAML bare number":    {YAML, "spec: {rayVersion: 2.4}", []Violation{{"spec.rayVersion", "expected string, got number 2.4; put it in quotes", "wrong-type"}}},
		"YAML old boolean":    {YAML, "spec: {rayVersion: on}", []Violation{{"spec.rayVersion", "expected string, got boolean true; put it in quotes", "wrong-type"}}},
		"YAML not a number":   {YAML, "spec: {headGroupSpec: {template: {a: .nan}}}", []Violation{{"spec.headGroupSpec.template.a", `line 1: ".nan" is no number that JSON has`, "out-of-range"}}},
		"YAML tag":            {YAML, "kind: !thing a", []Violation{{"kind", "line 1: a value with the tag !thing cannot be read", "syntax"}}},
		"YAML key":            {YAML, "metadata: {labels: {[a]: b}}", []Violation{{"metadata.labels", "line 1: a key must be a string; put it in quotes", "wrong-type"}}},
		"YAML alias to self":  {YAML, "a: &x [*x]", []Violation{{"a" + strings.Repeat("[0]", 50), "line 1: nested deeper than 100 levels", "too-deep"}}},
		"YAML text not UTF-8": {YAML, "kind: \xff", []Violation{{"", "text that is not UTF-8", "invalid-utf8"}}},
	} {
		t.Run(name, func(t *testing.T) {
			err := Decode([]byte(tc.in), tc.contentType, &raygatev2.RayCluster{})
			var e *Error
			if !errors.As(err, &e) {
				t.Fatalf("got error %v, want an *Error", err)
			}
			if diff := cmp.Diff(tc.want, e.Violations); diff != "" {
				t.Errorf("violations (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAliasBombIsBounded(t *testing.T) {
	bomb := "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n"
	for i := range 9 {
		a, b := string(rune('0'+i)), string(rune('1'+i))
		bomb += "a" + b + ": &a" + b + " [" + strings.TrimSuffix(strings.Repeat("*a"+a+",", 10), ",") + "]\n"
	}
	err := Decode([]byte(bomb), YAML, &raygatev2.RayCluster{})
	if err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Errorf("got %v", err)
	}
}

func TestDecode(t *testing.T) {
	want := &raygatev2.RayCluster{
		Kind: "RayCluster",
		Metadata: &raygatev2.ObjectMeta{
			Name: "ü\n\"", Generation: 9007199254740993, CreationTimestamp: &timestamppb.Timestamp{Seconds: 1769860800},
			Labels: map[string]string{"8080": "x", "b": "y"},
		},
		Spec: &raygatev2.RayClusterSpec{
			Suspend: new(true),
			HeadGroupSpec: &raygatev2.HeadGroupSpec{
				RayStartParams: &structpb.Struct{},
				Template: &structpb.Struct{Fields: map[string]*structpb.Value{
					"n": structpb.NewNumberValue(1.5), "z": structpb.NewNullValue(), "l": structpb.NewListValue(&structpb.ListValue{Values: []*structpb.Value{structpb.NewBoolValue(false)}}),
				}},
			},
			WorkerGroupSpecs: []*raygatev2.WorkerGroupSpec{{Replicas: new(int32(0)), MaxReplicas: new(int32(16))}},
		},
	}
	for name, tc := range map[string]struct{ contentType, in string }{
		"JSON": {"application/json; charset=utf-8", `{"kind":"RayCluster","apiVersion":null,"status":null,
			"metadata":{"name":"\u00fc\n\"","generation":9007199254740993,"creationTimestamp":"2026-01-31T13:00:00+01:00","labels":{"8080":"x","b":"y"},"managedFields":[{"a":1}],"selfLink":"/x"},
			"spec":{"suspend":true,"headGroupSpec":{"rayStartParams":{},"template":{"n":1.5,"z":null,"l":[false]}},"workerGroupSpecs":[{"replicas":0,"maxReplicas":1.6e1}]}}`},
		"YAML": {"text/yaml", `---
kind: RayCluster
metadata:
  name: "\u00fc\n\""
  generation: 9007199254740993
  creationTimestamp: 2026-01-31T12:00:00Z
  labels: &base {8080: x, b: "y"}
spec:
  suspend: yes
  headGroupSpec: {rayStartParams: {}, template: {<<: {"n": 1.5}, z: , l: [false]}}
  workerGroupSpecs: [{replicas: 0, maxReplicas: 0x10}]
`},
	} {
		t.Run(name, func(t *testing.T) {
			got := &raygatev2.RayCluster{ApiVersion: "to be reset"}
			if err := Decode([]byte(tc.in), tc.contentType, got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
				t.Errorf("message (-want +got):\n%s", diff)
			}
		})
	}
}

// The JSON form of protobuf writes 64-bit integers as strings.
func TestCanonicalProtobufJSON(t *testing.T) {
	want := &raygatev2.RayCluster{Kind: "RayCluster", Metadata: &raygatev2.ObjectMeta{Generation: 1<<53 + 1, CreationTimestamp: &timestamppb.Timestamp{Seconds: 1769860800}}}
	data, err := protojson.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(data), `"9007199254740993"`) {
		t.Fatalf("protojson has changed: %s", data)
	}
	got := &raygatev2.RayCluster{}
	if err := Decode(data, JSON, got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Errorf("message (-want +got):\n%s", diff)
	}
	for _, text := range []string{`"1.5"`, `"many"`, `""`, `"9223372036854775808"`} {
		if err := Decode([]byte(`{"metadata":{"generation":`+text+`}}`), JSON, got); err == nil {
			t.Errorf("%s is taken for an integer", text)
		}
	}
}

func TestContentType(t *testing.T) {
	for _, contentType := range []string{"text/plain", "application/x-www-form-urlencoded", "application/json-patch+json"} {
		if err := Decode(nil, contentType, &raygatev2.RayCluster{}); !errors.Is(err, ErrUnsupported) {
			t.Errorf("%s: got %v", contentType, err)
		}
	}
}

func TestEncode(t *testing.T) {
	m := &raygatev2.RayCluster{
		Metadata: &raygatev2.ObjectMeta{Generation: 1 << 60, Labels: map[string]string{"b": "<&>", "a": "\u2028\x01\xff"}},
		Spec:     &raygatev2.RayClusterSpec{Suspend: new(false), RayVersion: "yes"},
		Status: &raygatev2.RayClusterStatus{
			DesiredCpu:     "8",
			LastUpdateTime: &timestamppb.Timestamp{Seconds: 1769860800},
			Conditions:     []*raygatev2.Condition{{Type: "Ready"}},
		},
	}
	wantJSON := `{"metadata":{"generation":1152921504606846976,"labels":{"a":"\u2028\u0001\ufffd","b":"<&>"}},"spec":{"rayVersion":"yes","suspend":false},` +
		`"status":{"desiredCPU":"8","lastUpdateTime":"2026-01-31T12:00:00Z","conditions":[{"type":"Ready","status":"","reason":"","message":""}]}}`
	got, err := Encode(m, JSON)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wantJSON, string(got)); diff != "" {
		t.Errorf("JSON (-want +got):\n%s", diff)
	}
	wantYAML := "spec:\n  rayVersion: \"yes\"\n  suspend: false\n"
	m.Metadata, m.Status = nil, nil
	if got, err = Encode(m, YAML); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wantYAML, string(got)); diff != "" {
		t.Errorf("YAML (-want +got):\n%s", diff)
	}
}

// FuzzDecodeJSON: nothing panics, what encoding/json refuses is refused, and what is taken means to protojson what it
// means to us and comes back the same.
func FuzzDecodeJSON(f *testing.F) {
	f.Add([]byte(`{"kind":"a","metadata":{"labels":{"a":"b"},"generation":3},"spec":{"headGroupSpec":{"template":{"a":[1,null,"\u00fc",{"b":1.5e3}]}}}}`))
	f.Add([]byte(`{"a":[[[{"b":"\ud83d\ude00"}]]],"a":tru}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var m raygatev2.RayCluster
		err := Decode(data, JSON, &m)
		if err == nil && !json.Valid(data) {
			t.Fatal("taken, and it is not JSON")
		}
		if err != nil {
			if err.Error() == "" {
				t.Fatal("an error without a word")
			}
			return
		}
		var theirs raygatev2.RayCluster
		if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(data, &theirs); err == nil && !proto.Equal(&m, &theirs) {
			t.Fatalf("protojson reads it as another message (-theirs +ours):\n%s", cmp.Diff(&theirs, &m, protocmp.Transform()))
		}
		checkEncoding(t, &m)
	})
}

// FuzzDecodeYAML: nothing panics, and what is taken means to kubectl's reader what it means to us.
func FuzzDecodeYAML(f *testing.F) {
	f.Add([]byte("kind: a\nmetadata:\n  labels: &x {a: yes, 'b': \"c\"}\nspec:\n  headGroupSpec:\n    template: {<<: *x, n: 0x10, d: 2026-01-01}\n"))
	f.Add([]byte("kind: |\n  a\n   b\nmetadata: {name: !!str 1}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var m raygatev2.RayCluster
		if Decode(data, YAML, &m) != nil {
			return
		}
		checkEncoding(t, &m)
	})
}

func checkEncoding(t *testing.T, m *raygatev2.RayCluster) {
	t.Helper()
	asJSON, err := Encode(m, JSON)
	if err != nil {
		t.Fatal(err)
	}
	asYAML, err := Encode(m, YAML)
	if err != nil {
		t.Fatal(err)
	}
	fromYAML, err := yaml.YAMLToJSONStrict(asYAML)
	if err != nil {
		t.Fatalf("kubectl cannot read our YAML: %v\n%s", err, asYAML)
	}
	for contentType, data := range map[string][]byte{JSON: asJSON, YAML: asYAML, "text/json": fromYAML} {
		var again raygatev2.RayCluster
		if err := Decode(data, contentType, &again); err != nil {
			t.Fatalf("decoding what we wrote as %s: %v\n%s", contentType, err, data)
		}
		if !proto.Equal(m, &again) {
			t.Fatalf("message -> %s -> message (-want +got):\n%s\n%s", contentType, cmp.Diff(m, &again, protocmp.Transform()), data)
		}
	}
}
