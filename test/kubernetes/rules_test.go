package kubernetes

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// TestFixtureCRDs are CRDs that the API server takes or refuses.
func TestFixtureCRDs(t *testing.T) {
	c := connect(t)
	const list = "{type: object, properties: {items: {type: array, %s items: {type: object, properties: {name: {type: string%s}}}}}, " +
		"x-kubernetes-validations: [{rule: 'self.items.all(a, self.items.exists_one(b, a.name == b.name))'}]}"
	for name, tc := range map[string]struct{ schema, want string }{
		"all pairs of an unbounded list":     {fmt.Sprintf(list, "", ""), "exceeds budget"},
		"all pairs of a bounded list":        {fmt.Sprintf(list, "maxItems: 100,", ", maxLength: 63"), ""},
		"an unbounded messageExpression":     {"{type: object, properties: {m: {type: object, additionalProperties: {type: string}}}, x-kubernetes-validations: [{rule: 'size(self.m) < 9', messageExpression: 'self.m.map(k, self.m[k]).join(\",\") + string(size(self.m))'}]}", "messageExpression cost exceeds budget"},
		"a broken regular expression":        {"{type: string, x-kubernetes-validations: [{rule: 'self.matches(\"(\")'}]}", "compilation failed"},
		"a transition under an atomic list":  {"{type: array, maxItems: 5, items: {type: string, x-kubernetes-validations: [{rule: 'self == oldSelf'}]}}", "oldSelf"},
		"quantity, isSorted, find, url, day": {"{type: object, properties: {q: {type: string, maxLength: 30}, l: {type: array, maxItems: 9, items: {type: integer}}, u: {type: string, maxLength: 99}, d: {type: string, format: date-time}}, x-kubernetes-validations: [{rule: 'isQuantity(self.q) && quantity(self.q).isGreaterThan(quantity(\"0\"))'}, {rule: 'self.l.isSorted() && self.l.sum() == 100'}, {rule: 'isURL(self.u) && url(self.u).getHost() in [\"a\"]'}, {rule: 'self.q.find(\"^[0-9]+\") != \"\"'}, {rule: 'timestamp(self.d).getDayOfWeek() != 0'}]}", ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := c.crds().Create(t.Context(), fixture(t, "fixtures", tc.schema), dryRun)
			wantRefusal(t, "the CRD", err, tc.want)
		})
	}
}

func TestRootRulesSeeNoLabels(t *testing.T) {
	c := connect(t)
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
		_, err := c.crds().Create(t.Context(), crd, dryRun)
		wantRefusal(t, rule, err, want)
	}
}

// TestFixtureObjects are objects of fixtures: what is pruned, refused and compared.
func TestFixtureObjects(t *testing.T) {
	t.Parallel()
	c := connect(t)
	client := c.install(t, "papers", `{type: object, required: [fixed], properties: {
free: {type: object, x-kubernetes-preserve-unknown-fields: true, properties: {known: {type: object, properties: {a: {type: string}}}}},
embedded: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true},
min: {type: integer}, max: {type: integer}, must: {type: object, additionalProperties: {type: string}}, fixed: {type: string, x-kubernetes-validations: [{rule: 'self == oldSelf', message: fixed}]},
a: {type: array, x-kubernetes-list-type: set, maxItems: 9, items: {type: string, maxLength: 9}}, b: {type: array, x-kubernetes-list-type: set, maxItems: 9, items: {type: string, maxLength: 9}},
from: {type: string, format: date-time}, to: {type: string, format: date-time}},
x-kubernetes-validations: [{rule: '!has(self.min) || self.min <= self.max', message: order}, {rule: '!has(self.must) || "key" in self.must', message: key},
{rule: '!has(self.a) || self.a.all(x, !(x in self.b))', message: disjoint}, {rule: '!has(self.from) || timestamp(self.from) + duration("1h") < timestamp(self.to)', message: dates}]}`)
	for name, tc := range map[string]struct{ spec, want string }{
		"numbers in order":          {"{fixed: x, min: 1, max: 2}", ""},
		"numbers out of order":      {"{fixed: x, min: 3, max: 2}", "order"},
		"a key":                     {"{fixed: x, must: {key: v}}", ""},
		"no key":                    {"{fixed: x, must: {other: v}}", "key"},
		"disjoint sets":             {"{fixed: x, a: [x], b: [z]}", ""},
		"sets that meet":            {"{fixed: x, a: [x], b: [x]}", "disjoint"},
		"dates apart":               {"{fixed: x, from: '2026-01-01T00:00:00Z', to: '2026-01-02T00:00:00Z'}", ""},
		"dates too near":            {"{fixed: x, from: '2026-01-01T00:00:00Z', to: '2026-01-01T00:30:00Z'}", "dates"},
		"an embedded object":        {"{fixed: x, embedded: {apiVersion: v1, kind: Pod, metadata: {name: a}}}", ""},
		"an embedded half":          {"{fixed: x, embedded: {apiVersion: v1, metadata: {name: a}}}", "kind"},
		"two mistakes, both told":   {"{fixed: x, min: 3, max: 2, must: {}}", "order"},
		"two mistakes, told as two": {"{fixed: x, min: 3, max: 2, must: {}}", "key"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := client.Create(t.Context(), thing(t, "papers", "a", tc.spec), dryRun)
			wantRefusal(t, tc.spec, err, tc.want)
		})
	}
	t.Run("what is declared inside free parts is pruned again", func(t *testing.T) {
		got, err := client.Create(t.Context(), thing(t, "papers", "free", "{fixed: x, free: {any: 1, known: {a: b, other: 1}}}"), metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		free := fmt.Sprint(got.Object["spec"].(map[string]any)["free"])
		if want := "map[any:1 known:map[a:b]]"; free != want {
			t.Errorf("stored %s, want %s", free, want)
		}
	})
	t.Run("a required field stays as it was", func(t *testing.T) {
		_, err := client.Patch(t.Context(), "free", types.MergePatchType, []byte(`{"spec":{"fixed":"y"}}`), metav1.PatchOptions{})
		wantRefusal(t, "a change", err, "fixed")
	})
}

// TestFormsOfTransitionRules goes through the forms of rules on changes, with the ways around those that are too narrow.
func TestFormsOfTransitionRules(t *testing.T) {
	t.Parallel()
	c := connect(t)
	client := c.install(t, "forms", `{type: object, required: [fixed], properties: {
fixed: {type: string, x-kubernetes-validations: [{rule: 'self == oldSelf', message: fixed}]},
loose: {type: string, x-kubernetes-validations: [{rule: 'self == oldSelf', message: loose}]},
held: {type: object, properties: {f: {type: string, x-kubernetes-validations: [{rule: 'self == oldSelf', message: held value}]}},
  x-kubernetes-validations: [{rule: 'has(self.f) == has(oldSelf.f)', message: held presence}]},
added: {type: array, x-kubernetes-list-type: set, maxItems: 9, items: {type: string, maxLength: 9}, x-kubernetes-validations: [{rule: 'oldSelf.all(x, x in self)', message: only added}]},
removed: {type: array, x-kubernetes-list-type: set, maxItems: 9, items: {type: string, maxLength: 9}, x-kubernetes-validations: [{rule: 'self.all(x, x in oldSelf)', message: only removed}]},
count: {type: integer, x-kubernetes-validations: [{rule: 'self >= oldSelf', message: only grows}]},
groups: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name], items: {type: object, required: [name], properties: {name: {type: string},
  size: {type: integer, x-kubernetes-validations: [{rule: 'self == oldSelf', message: size}]}}}},
fresh: {type: string, x-kubernetes-validations: [{rule: 'oldSelf.hasValue() || self != "bad"', optionalOldSelf: true, message: fresh}]}}}`)

	_, err := client.Create(t.Context(), thing(t, "forms", "b", "{fixed: x, fresh: bad}"), dryRun)
	wantRefusal(t, "a rule for new values, on create", err, "fresh")
	if _, err := client.Create(t.Context(), thing(t, "forms", "a", "{fixed: x, held: {f: a}, added: [a], removed: [a, b], count: 1, groups: [{name: a, size: 1}]}"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct{ what, spec, want string }{
		{"a required field, the same", `{"fixed":"x"}`, ""},
		{"a required field, another value", `{"fixed":"y"}`, "fixed"},
		{"a required field, none", `{"fixed":null}`, "spec.fixed: Required value"},
		{"an optional field is set", `{"loose":"a"}`, ""},
		{"an optional field, another value", `{"loose":"b"}`, "loose"},
		{"an optional field, around the rule: none", `{"loose":null}`, ""},
		{"an optional field, around the rule: another", `{"loose":"b"}`, ""},
		{"a field and its parent's rule, another value", `{"held":{"f":"b"}}`, "held value"},
		{"a field and its parent's rule, none", `{"held":{"f":null}}`, "held presence"},
		{"a field and its parent's rule, around both: no parent", `{"held":null}`, ""},
		{"a field and its parent's rule, around both: another", `{"held":{"f":"c"}}`, ""},
		{"a list that grows, longer", `{"added":["a","b"]}`, ""},
		{"a list that grows, shorter", `{"added":["b"]}`, "only added"},
		{"a list that shrinks, shorter", `{"removed":["a"]}`, ""},
		{"a list that shrinks, with another item", `{"removed":["a","c"]}`, "only removed"},
		{"a number, up", `{"count":2}`, ""},
		{"a number, down", `{"count":1}`, "only grows"},
		{"items by key, moved and one more", `{"groups":[{"name":"b","size":5},{"name":"a","size":1}]}`, ""},
		{"items by key, one changed", `{"groups":[{"name":"b","size":5},{"name":"a","size":2}]}`, "spec.groups[1].size: Invalid value: 2: size"},
		{"a rule for new values, on the first", `{"fresh":"bad"}`, "fresh"},
		{"a rule for new values, a good one", `{"fresh":"good"}`, ""},
		{"a rule for new values, not on a change", `{"fresh":"bad"}`, ""},
	} {
		_, err := client.Patch(t.Context(), "a", types.MergePatchType, []byte(`{"spec":`+step.spec+`}`), metav1.PatchOptions{})
		wantRefusal(t, step.what, err, step.want)
	}
}

// TestLibrariesOfCEL has a value on each side of a rule with each function that rules may need.
func TestLibrariesOfCEL(t *testing.T) {
	t.Parallel()
	c := connect(t)
	client := c.install(t, "books", `{type: object, properties: {
day: {type: string, format: date-time, x-kubernetes-validations: [{rule: 'self.getDayOfWeek() != 0', message: no Sundays}]},
host: {type: string, maxLength: 99, x-kubernetes-validations: [{rule: 'isURL(self) && url(self).getHost() in ["a.example", "b.example"]', message: allowed hosts}]},
weights: {type: array, maxItems: 9, items: {type: integer}, x-kubernetes-validations: [{rule: 'self.sum() == 100', message: all of it}]},
sorted: {type: array, maxItems: 9, items: {type: integer}, x-kubernetes-validations: [{rule: 'self.isSorted()', message: in order}]},
number: {type: string, maxLength: 99, x-kubernetes-validations: [{rule: 'self.find("^[0-9]+") != "" && int(self.find("^[0-9]+")) < 10', message: leading number}]},
memory: {type: string, maxLength: 30, x-kubernetes-validations: [{rule: 'isQuantity(self) && quantity(self).compareTo(quantity("1Gi")) >= 0', message: at least 1Gi}]},
either: {type: object, properties: {a: {type: string}, b: {type: object, properties: {c: {type: string}}}}, x-kubernetes-validations: [{rule: 'has(self.a) != self.?b.?c.hasValue()', message: one of two}]}}}`)
	for name, tc := range map[string]struct{ spec, want string }{
		"a Monday":                        {"{day: '2026-11-23T00:00:00Z'}", ""},
		"a Sunday":                        {"{day: '2026-11-22T00:00:00Z'}", "spec.day: Invalid value: \"2026-11-22T00:00:00Z\": no Sundays"},
		"no day":                          {"{day: Monday}", "must be of type date-time"},
		"a host":                          {"{host: 'https://a.example/x'}", ""},
		"another host":                    {"{host: 'https://c.example/x'}", "allowed hosts"},
		"no URL":                          {"{host: a.example}", "allowed hosts"},
		"weights":                         {"{weights: [40, 60]}", ""},
		"weights too small":               {"{weights: [40, 50]}", "all of it"},
		"in order":                        {"{sorted: [1, 1, 2]}", ""},
		"out of order":                    {"{sorted: [2, 1]}", "in order"},
		"a number in front":               {"{number: 9-lives}", ""},
		"a number in front, too large":    {"{number: 10-lives}", "leading number"},
		"no number in front":              {"{number: lives}", "leading number"},
		"memory":                          {"{memory: 1024Mi}", ""},
		"too little memory":               {"{memory: 1G}", "at least 1Gi"},
		"no quantity":                     {"{memory: much}", "at least 1Gi"},
		"one of two fields":               {"{either: {a: x, b: {}}}", ""},
		"both fields, one through others": {"{either: {a: x, b: {c: x}}}", "one of two"},
		"neither field":                   {"{either: {}}", "one of two"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := client.Create(t.Context(), thing(t, "books", "a", tc.spec), dryRun)
			wantRefusal(t, tc.spec, err, tc.want)
		})
	}
}

// TestReasonsAndPathsOfRules: a rule may name its reason and the field to blame; the answer is 422 all the same.
func TestReasonsAndPathsOfRules(t *testing.T) {
	t.Parallel()
	c := connect(t)
	client := c.install(t, "pleas", `{type: object, properties: {why: {type: string}, where: {type: object, properties: {a: {type: string}}}}, x-kubernetes-validations: [
{rule: '!has(self.why) || self.why != "invalid"', message: m}, {rule: '!has(self.why) || self.why != "forbidden"', reason: FieldValueForbidden, message: m},
{rule: '!has(self.why) || self.why != "required"', reason: FieldValueRequired, message: m, fieldPath: .where.a},
{rule: '!has(self.why) || self.why != "expression"', message: m, messageExpression: '"the reason is " + self.why', fieldPath: .why}]}`)
	for why, want := range map[string]metav1.StatusCause{
		"invalid":    {Type: metav1.CauseTypeFieldValueInvalid, Field: "spec", Message: "m"},
		"forbidden":  {Type: metav1.CauseTypeForbidden, Field: "spec", Message: "m"},
		"required":   {Type: metav1.CauseTypeFieldValueRequired, Field: "spec.where.a", Message: "m"},
		"expression": {Type: metav1.CauseTypeFieldValueInvalid, Field: "spec.why", Message: "the reason is expression"},
	} {
		_, err := client.Create(t.Context(), thing(t, "pleas", "a", "{why: "+why+"}"), dryRun)
		causes := causesOf(t, err) // fails unless the answer is Invalid, which is 422
		if len(causes) != 1 || causes[0].Type != want.Type || causes[0].Field != want.Field || !strings.HasSuffix(causes[0].Message, want.Message) {
			t.Errorf("%s: causes %+v, want %+v", why, causes, want)
		}
	}
}
