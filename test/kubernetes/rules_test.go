package kubernetes

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// TestCostsAndFormsOfRules has rules for which the API server takes or refuses a CRD.
func TestCostsAndFormsOfRules(t *testing.T) {
	c := connect(t)
	const list = "{type: object, properties: {items: {type: array, %s items: {type: object, properties: {name: {type: string%s}}}}}, " +
		"x-kubernetes-validations: [{rule: 'self.items.all(a, self.items.exists_one(b, a.name == b.name))'}]}"
	for name, tc := range map[string]struct{ schema, want string }{
		"all pairs of an unbounded list":    {fmt.Sprintf(list, "", ""), "exceeds budget"},
		"all pairs of a bounded list":       {fmt.Sprintf(list, "maxItems: 100,", ", maxLength: 63"), ""},
		"an unbounded messageExpression":    {"{type: object, properties: {m: {type: object, additionalProperties: {type: string}}}, x-kubernetes-validations: [{rule: 'size(self.m) < 9', messageExpression: 'self.m.map(k, self.m[k]).join(\",\") + string(size(self.m))'}]}", "messageExpression cost exceeds budget"},
		"a broken regular expression":       {"{type: string, x-kubernetes-validations: [{rule: 'self.matches(\"(\")'}]}", "compilation failed"},
		"a transition under an atomic list": {"{type: array, maxItems: 5, items: {type: string, x-kubernetes-validations: [{rule: 'self == oldSelf'}]}}", "oldSelf"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := c.crds().Create(t.Context(), fixture(t, "fixtures", tc.schema), dryRun)
			wantRefusal(t, "the CRD", err, tc.want)
		})
	}
}

// TestRootRulesSeeNoLabels: a rule at the root sees the name of the object, and nothing else of its metadata.
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
