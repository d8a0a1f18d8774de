package conversion

import (
	"encoding/json"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/randfill"
	"sigs.k8s.io/yaml"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	rayv1alpha1 "github.com/raygate/raygate/api/ray/v1alpha1"
)

var plurals = map[string]string{"RayCluster": "rayclusters", "RayJob": "rayjobs", "RayService": "rayservices"}

// schemas are what the API server would prune by, per kind and version.
func schemas(t testing.TB, kind string) map[string]*structuralschema.Structural {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("../../config/crd/bases", "ray.io_"+plurals[kind]+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.Unmarshal(raw, crd); err != nil {
		t.Fatal(err)
	}
	out := map[string]*structuralschema.Structural{}
	for _, v := range crd.Spec.Versions {
		props := &apiextensions.JSONSchemaProps{}
		if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(v.Schema.OpenAPIV3Schema, props, nil); err != nil {
			t.Fatal(err)
		}
		if out[v.Name], err = structuralschema.NewStructural(props); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// filler makes objects of every shape: nil next to empty, zero next to absent, quantities in odd spelling. What
// Kubernetes' own types hold is the same in both versions, so a few fields of them are enough.
func filler(seed int64) *randfill.Filler {
	quantities := []string{"0", "1000m", "1.50Gi", "1e3", "0.5", "100"}
	names := []string{"a", "b", "größe~/ω", "", "c", "d", "$index", "groupName"}
	return randfill.New().RandSource(rand.NewSource(seed)).NilChance(0.4).NumElements(0, 4).MaxDepth(20).Funcs(
		func(q *resource.Quantity, c randfill.Continue) {
			*q = resource.MustParse(quantities[c.Intn(len(quantities))])
		},
		func(v *intstr.IntOrString, c randfill.Continue) {
			*v = []intstr.IntOrString{intstr.FromInt32(int32(c.Intn(9))), intstr.FromString("http")}[c.Intn(2)]
		},
		func(v *metav1.Time, c randfill.Continue) { *v = metav1.Unix(int64(c.Intn(1_000_000)), 0) },
		func(v *corev1.PodTemplateSpec, c randfill.Continue) {
			v.Labels = map[string]string{"a": names[c.Intn(len(names))]}
			v.Spec.Containers = make([]corev1.Container, c.Intn(3))
			for i := range v.Spec.Containers {
				v.Spec.Containers[i].Name = fmt.Sprint("c", i)
				c.Fill(&v.Spec.Containers[i].Resources)
			}
		},
		func(v *corev1.Service, c randfill.Continue) { v.Name = names[c.Intn(len(names))] },
		func(v *corev1.EnvVar, c randfill.Continue) { v.Name, v.Value = names[c.Intn(len(names))], c.String(3) },
		func(v *corev1.EnvFromSource, _ randfill.Continue) {},
		func(v *corev1.EnvVarSource, _ randfill.Continue) {},
		func(v *corev1.VolumeMount, _ randfill.Continue) {},
		func(v *corev1.SecurityContext, _ randfill.Continue) {},
		func(v *metav1.ObjectMeta, c randfill.Continue) {
			v.Name, v.UID = "demo", "u"
			if c.Bool() {
				v.Annotations = map[string]string{"x": c.String(5)}
			}
			v.Finalizers = names[:c.Intn(2)]
		},
		func(v *rayv1.WorkerGroupSpec, c randfill.Continue) {
			c.FillNoCustom(v)
			v.GroupName = names[c.Intn(len(names))]
		},
		func(v *rayv1alpha1.WorkerGroupSpec, c randfill.Continue) {
			c.FillNoCustom(v)
			v.GroupName = names[c.Intn(len(names))]
		},
	)
}

// random returns a tree as the API server would hand it over: schema-valid in its shape, without nulls, and with some
// zero values written out and some objects left out, which Go types cannot express.
func random(t testing.TB, seed int64, obj runtime.Object, gvk schema.GroupVersionKind) map[string]any {
	t.Helper()
	f := filler(seed)
	f.Fill(obj)
	raw, err := json.Marshal(obj)
	if err != nil {
		t.Fatal(err)
	}
	tree := map[string]any{}
	if err := utiljson.Unmarshal(raw, &tree); err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewSource(seed))
	thin(r, tree, "", gvk.Version == "v1alpha1")
	tree["apiVersion"], tree["kind"] = gvk.GroupVersion().String(), gvk.Kind
	return tree
}

// thin drops nulls, some empty objects, and some fields; those that v1alpha1 requires get a value instead.
func thin(r *rand.Rand, obj map[string]any, parent string, isOld bool) {
	required := []string{"rayStartParams", "entrypoint", "metadata", "groupName"}
	names := make([]string, 0, len(obj))
	for name := range obj {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if name == "metadata" && parent == "" {
			continue // the API server passes it through Go types, so it has no odd shapes
		}
		keep := isOld && slices.Contains(required, name) || name == "groupName" || name == "metadata"
		switch value := obj[name].(type) {
		case nil:
			delete(obj, name)
			if keep {
				obj[name] = map[string]any{}
			}
			continue
		case map[string]any:
			thin(r, value, name, isOld)
		case []any:
			for _, element := range value {
				if element, ok := element.(map[string]any); ok {
					thin(r, element, name, isOld)
				}
			}
		}
		if !keep && parent != "metadata" && r.Intn(12) == 0 {
			delete(obj, name)
		}
	}
	if parent == "workerGroupSpecs" && !isOld && r.Intn(3) == 0 {
		obj["numOfHosts"] = int64(0)
		obj["suspend"] = false
	}
}

// types are the Go types of each kind: v1, then v1alpha1.
var types = map[string][2]func() runtime.Object{
	"RayCluster": {func() runtime.Object { return &rayv1.RayCluster{} }, func() runtime.Object { return &rayv1alpha1.RayCluster{} }},
	"RayJob":     {func() runtime.Object { return &rayv1.RayJob{} }, func() runtime.Object { return &rayv1alpha1.RayJob{} }},
	"RayService": {func() runtime.Object { return &rayv1.RayService{} }, func() runtime.Object { return &rayv1alpha1.RayService{} }},
}

// checkRoundTrip demands identity there and back, and that neither version is given a field that its schema lacks, which
// would make server-side apply fail.
func checkRoundTrip(t testing.TB, want map[string]any, there schema.GroupVersion, structural map[string]*structuralschema.Structural) {
	t.Helper()
	back, err := schema.ParseGroupVersion(want["apiVersion"].(string))
	if err != nil {
		t.Fatal(err)
	}
	seen := convert(t, want, there)
	if unknown := pruning.PruneWithOptions(runtime.DeepCopyJSON(seen), structural[there.Version], true, structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true}); len(unknown) > 0 {
		t.Fatalf("%s has fields that its schema does not declare: %v", there, unknown)
	}
	if got := convert(t, seen, back); !reflect.DeepEqual(want, got) {
		t.Fatalf("there and back (-want +got):\n%s", cmp.Diff(want, got))
	}
}

func TestRoundTripOfRandomObjects(t *testing.T) {
	n := 500
	if testing.Short() {
		n = 100
	}
	for kind, make := range types {
		t.Run(kind, func(t *testing.T) {
			structural := schemas(t, kind)
			preserved := 0
			for seed := range int64(n) {
				v1 := random(t, seed, make[hub](), rayv1.GroupVersion.WithKind(kind))
				checkRoundTrip(t, v1, rayv1alpha1.GroupVersion, structural)
				if len(split(plans[kind], runtime.DeepCopyJSON(v1), hub)) > 0 {
					preserved++
				}
				checkRoundTrip(t, random(t, seed, make[old](), rayv1alpha1.GroupVersion.WithKind(kind)), rayv1.GroupVersion, structural)
			}
			if preserved < n/2 {
				t.Errorf("only %d of %d random objects had a field that only v1 has", preserved, n)
			}
		})
	}
}

// An old client that drops the preserved fields, and changes nothing else, must end up with all that was there.
func TestRestoreOfRandomObjects(t *testing.T) {
	for kind, make := range types {
		t.Run(kind, func(t *testing.T) {
			for seed := range int64(200) {
				before := random(t, seed, make[hub](), rayv1.GroupVersion.WithKind(kind))
				seen := convert(t, before, rayv1alpha1.GroupVersion)
				removeAnnotation(seen, AnnotationHubExtra)
				after := convert(t, seen, rayv1.GroupVersion)
				Restore(after, runtime.DeepCopyJSON(before), nil)
				if hasTwins(before) {
					continue // two groups of one name: the API server refuses those
				}
				// Values that split filled in stay: they mean the same as none.
				want := split(plans[kind], runtime.DeepCopyJSON(before), hub)
				got := split(plans[kind], runtime.DeepCopyJSON(after), hub)
				if diff := cmp.Diff(withoutMarks(want), withoutMarks(got)); diff != "" {
					t.Fatalf("seed %d: fields that only v1 has (-before +after):\n%s", seed, diff)
				}
			}
		})
	}
}

func hasTwins(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		for _, below := range v {
			if hasTwins(below) {
				return true
			}
		}
	case []any:
		seen := map[any]bool{}
		for _, element := range v {
			obj, ok := element.(map[string]any)
			if name, has := obj["groupName"]; ok && has {
				if seen[name] || name == "" {
					return true
				}
				seen[name] = true
			}
			if hasTwins(element) {
				return true
			}
		}
	}
	return false
}

func withoutMarks(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for name, below := range v {
			if below = withoutMarks(below); below != nil && !strings.HasPrefix(name, "$") && name != "groupName" {
				out[name] = below
			}
		}
		if len(out) == 0 {
			return nil
		}
		return out
	case []any:
		var out []any
		for _, below := range v {
			if below = withoutMarks(below); below != nil {
				out = append(out, below)
			}
		}
		if len(out) == 0 {
			return nil
		}
		return out
	}
	return v
}

// The fields that v1alpha1 requires and v1 does not are written down by hand; the CRDs know them too.
func TestFillsAreWhatTheSchemasDemand(t *testing.T) {
	for kind, plan := range plans {
		t.Run(kind, func(t *testing.T) {
			s := schemas(t, kind)
			compareRequired(t, plan, s["v1"], s["v1alpha1"], "")
		})
	}
}

func compareRequired(t *testing.T, n *node, v1, v1alpha1 *structuralschema.Structural, path string) {
	t.Helper()
	required := func(s *structuralschema.Structural, name string) bool {
		p := s.Properties[name]
		return s.ValueValidation != nil && slices.Contains(s.ValueValidation.Required, name) && p.Default.Object == nil
	}
	for name, f := range n.fields {
		if want, got := required(v1alpha1, name) && !required(v1, name), f.fill != nil; want != got {
			t.Errorf("%s.%s: required by v1alpha1 only %t, filled %t", path, name, want, got)
		}
		if f.node == nil {
			continue
		}
		a, b := v1.Properties[name], v1alpha1.Properties[name]
		below := path + "." + name
		switch {
		case f.node.items != nil:
			compareRequired(t, f.node.items, a.Items, b.Items, below+"[]")
		case f.node.values != nil:
			compareRequired(t, f.node.values, a.AdditionalProperties.Structural, b.AdditionalProperties.Structural, below+"{}")
		default:
			compareRequired(t, f.node, &a, &b, below)
		}
	}
}

// FuzzRoundTrip converts whatever JSON there is, in both directions. It must not panic, must not touch identity, and
// objects of v1 must come back as they were.
func FuzzRoundTrip(f *testing.F) {
	for _, seed := range []string{
		`{"apiVersion":"ray.io/v1","kind":"RayCluster","metadata":{"name":"a"},"spec":{"managedBy":"x","workerGroupSpecs":[{"groupName":"g","numOfHosts":2},{"groupName":"g","labels":{}}]}}`,
		`{"apiVersion":"ray.io/v1","kind":"RayJob","metadata":{"annotations":{"a":"b"}},"spec":{"backoffLimit":1,"rayClusterSpec":{"headGroupSpec":{"labels":{"a":"b"}}}},"status":{"reason":"x"}}`,
		`{"apiVersion":"ray.io/v1","kind":"RayCronJob","metadata":{"name":"a"},"spec":{"schedule":"@daily","future":1,"jobTemplate":{"backoffLimit":1}},"status":{}}`,
		`{"apiVersion":"ray.io/v1","kind":"RayService","spec":{"suspend":true},"status":{"activeServiceStatus":{"applicationStatuses":{"a":{"serveDeploymentStatuses":{"d":null}}}}}}`,
		`{"apiVersion":"ray.io/v1alpha1","kind":"RayCluster","metadata":{"annotations":{"conversion.ray.io/v1-extra":"{\"$format\":1,\"spec\":{\"managedBy\":\"m\",\"workerGroupSpecs\":[{\"$index\":-1}]}}"}},"spec":{"workerGroupSpecs":[{}]}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		obj := map[string]any{}
		if utiljson.Unmarshal(raw, &obj) != nil {
			t.Skip()
		}
		there := runtime.DeepCopyJSON(obj)
		wanted := rayv1alpha1.GroupVersion
		if obj["apiVersion"] == wanted.String() {
			wanted = rayv1.GroupVersion
		}
		if Convert(there, wanted) != nil {
			t.Skip()
		}
		if _, err := utiljson.Marshal(there); err != nil {
			t.Fatalf("the result is no JSON: %v", err)
		}
		if there["kind"] != obj["kind"] || there["apiVersion"] != wanted.String() {
			t.Fatalf("kind %v and apiVersion %v, want %v and %s", there["kind"], there["apiVersion"], obj["kind"], wanted)
		}
		Restore(runtime.DeepCopyJSON(obj), runtime.DeepCopyJSON(there), runtime.DeepCopyJSON(obj))
		if wanted == rayv1.GroupVersion || !plain(obj) {
			return
		}
		back := runtime.DeepCopyJSON(there)
		if err := Convert(back, rayv1.GroupVersion); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(obj, back) {
			t.Fatalf("there and back (-want +got):\n%s", cmp.Diff(obj, back))
		}
	})
}

// plain leaves out what cannot come from an API server: names with a dollar, annotations of our own, metadata that is
// none, empty annotations, and values that do not fit their type, which are dropped on the way back on purpose.
func plain(obj map[string]any) bool {
	raw, err := json.Marshal(obj)
	if err != nil || strings.Contains(string(raw), `"$`) || strings.Contains(string(raw), "conversion.ray.io") {
		return false
	}
	metadata, ok := obj["metadata"].(map[string]any)
	if _, has := obj["metadata"]; has && (!ok || len(metadata) == 0) {
		return false
	}
	annotations, ok := metadata["annotations"].(map[string]any)
	if _, has := metadata["annotations"]; has && (!ok || len(annotations) == 0) {
		return false
	}
	kind, _ := obj["kind"].(string)
	return json.Unmarshal(raw, types[kind][hub]()) == nil
}

func BenchmarkConvert(b *testing.B) {
	for _, groups := range []int{1, 50} {
		b.Run(fmt.Sprintf("groups=%d", groups), func(b *testing.B) {
			obj := object(b, everything)
			spec := obj["spec"].(map[string]any)
			group := spec["workerGroupSpecs"].([]any)[0].(map[string]any)
			var list []any
			for i := range groups {
				g := runtime.DeepCopyJSON(group)
				g["groupName"] = fmt.Sprint("group-", i)
				list = append(list, g)
			}
			spec["workerGroupSpecs"] = list
			raw, err := utiljson.Marshal(obj)
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(raw)))
			for b.Loop() {
				tree := map[string]any{}
				if err := utiljson.Unmarshal(raw, &tree); err != nil {
					b.Fatal(err)
				}
				for _, gv := range []schema.GroupVersion{rayv1alpha1.GroupVersion, rayv1.GroupVersion} {
					if err := Convert(tree, gv); err != nil {
						b.Fatal(err)
					}
				}
				if _, err := utiljson.Marshal(tree); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
