package convert_test

import (
	"encoding/json"
	"math"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	"k8s.io/apimachinery/pkg/api/equality"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/clients/go/convert"
	"github.com/raygate/raygate/pkg/manifest"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// modelled is a resource and the message that mirrors it.
type modelled struct {
	name    string
	object  func() convert.Object
	message proto.Message
}

var kinds = []modelled{
	{"RayCluster", func() convert.Object { return &rayv1.RayCluster{} }, &raygatev2.RayCluster{}},
	{"RayJob", func() convert.Object { return &rayv1.RayJob{} }, &raygatev2.RayJob{}},
	{"RayService", func() convert.Object { return &rayv1.RayService{} }, &raygatev2.RayService{}},
	{"RayCronJob", func() convert.Object { return &rayv1.RayCronJob{} }, &raygatev2.RayCronJob{}},
}

func (k modelled) empty() proto.Message { return k.message.ProtoReflect().New().Interface() }

// fromRay makes a message of an object in the way in which the gateway makes one of what is stored.
func fromRay(t testing.TB, kind modelled, object convert.Object) proto.Message {
	t.Helper()
	data, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	tree, err := manifest.ParseTree(data)
	if err != nil {
		t.Fatal(err)
	}
	m := kind.empty()
	convert.FillKnown(m, tree)
	return m
}

func toRay(t testing.TB, kind modelled, m proto.Message) convert.Object {
	t.Helper()
	object := kind.object()
	if errs := manifest.Decode(convert.Tree(m), object, nil); len(errs) > 0 {
		t.Fatal(errs.ToAggregate())
	}
	return object
}

func eachKind(t *testing.T, run func(t *testing.T, kind modelled)) {
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) { run(t, kind) })
	}
}

func TestRoundTripOfRandomObjects(t *testing.T) {
	eachKind(t, func(t *testing.T, kind modelled) {
		for seed := range int64(15) {
			object := random(kind, seed, 0.5, 2)
			checkJSONIsTheResources(t, kind, object, checkRoundTrip(t, kind, object))
		}
	})
}

// FuzzRoundTrip looks for an object that does not survive.
func FuzzRoundTrip(f *testing.F) {
	for i := range kinds {
		f.Add(int64(1), uint8(50), uint8(i))
	}
	f.Fuzz(func(t *testing.T, seed int64, nilPercent, which uint8) {
		kind := kinds[int(which)%len(kinds)]
		object := random(kind, seed, 0.2+float64(nilPercent%80)/100, 2)
		checkJSONIsTheResources(t, kind, object, checkRoundTrip(t, kind, object))
	})
}

func checkRoundTrip(t *testing.T, kind modelled, object convert.Object) proto.Message {
	t.Helper()
	m := fromRay(t, kind, object)
	back := toRay(t, kind, m)
	if !equality.Semantic.DeepEqual(object, back) {
		t.Fatalf("resource -> message -> resource (-want +got):\n%s", cmp.Diff(object, back))
	}
	if before, after := jsonOf(t, object, false), jsonOf(t, back, false); !reflect.DeepEqual(before, after) {
		t.Fatalf("JSON of the resource before and after (-want +got):\n%s", cmp.Diff(before, after))
	}
	if again := fromRay(t, kind, back); !proto.Equal(m, again) {
		t.Fatalf("message -> resource -> message (-want +got):\n%s", cmp.Diff(m, again, protocmp.Transform()))
	}
	asJSON, err := json.Marshal(convert.Tree(m))
	if err != nil {
		t.Fatal(err)
	}
	asYAML, err := yaml.JSONToYAML(asJSON)
	if err != nil {
		t.Fatal(err)
	}
	for text, isYAML := range map[string]bool{string(asJSON): false, string(asYAML): true} {
		tree, mistakes := manifest.Read([]byte(text), isYAML)
		if len(mistakes) > 0 {
			t.Fatalf("reading %s: %v", text, mistakes)
		}
		decoded := kind.empty()
		convert.FillKnown(decoded, tree)
		if !proto.Equal(m, decoded) { // asked first because Diff takes long to find none
			t.Fatalf("message -> text -> message (-want +got):\n%s", cmp.Diff(m, decoded, protocmp.Transform()))
		}
	}
	return m
}

// checkJSONIsTheResources is what lets the output be piped to kubectl apply.
func checkJSONIsTheResources(t *testing.T, kind modelled, object convert.Object, m proto.Message) {
	t.Helper()
	tree := convert.Tree(m)
	if errs := manifest.Decode(tree, kind.object(), nil); len(errs) > 0 { // which makes numbers of large integers
		t.Fatal(errs.ToAggregate())
	}
	data, err := json.Marshal(tree)
	if err != nil {
		t.Fatal(err)
	}
	asKubernetes := kind.object()
	strict, err := kjson.UnmarshalStrict(data, asKubernetes)
	if err != nil || len(strict) > 0 {
		t.Fatalf("Kubernetes refuses our JSON: %v %v", err, strict)
	}
	if !equality.Semantic.DeepEqual(object, asKubernetes) {
		t.Fatalf("Kubernetes reads our JSON as another object (-want +got):\n%s", cmp.Diff(object, asKubernetes))
	}
	var ours any
	if err := json.Unmarshal(data, &ours); err != nil {
		t.Fatal(err)
	}
	if want, got := jsonOf(t, object, true), prune(ours, true); !reflect.DeepEqual(want, got) {
		t.Fatalf("JSON of the resource and of the message (-want +got):\n%s", cmp.Diff(want, got))
	}
}

func jsonOf(t *testing.T, object any, dropEmpty bool) any {
	t.Helper()
	data, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	var out any
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	return prune(out, dropEmpty)
}

// prune drops what a Kubernetes API server drops or never sees: nulls and, if asked, the empty objects Go prints for structs.
func prune(v any, dropEmpty bool) any {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			value = prune(value, dropEmpty)
			if m, ok := value.(map[string]any); value == nil || dropEmpty && ok && len(m) == 0 {
				delete(v, key)
				continue
			}
			v[key] = value
		}
	case []any:
		for i := range v {
			v[i] = prune(v[i], dropEmpty)
		}
	}
	return v
}

func TestEveryFieldOfTheMessageIsFilled(t *testing.T) {
	eachKind(t, func(t *testing.T, kind modelled) {
		// A random string may be empty, so a field counts as never filled only if no seed filled it.
		const seeds = 4
		unset := map[string]int{}
		for seed := range int64(seeds) {
			object := random(kind, seed, 0, 1)
			collectUnset(fromRay(t, kind, object).ProtoReflect(), "", unset)
			checkJSONIsTheResources(t, kind, object, checkRoundTrip(t, kind, object))
		}
		for path, times := range unset {
			if times == seeds {
				t.Errorf("%s is not filled", path)
			}
		}
	})
}

func collectUnset(m protoreflect.Message, path string, unset map[string]int) {
	switch m.Interface().(type) {
	case *structpb.Struct, *timestamppb.Timestamp:
		return
	}
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		fd := fields.Get(i)
		at := path + "." + fd.JSONName()
		switch {
		case !m.Has(fd):
			unset[at]++
		case fd.IsList() && fd.Message() != nil:
			collectUnset(m.Get(fd).List().Get(0).Message(), at, unset)
		case !fd.IsMap() && !fd.IsList() && fd.Message() != nil:
			collectUnset(m.Get(fd).Message(), at, unset)
		}
	}
}

// TestIntegersThatAStructCannotHold shows what becomes of the few 64-bit fields of Kubernetes when someone fills them to the brim.
func TestIntegersThatAStructCannotHold(t *testing.T) {
	for _, n := range []int64{1 << 53, 1<<53 + 1, math.MaxInt64, -1<<53 - 1, math.MinInt64} {
		rc := kinds[0].object().(*rayv1.RayCluster)
		rc.APIVersion, rc.Kind = "ray.io/v1", "RayCluster"
		rc.Spec.HeadGroupSpec.Template.Spec.TerminationGracePeriodSeconds = &n
		rc.Generation = n
		checkJSONIsTheResources(t, kinds[0], rc, checkRoundTrip(t, kinds[0], rc))
	}
}

// An object that the API server stores may have fields that the messages lack.
func TestFillKnownLeavesOutWhatItDoesNotKnow(t *testing.T) {
	tree, err := manifest.ParseTree([]byte(`{"kind":"RayCluster","new":{"a":1},"metadata":{"name":"demo","generation":"many","newer":[1]},
		"spec":{"rayVersion":7,"suspend":"perhaps","workerGroupSpecs":[{"groupName":"a","newest":true},"odd",{"replicas":3000000000}],"headGroupSpec":null},
		"status":{"lastUpdateTime":"noon","desiredCPU":4,"endpoints":{"a":"1","b":2.5},"conditions":{"no":"list"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	got := &raygatev2.RayCluster{}
	convert.FillKnown(got, tree)
	want := &raygatev2.RayCluster{
		Kind: "RayCluster", Metadata: &raygatev2.ObjectMeta{Name: "demo"},
		Spec:   &raygatev2.RayClusterSpec{RayVersion: "7", WorkerGroupSpecs: []*raygatev2.WorkerGroupSpec{{GroupName: new("a")}, {}}},
		Status: &raygatev2.RayClusterStatus{DesiredCpu: "4", Endpoints: map[string]string{"a": "1"}},
	}
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Errorf("message (-want +got):\n%s", diff)
	}
}

func TestStartParamsTellEmptyFromAbsent(t *testing.T) {
	for name, tc := range map[string]struct{ stored, want string }{
		"absent": {`{"headGroupSpec":{"template":{}}}`, `{"headGroupSpec":{"template":{}}}`},
		"empty":  {`{"headGroupSpec":{"template":{},"rayStartParams":{}}}`, `{"headGroupSpec":{"rayStartParams":{},"template":{}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			tree, err := manifest.ParseTree([]byte(tc.stored))
			if err != nil {
				t.Fatal(err)
			}
			m := &raygatev2.RayClusterSpec{}
			convert.FillKnown(m, tree)
			data, err := json.Marshal(convert.Tree(m))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, string(data)); diff != "" {
				t.Errorf("head group (-want +got):\n%s", diff)
			}
		})
	}
}

// FuzzDecode decodes any wire bytes. Nothing may panic, and what is taken must come back the same.
func FuzzDecode(f *testing.F) {
	// Small seeds: large ones keep the fuzzer busy shrinking them.
	small := &rayv1.RayCluster{}
	small.Name = "a"
	small.Spec.HeadGroupSpec.RayStartParams = map[string]string{"port": "1"}
	for _, rc := range []*rayv1.RayCluster{small, exampleCluster(f)} {
		data, err := proto.Marshal(fromRay(f, kinds[0], rc))
		if err != nil {
			f.Fatal(err)
		}
		for i := range kinds {
			f.Add(data, uint8(i))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, which uint8) {
		kind := kinds[int(which)%len(kinds)]
		m := kind.empty()
		if proto.Unmarshal(data, m) != nil {
			return
		}
		tree := convert.Tree(m)
		object := kind.object()
		if errs := manifest.Decode(tree, object, nil); len(errs) > 0 {
			for _, e := range errs {
				if e.Field == "" || e.Detail == "" || e.Origin == "" {
					t.Errorf("an error without path, text or reason: %#v", e)
				}
			}
			return
		}
		object.GetObjectKind().SetGroupVersionKind(rayv1.GroupVersion.WithKind(kind.name))
		checkRoundTrip(t, kind, object)
	})
}

// FuzzFillKnown: no JSON breaks the way from what is stored to a message.
func FuzzFillKnown(f *testing.F) {
	f.Add([]byte(`{"metadata":{"labels":{"a":null}},"spec":{"workerGroupSpecs":[null,{"template":[1]}]},"status":{"lastUpdateTime":"2026-01-31T12:00:00.5Z"}}`), uint8(0))
	f.Fuzz(func(_ *testing.T, data []byte, which uint8) {
		tree, err := manifest.ParseTree(data)
		if err != nil {
			return
		}
		m := kinds[int(which)%len(kinds)].empty()
		convert.FillKnown(m, tree)
		convert.Tree(m)
	})
}

func BenchmarkFillKnown(b *testing.B) {
	data, err := json.Marshal(exampleCluster(b))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		tree, err := manifest.ParseTree(data)
		if err != nil {
			b.Fatal(err)
		}
		convert.FillKnown(&raygatev2.RayCluster{}, tree)
	}
}

func BenchmarkDecode(b *testing.B) {
	m := fromRay(b, kinds[0], exampleCluster(b))
	b.ReportAllocs()
	for b.Loop() {
		toRay(b, kinds[0], m)
	}
}
