package v2_test

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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "sigs.k8s.io/json"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/apiserver/internal/model/codec"
	modelv2 "github.com/raygate/raygate/apiserver/internal/model/v2"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

func fromRay(t testing.TB, rc *rayv1.RayCluster) *raygatev2.RayCluster {
	t.Helper()
	m, err := modelv2.ClusterFromRay(rc)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestRoundTripOfRandomClusters(t *testing.T) {
	for seed := range int64(40) {
		rc := randomCluster(seed, 0.5, 2)
		checkJSONIsTheResources(t, rc, checkRoundTrip(t, rc))
	}
}

// FuzzRoundTrip looks for a cluster that does not survive.
func FuzzRoundTrip(f *testing.F) {
	f.Add(int64(1), uint8(50))
	f.Fuzz(func(t *testing.T, seed int64, nilPercent uint8) {
		rc := randomCluster(seed, 0.2+float64(nilPercent%80)/100, 2)
		checkJSONIsTheResources(t, rc, checkRoundTrip(t, rc))
	})
}

func checkRoundTrip(t *testing.T, rc *rayv1.RayCluster) *raygatev2.RayCluster {
	t.Helper()
	m := fromRay(t, rc)
	back, errs := modelv2.ClusterToRay(m)
	if len(errs) > 0 {
		t.Fatalf("ClusterToRay: %v", errs.ToAggregate())
	}
	if !equality.Semantic.DeepEqual(rc, back) {
		t.Fatalf("resource -> message -> resource (-want +got):\n%s", cmp.Diff(rc, back))
	}
	if before, after := jsonOf(t, rc, false), jsonOf(t, back, false); !reflect.DeepEqual(before, after) {
		t.Fatalf("JSON of the resource before and after (-want +got):\n%s", cmp.Diff(before, after))
	}
	if again := fromRay(t, back); !proto.Equal(m, again) {
		t.Fatalf("message -> resource -> message (-want +got):\n%s", cmp.Diff(m, again, protocmp.Transform()))
	}
	for _, contentType := range []string{codec.JSON, codec.YAML} {
		data, err := codec.Encode(m, contentType)
		if err != nil {
			t.Fatalf("encoding %s: %v", contentType, err)
		}
		var decoded raygatev2.RayCluster
		if err := codec.Decode(data, contentType, &decoded); err != nil {
			t.Fatalf("decoding %s: %v", contentType, err)
		}
		if !proto.Equal(m, &decoded) { // asked first because Diff takes long to find none
			t.Fatalf("message -> %s -> message (-want +got):\n%s", contentType, cmp.Diff(m, &decoded, protocmp.Transform()))
		}
	}
	return m
}

// checkJSONIsTheResources is what lets the output be piped to kubectl apply.
func checkJSONIsTheResources(t *testing.T, rc *rayv1.RayCluster, m *raygatev2.RayCluster) {
	t.Helper()
	data, err := codec.Encode(m, codec.JSON)
	if err != nil {
		t.Fatal(err)
	}
	var asKubernetes rayv1.RayCluster
	strict, err := kjson.UnmarshalStrict(data, &asKubernetes)
	if err != nil || len(strict) > 0 {
		t.Fatalf("Kubernetes refuses our JSON: %v %v", err, strict)
	}
	if !equality.Semantic.DeepEqual(rc, &asKubernetes) {
		t.Fatalf("Kubernetes reads our JSON as another object (-want +got):\n%s", cmp.Diff(rc, &asKubernetes))
	}
	var ours any
	if err := json.Unmarshal(data, &ours); err != nil {
		t.Fatal(err)
	}
	if want, got := jsonOf(t, rc, true), prune(ours, true); !reflect.DeepEqual(want, got) {
		t.Fatalf("JSON of the resource and of the message (-want +got):\n%s", cmp.Diff(want, got))
	}
}

func jsonOf(t *testing.T, rc *rayv1.RayCluster, dropEmpty bool) any {
	t.Helper()
	data, err := json.Marshal(rc)
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
	// A random string may be empty, so a field counts as never filled only if no seed filled it.
	const seeds = 2
	unset := map[string]int{}
	for seed := range int64(seeds) {
		rc := randomCluster(seed, 0, 1)
		collectUnset(fromRay(t, rc).ProtoReflect(), "", unset)
		checkJSONIsTheResources(t, rc, checkRoundTrip(t, rc))
	}
	for path, times := range unset {
		if times == seeds {
			t.Errorf("%s is not filled by ClusterFromRay", path)
		}
	}
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
		rc := &rayv1.RayCluster{TypeMeta: metav1.TypeMeta{APIVersion: "ray.io/v1", Kind: "RayCluster"}}
		rc.Spec.HeadGroupSpec.Template.Spec.TerminationGracePeriodSeconds = &n
		rc.Generation = n
		checkRoundTrip(t, rc)
	}
}

func TestNilAndEmptyInput(t *testing.T) {
	if m, err := modelv2.ClusterFromRay(nil); m != nil || err != nil {
		t.Errorf("ClusterFromRay(nil) = %v, %v", m, err)
	}
	if m := modelv2.ClusterBasic(nil); m != nil {
		t.Errorf("ClusterBasic(nil) = %v", m)
	}
	rc, errs := modelv2.ClusterToRay(nil)
	want := &rayv1.RayCluster{TypeMeta: metav1.TypeMeta{APIVersion: "ray.io/v1", Kind: "RayCluster"}}
	if diff := cmp.Diff(want, rc); diff != "" || len(errs) > 0 {
		t.Errorf("ClusterToRay(nil): %v (-want +got):\n%s", errs, diff)
	}
}

func TestStartParamsTellEmptyFromAbsent(t *testing.T) {
	for name, tc := range map[string]struct {
		params map[string]string
		want   string
	}{
		"absent": {nil, `{"template":{}}`},
		"empty":  {map[string]string{}, `{"template":{},"rayStartParams":{}}`},
	} {
		t.Run(name, func(t *testing.T) {
			rc := &rayv1.RayCluster{}
			rc.Spec.HeadGroupSpec.RayStartParams = tc.params
			m := fromRay(t, rc)
			data, err := codec.Encode(m.Spec.HeadGroupSpec, codec.JSON)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, string(data)); diff != "" {
				t.Errorf("head group (-want +got):\n%s", diff)
			}
			back, _ := modelv2.ClusterToRay(m)
			if diff := cmp.Diff(tc.params, back.Spec.HeadGroupSpec.RayStartParams); diff != "" {
				t.Errorf("rayStartParams (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLastAppliedAnnotationIsDropped(t *testing.T) {
	const key = "kubectl.kubernetes.io/last-applied-configuration"
	rc := &rayv1.RayCluster{}
	rc.Annotations = map[string]string{key: "{}", "keep": "this"}
	want := map[string]string{"keep": "this"}
	if diff := cmp.Diff(want, fromRay(t, rc).Metadata.Annotations); diff != "" {
		t.Errorf("ClusterFromRay (-want +got):\n%s", diff)
	}
	if len(rc.Annotations) != 2 {
		t.Error("ClusterFromRay changed its input")
	}
	back, _ := modelv2.ClusterToRay(&raygatev2.RayCluster{Metadata: &raygatev2.ObjectMeta{Annotations: rc.Annotations}})
	if diff := cmp.Diff(want, back.Annotations); diff != "" {
		t.Errorf("ClusterToRay (-want +got):\n%s", diff)
	}
}

func TestMessagesShareNothingWithTheResource(t *testing.T) {
	rc := randomCluster(7, 0, 2)
	before := rc.DeepCopy()
	m := fromRay(t, rc)
	*m.Spec.Suspend = !*m.Spec.Suspend
	*m.Spec.WorkerGroupSpecs[0].Replicas++
	for key := range m.Metadata.Labels {
		m.Metadata.Labels[key] = "changed"
	}
	m.Metadata.Finalizers[0] = "changed"
	if diff := cmp.Diff(before, rc); diff != "" {
		t.Errorf("changing the message changed the resource (-want +got):\n%s", diff)
	}
}

// FuzzClusterToRay decodes any wire bytes. Nothing may panic, and what is taken must come back the same.
func FuzzClusterToRay(f *testing.F) {
	// Small seeds: large ones keep the fuzzer busy shrinking them.
	small := &rayv1.RayCluster{}
	small.Name = "a"
	small.Spec.HeadGroupSpec.RayStartParams = map[string]string{"port": "1"}
	for _, rc := range []*rayv1.RayCluster{small, exampleCluster(f)} {
		data, err := proto.Marshal(fromRay(f, rc))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var m raygatev2.RayCluster
		if proto.Unmarshal(data, &m) != nil {
			return
		}
		rc, errs := modelv2.ClusterToRay(&m)
		if len(errs) > 0 {
			for _, e := range errs {
				if e.Field == "" || e.Detail == "" || e.Origin == "" {
					t.Errorf("an error without path, text or reason: %#v", e)
				}
			}
			return
		}
		checkRoundTrip(t, rc)
	})
}

func BenchmarkClusterFromRay(b *testing.B) {
	rc := exampleCluster(b)
	b.Run("full", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			fromRay(b, rc)
		}
	})
	b.Run("basic", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			modelv2.ClusterBasic(rc)
		}
	})
	b.Run("by encoding/json", func(b *testing.B) { // what the walk is to beat
		b.ReportAllocs()
		for b.Loop() {
			data, err := json.Marshal(rc)
			if err != nil {
				b.Fatal(err)
			}
			if err := codec.Decode(data, codec.JSON, &raygatev2.RayCluster{}); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkClusterToRay(b *testing.B) {
	m := fromRay(b, exampleCluster(b))
	b.ReportAllocs()
	for b.Loop() {
		if _, errs := modelv2.ClusterToRay(m); len(errs) > 0 {
			b.Fatal(errs)
		}
	}
}

func BenchmarkEncode(b *testing.B) {
	rc := exampleCluster(b)
	for name, m := range map[string]*raygatev2.RayCluster{"full": fromRay(b, rc), "basic": modelv2.ClusterBasic(rc)} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := codec.Encode(m, codec.JSON); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
