package admission

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/raygate/raygate/internal/testing/suite"
)

// atVersion is the client of a kind of Ray's at a version.
func atVersion(version, plural string) dynamic.ResourceInterface {
	return server.dynamic.Resource(schema.GroupVersionResource{Group: "ray.io", Version: version, Resource: plural}).Namespace(namespace)
}

// servedVersions are the versions of a kind, v1 first.
func servedVersions(t testing.TB, plural string) []string {
	t.Helper()
	crd, err := crds().Get(t.Context(), plural+".ray.io", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	var names []string
	for _, v := range versions {
		names = append(names, v.(map[string]any)["name"].(string))
	}
	slices.Sort(names)
	return names
}

// parse reads YAML as it comes over the wire: numbers are int64 or float64.
func parse(t testing.TB, text string) map[string]any {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON([]byte(`{"apiVersion":"v1","kind":"Any","content":` + string(raw) + `}`)); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return u.Object["content"].(map[string]any)
}

// smallest is the smallest object that all versions of a kind take. The fields of cluster are added to its cluster, and
// those of group to the only worker group.
func smallest(t testing.TB, plural, version, name, cluster, group string) *unstructured.Unstructured {
	t.Helper()
	const pod = "rayStartParams: {}, template: {spec: {containers: [{name: ray}]}}"
	text := "{headGroupSpec: {" + pod + "}, workerGroupSpecs: [{groupName: w, " + pod + group + "}]" + cluster + "}"
	kind := map[string]string{"rayclusters": "RayCluster", "rayjobs": "RayJob", "rayservices": "RayService", "raycronjobs": "RayCronJob"}[plural]
	switch plural {
	case "rayjobs":
		text = "{entrypoint: x, rayClusterSpec: " + text + "}"
	case "rayservices":
		text = "{serveConfigV2: 'applications: []', rayClusterConfig: " + text + "}"
	case "raycronjobs":
		text = "{schedule: '@daily', jobTemplate: {entrypoint: x, rayClusterSpec: " + text + "}}"
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "ray.io/" + version, "kind": kind, "metadata": map[string]any{"name": name}, "spec": parse(t, text),
	}}
}

// TestPruningEverywhere: unknown fields do not reach etcd through any version, nulls are dropped or replaced by
// the default, and what every object has stays.
func TestPruningEverywhere(t *testing.T) {
	for _, plural := range plurals {
		for _, version := range servedVersions(t, plural) {
			t.Run(plural+" "+version, func(t *testing.T) {
				u := smallest(t, plural, version, "garbage-"+version, ", someGarbage: 1, enableInTreeAutoscaling: null, autoscalerOptions: null",
					", someGarbage: {deep: [1]}, replicas: null, minReplicas: null, maxReplicas: null")
				u.Object["someGarbage"] = "at the root"
				u.Object["spec"].(map[string]any)["someGarbage"] = []any{"x"}
				u.Object["metadata"].(map[string]any)["someGarbage"] = "x"
				u.SetLabels(map[string]string{"a": "b"})
				got, err := atVersion(version, plural).Create(t.Context(), u, metav1.CreateOptions{})
				if err != nil {
					t.Fatal(err)
				}
				inEtcd := stored(t, "ray.io/"+plural, u.GetName())
				for where, object := range map[string]map[string]any{"the answer": got.Object, "etcd": inEtcd} {
					delete(object["metadata"].(map[string]any), "managedFields")
					text, err := json.Marshal(object)
					if err != nil {
						t.Fatal(err)
					}
					for _, gone := range []string{"someGarbage", "null", "enableInTreeAutoscaling", "autoscalerOptions"} {
						if strings.Contains(string(text), gone) {
							t.Errorf("%s has %s: %s", where, gone, text)
						}
					}
					for _, kept := range []string{`"replicas":0`, `"minReplicas":0`, `"maxReplicas":2147483647`, `"labels":{"a":"b"}`} {
						if !strings.Contains(string(text), kept) {
							t.Errorf("%s lacks %s: %s", where, kept, text)
						}
					}
				}
				if inEtcd["apiVersion"] != "ray.io/v1" {
					t.Errorf("stored as %v", inEtcd["apiVersion"])
				}
			})
		}
	}
}

// TestFreePartsOfSchemas: what opts out of pruning, what is pruned inside of it all the same, and what that means for
// embedded objects.
func TestFreePartsOfSchemas(t *testing.T) {
	suite.All(t, "fails only when Kubernetes changes")
	t.Parallel() // a CRD of its own takes seconds, most of them waiting
	client := install(t, "drawers", `{type: object, properties: {
json: {x-kubernetes-preserve-unknown-fields: true, properties: {
  spec: {type: object, properties: {foo: {type: string}, bar: {type: string}}},
  status: {type: object, x-kubernetes-preserve-unknown-fields: true}}},
anything: {x-kubernetes-preserve-unknown-fields: true},
object: {type: object, x-kubernetes-preserve-unknown-fields: true},
wrong: {type: object, x-kubernetes-int-or-string: true},
closed: {type: object, x-kubernetes-embedded-resource: true, properties: {
  kind: {type: string, default: Pod}, apiVersion: {type: string, default: v1}, spec: {type: object, default: {a: x}, properties: {a: {type: string}}}}},
open: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}}}`)
	for name, tc := range map[string]struct{ spec, want, refusal string }{
		"I2 declared parts of a free one are pruned": {
			spec: "{json: {spec: {foo: a, bar: b, other: c}, status: {any: {thing: 1}}, more: [1, {x: y}]}}",
			want: "{json: {spec: {foo: a, bar: b}, status: {any: {thing: 1}}, more: [1, {x: y}]}}",
		},
		"I2 what is around a free part is pruned":        {spec: "{json: {a: 1}, other: 1}", want: "{json: {a: 1}}"},
		"I3 a text where nothing is said":                {spec: "{anything: text}", want: "{anything: text}"},
		"I3 a list where nothing is said":                {spec: "{anything: [1, {a: null}]}", want: "{anything: [1, {a: null}]}"},
		"I3 an object where objects may stand":           {spec: "{object: {a: {b: 1}}}", want: "{object: {a: {b: 1}}}"},
		"I3 a text where objects may stand":              {spec: "{object: text}", refusal: "spec.object in body must be of type object"},
		"J1 a type beside number or text counts nothing": {spec: "{wrong: 1}", want: "{wrong: 1}"},
		"J1 the same, with a text":                       {spec: "{wrong: '1'}", want: "{wrong: '1'}"},
		"J1 but number or text it must be":               {spec: "{wrong: true}", refusal: "spec.wrong in body must be of type"},
		"J3 an embedded object without an apiVersion":    {spec: "{open: {kind: Pod}}", refusal: "spec.open.apiVersion: Required value"},
		"J3 an embedded object with a bad label":         {spec: "{open: {apiVersion: v1, kind: Pod, metadata: {labels: {'!': x}}}}", refusal: "spec.open.metadata.labels: Invalid value"},
		"J4 defaults of an embedded kind count":          {spec: "{closed: {spec: {}}}", want: "{closed: {apiVersion: v1, kind: Pod, spec: {}}}"},
		"J4 defaults for the rest of it":                 {spec: "{closed: {apiVersion: v1, kind: Pod}}", want: "{closed: {apiVersion: v1, kind: Pod, spec: {a: x}}}"},
		"J4 metadata that is declared nowhere stays":     {spec: "{closed: {apiVersion: v1, kind: Pod, metadata: {name: a, labels: {x: z}}, spec: {a: b, c: d}}}", want: "{closed: {apiVersion: v1, kind: Pod, metadata: {name: a, labels: {x: z}}, spec: {a: b}}}"},
		"J4 but only what metadata can have":             {spec: "{open: {apiVersion: v1, kind: Pod, metadata: {name: a, some: thing}, x: y}}", want: "{open: {apiVersion: v1, kind: Pod, metadata: {name: a}, x: y}}"},
	} {
		t.Run(name, func(t *testing.T) {
			u := thing(t, "drawers", "a", "{}")
			u.Object["spec"] = parse(t, tc.spec)
			got, err := client.Create(t.Context(), u, dryRun)
			wantRefusal(t, tc.spec, err, tc.refusal)
			if err != nil || tc.want == "" {
				return
			}
			if diff := cmp.Diff(parse(t, tc.want), got.Object["spec"]); diff != "" {
				t.Errorf("spec (-want +got):\n%s", diff)
			}
		})
	}
}

// TestRemovedFieldsAreHidden: a field that a schema loses is gone for clients at once and from etcd with the next
// write. So none is ever removed from ours; TestSchemaConstraints and TestFrozen see to that.
func TestRemovedFieldsAreHidden(t *testing.T) {
	suite.All(t, "fails only when Kubernetes changes")
	t.Parallel() // a CRD of its own takes seconds, most of them waiting
	const with, without = "{type: object, properties: {a: {type: string}, b: {type: string}}}", "{type: object, properties: {a: {type: string}}}"
	client := install(t, "shelves", with)
	for _, name := range []string{"untouched", "written"} {
		if _, err := client.Create(t.Context(), thing(t, "shelves", name, "{a: x, b: x}"), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	seen := func(ctx context.Context, name string) string {
		u, err := client.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err.Error()
		}
		return fmt.Sprint(u.Object["spec"])
	}
	inEtcd := func(name string) string { return fmt.Sprint(stored(t, "book.example.com/shelves", name)["spec"]) }
	changeFixture(t, "shelves", without)
	eventually(t, "the field to go", func(ctx context.Context) bool { return seen(ctx, "untouched") == "map[a:x]" })
	if got := inEtcd("untouched"); got != "map[a:x b:x]" {
		t.Errorf("etcd has %s, want what was stored", got)
	}
	if _, err := client.Patch(t.Context(), "written", types.MergePatchType, []byte(`{"metadata":{"labels":{"l":"v"}}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := inEtcd("written"); got != "map[a:x]" {
		t.Errorf("etcd has %s after a write, want the field to be gone", got)
	}
	changeFixture(t, "shelves", with)
	eventually(t, "the field to come back", func(ctx context.Context) bool { return seen(ctx, "untouched") == "map[a:x b:x]" })
	if got := seen(t.Context(), "written"); got != "map[a:x]" {
		t.Errorf("the object that was written has %s", got)
	}
}

// changeFixture gives the spec of a fixture that is installed another schema.
func changeFixture(t *testing.T, plural, spec string) {
	t.Helper()
	crd, err := crds().Get(t.Context(), plural+".book.example.com", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	crd.Object["spec"] = fixture(t, plural, spec).Object["spec"]
	if _, err := crds().Update(t.Context(), crd, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}
