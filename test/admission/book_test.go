package admission

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/raygate/raygate/internal/testing/suite"
	"github.com/raygate/raygate/test/controlplane"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"
)

// The tests of small CRDs show what the API server does with what our CRDs depend on.

// fixture is a small CRD with one property, spec, of the given schema.
func fixture(t *testing.T, plural, spec string) *unstructured.Unstructured {
	t.Helper()
	kind := strings.ToUpper(plural[:1]) + strings.TrimSuffix(plural[1:], "s")
	u := &unstructured.Unstructured{}
	text := fmt.Sprintf(`{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: %[1]s.book.example.com},
spec: {group: book.example.com, scope: Namespaced, names: {plural: %[1]s, singular: %[2]s, kind: %[3]s, listKind: %[3]sList},
versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: %[4]s}}}}]}}`,
		plural, strings.ToLower(kind), kind, spec)
	if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return u
}

// install makes the fixture usable for the time of the test.
func install(t *testing.T, plural, spec string) dynamic.ResourceInterface {
	t.Helper()
	return installCRD(t, fixture(t, plural, spec))
}

func installCRD(t *testing.T, crd *unstructured.Unstructured) dynamic.ResourceInterface {
	t.Helper()
	if _, err := crds().Create(t.Context(), crd, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = crds().Delete(context.Background(), crd.GetName(), metav1.DeleteOptions{}) })
	plural, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "plural")
	client := server.dynamic.Resource(schema.GroupVersionResource{Group: "book.example.com", Version: "v1", Resource: plural}).Namespace(namespace)
	eventually(t, "the CRD "+plural, func(ctx context.Context) bool {
		_, err := client.List(ctx, metav1.ListOptions{})
		return err == nil
	})
	return client
}

// thing is an object of a fixture.
func thing(t *testing.T, plural, name, spec string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	kind := strings.ToUpper(plural[:1]) + strings.TrimSuffix(plural[1:], "s")
	if err := yaml.Unmarshal(fmt.Appendf(nil, "{apiVersion: book.example.com/v1, kind: %s, metadata: {name: %s}, spec: %s}", kind, name, spec), &u.Object); err != nil {
		t.Fatal(err)
	}
	return u
}

func wantRefusal(t *testing.T, what string, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("%s: refused: %v", what, err)
	case want != "" && err == nil:
		t.Errorf("%s: accepted, want a refusal with %q", what, want)
	case want != "" && !strings.Contains(err.Error(), want):
		t.Errorf("%s: refused with %v, want %q", what, err, want)
	}
}

// TestFixtureCRDs are CRDs that the API server takes or refuses.
func TestFixtureCRDs(t *testing.T) {
	suite.All(t, "fails only when Kubernetes changes")
	const list = "{type: object, properties: {items: {type: array, %s items: {type: object, properties: {name: {type: string%s}}}}}, " +
		"x-kubernetes-validations: [{rule: 'self.items.all(a, self.items.exists_one(b, a.name == b.name))'}]}"
	for name, tc := range map[string]struct{ schema, want string }{
		"L4.1 all pairs of an unbounded list":   {fmt.Sprintf(list, "", ""), "exceeds budget"},
		"L4.1 all pairs of a bounded list":      {fmt.Sprintf(list, "maxItems: 100,", ", maxLength: 63"), ""},
		"L4.2 an unbounded messageExpression":   {"{type: object, properties: {m: {type: object, additionalProperties: {type: string}}}, x-kubernetes-validations: [{rule: 'size(self.m) < 9', messageExpression: 'self.m.map(k, self.m[k]).join(\",\") + string(size(self.m))'}]}", "messageExpression cost exceeds budget"},
		"L4.6 a broken regular expression":      {"{type: string, x-kubernetes-validations: [{rule: 'self.matches(\"(\")'}]}", "compilation failed"},
		"L2 a transition under an atomic list":  {"{type: array, maxItems: 5, items: {type: string, x-kubernetes-validations: [{rule: 'self == oldSelf'}]}}", "oldSelf"},
		"L3 quantity, isSorted, find, url, day": {"{type: object, properties: {q: {type: string, maxLength: 30}, l: {type: array, maxItems: 9, items: {type: integer}}, u: {type: string, maxLength: 99}, d: {type: string, format: date-time}}, x-kubernetes-validations: [{rule: 'isQuantity(self.q) && quantity(self.q).isGreaterThan(quantity(\"0\"))'}, {rule: 'self.l.isSorted() && self.l.sum() == 100'}, {rule: 'isURL(self.u) && url(self.u).getHost() in [\"a\"]'}, {rule: 'self.q.find(\"^[0-9]+\") != \"\"'}, {rule: 'timestamp(self.d).getDayOfWeek() != 0'}]}", ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := crds().Create(t.Context(), fixture(t, "fixtures", tc.schema), dryRun)
			wantRefusal(t, "the CRD", err, tc.want)
		})
	}
}

func TestRootRulesSeeNoLabels(t *testing.T) {
	suite.All(t, "fails only when Kubernetes changes")
	crd := fixture(t, "roots", "{type: object}")
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	version := versions[0].(map[string]any)
	for rule, want := range map[string]string{"self.metadata.name != 'x'": "", "'a' in self.metadata.labels": "undefined field"} {
		if err := unstructured.SetNestedSlice(version, []any{map[string]any{"rule": rule}}, "schema", "openAPIV3Schema", "x-kubernetes-validations"); err != nil {
			t.Fatal(err)
		}
		if err := unstructured.SetNestedSlice(crd.Object, versions, "spec", "versions"); err != nil {
			t.Fatal(err)
		}
		_, err := crds().Create(t.Context(), crd, dryRun)
		wantRefusal(t, rule, err, want)
	}
}

// TestFixtureObjects are objects of fixtures: what is pruned, refused and compared.
func TestFixtureObjects(t *testing.T) {
	suite.All(t, "fails only when Kubernetes changes")
	t.Parallel() // a CRD of its own takes seconds, most of them waiting
	client := install(t, "papers", `{type: object, required: [fixed], properties: {
free: {type: object, x-kubernetes-preserve-unknown-fields: true, properties: {known: {type: object, properties: {a: {type: string}}}}},
embedded: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true},
min: {type: integer}, max: {type: integer}, must: {type: object, additionalProperties: {type: string}}, fixed: {type: string, x-kubernetes-validations: [{rule: 'self == oldSelf', message: fixed}]},
a: {type: array, x-kubernetes-list-type: set, maxItems: 9, items: {type: string, maxLength: 9}}, b: {type: array, x-kubernetes-list-type: set, maxItems: 9, items: {type: string, maxLength: 9}},
from: {type: string, format: date-time}, to: {type: string, format: date-time}},
x-kubernetes-validations: [{rule: '!has(self.min) || self.min <= self.max', message: order}, {rule: '!has(self.must) || "key" in self.must', message: key},
{rule: '!has(self.a) || self.a.all(x, !(x in self.b))', message: disjoint}, {rule: '!has(self.from) || timestamp(self.from) + duration("1h") < timestamp(self.to)', message: dates}]}`)
	for name, tc := range map[string]struct{ spec, want string }{
		"L1 numbers in order":          {"{fixed: x, min: 1, max: 2}", ""},
		"L1 numbers out of order":      {"{fixed: x, min: 3, max: 2}", "order"},
		"L1 a key":                     {"{fixed: x, must: {key: v}}", ""},
		"L1 no key":                    {"{fixed: x, must: {other: v}}", "key"},
		"L1 disjoint sets":             {"{fixed: x, a: [x], b: [z]}", ""},
		"L1 sets that meet":            {"{fixed: x, a: [x], b: [x]}", "disjoint"},
		"L1 dates apart":               {"{fixed: x, from: '2026-01-01T00:00:00Z', to: '2026-01-02T00:00:00Z'}", ""},
		"L1 dates too near":            {"{fixed: x, from: '2026-01-01T00:00:00Z', to: '2026-01-01T00:30:00Z'}", "dates"},
		"J3 an embedded object":        {"{fixed: x, embedded: {apiVersion: v1, kind: Pod, metadata: {name: a}}}", ""},
		"J3 an embedded half":          {"{fixed: x, embedded: {apiVersion: v1, metadata: {name: a}}}", "kind"},
		"L1 two mistakes, both told":   {"{fixed: x, min: 3, max: 2, must: {}}", "order"},
		"L1 two mistakes, told as two": {"{fixed: x, min: 3, max: 2, must: {}}", "key"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := client.Create(t.Context(), thing(t, "papers", "a", tc.spec), dryRun)
			wantRefusal(t, tc.spec, err, tc.want)
		})
	}
	t.Run("I2 what is declared inside free parts is pruned again", func(t *testing.T) {
		got, err := client.Create(t.Context(), thing(t, "papers", "free", "{fixed: x, free: {any: 1, known: {a: b, other: 1}}}"), metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		free := fmt.Sprint(got.Object["spec"].(map[string]any)["free"])
		if want := "map[any:1 known:map[a:b]]"; free != want {
			t.Errorf("stored %s, want %s", free, want)
		}
	})
	t.Run("L2 a required field stays as it was", func(t *testing.T) {
		_, err := client.Patch(t.Context(), "free", types.MergePatchType, []byte(`{"spec":{"fixed":"y"}}`), metav1.PatchOptions{})
		wantRefusal(t, "a change", err, "fixed")
	})
}

func TestCRDsAreStructural(t *testing.T) {
	for _, plural := range plurals {
		crd, err := crds().Get(t.Context(), plural+".ray.io", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		conditions, _, _ := unstructured.NestedSlice(crd.Object, "status", "conditions")
		got := map[string]string{}
		for _, c := range conditions {
			c := c.(map[string]any)
			got[c["type"].(string)] = c["status"].(string)
		}
		if got["Established"] != "True" || got["NamesAccepted"] != "True" || got["NonStructuralSchema"] != "" {
			t.Errorf("%s has the conditions %v", plural, got)
		}
	}
}

// ray is a RayCluster with the given spec around a valid head.
func ray(t *testing.T, name, more string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	text := fmt.Sprintf("{apiVersion: ray.io/v1, kind: RayCluster, metadata: {name: %s}, spec: {headGroupSpec: {template: {spec: {containers: [{name: ray}]}}}%s}}", name, more)
	if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return u
}

func TestStrictFieldValidation(t *testing.T) {
	body, err := server.core.Discovery().RESTClient().Get().AbsPath("/openapi/v3/apis/ray.io/v1").DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"RayCluster", "RayJob", "RayService", "RayCronJob"} {
		if !strings.Contains(string(body), `"kind":"`+kind+`"`) {
			t.Errorf("the published OpenAPI has no %s", kind)
		}
	}
	typo := ray(t, "typo", ", suspendd: true")
	strict := dryRun
	strict.FieldValidation = metav1.FieldValidationStrict
	_, err = resourceOf("rayclusters").Create(t.Context(), typo, strict)
	wantRefusal(t, "a typo", err, `unknown field "spec.suspendd"`)
}

func TestUnknownFieldsAreDropped(t *testing.T) {
	warnings := &controlplane.Warnings{}
	cfg := rest.CopyConfig(server.Config)
	cfg.WarningHandler = warnings
	client, err := dynamic.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	u := ray(t, "garbage", ", someGarbage: 1, suspend: null, workerGroupSpecs: null") // I5: nulls are dropped
	u.Object["metadata"].(map[string]any)["someGarbage"] = "x"                        // I6
	got, err := client.Resource(schema.GroupVersionResource{Group: "ray.io", Version: "v1", Resource: "rayclusters"}).Namespace(namespace).Create(t.Context(), u, metav1.CreateOptions{DryRun: dryRun.DryRun, FieldValidation: metav1.FieldValidationWarn})
	if err != nil {
		t.Fatal(err)
	}
	spec := got.Object["spec"].(map[string]any)
	for _, field := range []string{"someGarbage", "suspend", "workerGroupSpecs"} {
		if v, there := spec[field]; there {
			t.Errorf("spec.%s is there: %v", field, v)
		}
	}
	texts := strings.Join(warnings.Take(), "\n")
	for _, field := range []string{"spec.someGarbage", "metadata.someGarbage"} {
		if !strings.Contains(texts, `unknown field "`+field+`"`) {
			t.Errorf("no warning of %s in %q", field, texts)
		}
	}
}

func TestIntOrString(t *testing.T) {
	for value, want := range map[string]string{"1": "", `"1"`: "", "true": "must be of type"} {
		u := ray(t, "quantity", ", autoscalerOptions: {resources: {limits: {cpu: "+value+"}}}")
		_, err := resourceOf("rayclusters").Create(t.Context(), u, dryRun)
		wantRefusal(t, "cpu "+value, err, want)
	}
}

// TestManagedByIsImmutable: one value cannot become another. It may come and go, as under KubeRay, but not with the spec.
func TestManagedByIsImmutable(t *testing.T) {
	clusters := resourceOf("rayclusters")
	for _, u := range []*unstructured.Unstructured{ray(t, "managed", ", managedBy: kueue.x-k8s.io/multikueue"), ray(t, "unmanaged", "")} {
		if _, err := clusters.Create(t.Context(), u, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct{ what, name, body, want string }{
		{"the same value", "managed", `{"spec":{"managedBy":"kueue.x-k8s.io/multikueue"}}`, ""},
		{"another value", "managed", `{"spec":{"managedBy":"ray.io/kuberay-operator"}}`, "immutable"},
		{"no value", "managed", `{"spec":{"managedBy":null}}`, ""},
		{"no spec", "managed", `{"spec":null}`, "RC-581"},
		{"a value later", "unmanaged", `{"spec":{"managedBy":"kueue.x-k8s.io/multikueue"}}`, ""},
	} {
		_, err := clusters.Patch(t.Context(), tc.name, types.MergePatchType, []byte(tc.body), metav1.PatchOptions{})
		wantRefusal(t, tc.what, err, tc.want)
	}
	_, err := clusters.Patch(t.Context(), "managed", types.MergePatchType, []byte(`{"status":{"state":"ready"}}`), metav1.PatchOptions{}, "status")
	wantRefusal(t, "the status", err, "")
}

// TestLargestObject writes the largest cluster that anybody has, and asks for all rules.
func TestLargestObject(t *testing.T) {
	var groups []string
	for i := range 128 {
		var labels []string
		for l := range 32 {
			labels = append(labels, fmt.Sprintf("example.com/label-number-%d: value-%d", l, l))
		}
		groups = append(groups, fmt.Sprintf("{groupName: group-%d, idleTimeoutSeconds: 60, priority: 1, labels: {%s}, template: {spec: {containers: [{name: ray}]}}}", i, strings.Join(labels, ", ")))
	}
	more := ", rayVersion: 2.60.0, enableInTreeAutoscaling: true, autoscalerOptions: {version: v2}, networkPolicy: {}, workerGroupSpecs: [" + strings.Join(groups, ", ") + "]"
	_, err := resourceOf("rayclusters").Create(t.Context(), ray(t, "largest", more), metav1.CreateOptions{})
	wantRefusal(t, "the largest cluster", err, "")
	_, err = resourceOf("rayclusters").Patch(t.Context(), "largest", types.JSONPatchType, []byte(`[{"op":"replace","path":"/spec/workerGroupSpecs/100/replicas","value":3}]`), metav1.PatchOptions{})
	wantRefusal(t, "scaling it", err, "")
}

// TestSchemaErrorsComeFirst: the rest is told once the schema is content.
func TestSchemaErrorsComeFirst(t *testing.T) {
	_, err := resourceOf("rayclusters").Create(t.Context(), ray(t, "first", ", authOptions: {mode: magic, enableK8sTokenAuth: true}"), dryRun)
	wantRefusal(t, "an unknown mode", err, "Unsupported value")
	wantRefusal(t, "an unknown mode", err, notChecked)
}
