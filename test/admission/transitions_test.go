package admission

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/raygate/raygate/internal/testing/suite"
)

// TestFormsOfTransitionRules goes through the forms of rules on changes, with the ways around those that are too narrow.
func TestFormsOfTransitionRules(t *testing.T) {
	suite.All(t, "fails only when Kubernetes changes")
	t.Parallel() // a CRD of its own takes seconds, most of them waiting
	client := install(t, "forms", `{type: object, required: [fixed], properties: {
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

// TestImmutableFields takes each field of ours that may not change through the ways to change it. A status write
// is none. TestManagedByIsImmutable and TestUpdateExamplesAgainstCRDs have more, and the acceptance tests of the
// webhooks the way through v1alpha1.
func TestImmutableFields(t *testing.T) {
	const kueue, own = "kueue.x-k8s.io/multikueue", "ray.io/kuberay-operator"
	for name, tc := range map[string]struct{ plural, path, value, other string }{
		"the manager of a cluster":  {plural: "rayclusters", path: "spec.managedBy", value: kueue, other: own},
		"the manager in a job":      {plural: "rayjobs", path: "spec.rayClusterSpec.managedBy", value: kueue, other: own},
		"the manager in a service":  {plural: "rayservices", path: "spec.rayClusterConfig.managedBy", value: kueue, other: own},
		"the manager in a cron job": {plural: "raycronjobs", path: "spec.jobTemplate.rayClusterSpec.managedBy", value: kueue, other: own},
		"the manager of a job":      {plural: "rayjobs", path: "spec.managedBy", value: kueue, other: own},
		"the manager of a service":  {plural: "rayservices", path: "spec.managedBy", value: kueue, other: own},
		"the store of metadata":     {plural: "rayclusters", path: "spec.gcsFaultToleranceOptions.backend", value: "rocksdb", other: "redis"},
	} {
		t.Run(name, func(t *testing.T) {
			path := strings.Split(tc.path, ".")
			object := strings.ReplaceAll(name, " ", "-")
			u := smallest(t, tc.plural, "v1", object, "", "")
			if err := unstructured.SetNestedField(u.Object, tc.value, path...); err != nil {
				t.Fatal(err)
			}
			client := resourceOf(tc.plural)
			if _, err := client.Create(t.Context(), u, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			patch := func(value string) error {
				body := value
				for _, step := range slices.Backward(path) {
					body = fmt.Sprintf("{%q:%s}", step, body)
				}
				_, err := client.Patch(t.Context(), object, types.MergePatchType, []byte(body), metav1.PatchOptions{})
				return err
			}
			wantRefusal(t, "the same value", patch(`"`+tc.value+`"`), "")
			wantRefusal(t, "another value", patch(`"`+tc.other+`"`), tc.path+": Invalid value")
			wantRefusal(t, "no value, as KubeRay", patch("null"), "")
			_, err := client.Patch(t.Context(), object, types.MergePatchType, []byte(`{"spec":null}`), metav1.PatchOptions{})
			wantRefusal(t, "no spec", err, "spec: Required value")
			_, err = client.Patch(t.Context(), object, types.MergePatchType, []byte(`{"status":{}}`), metav1.PatchOptions{}, "status")
			wantRefusal(t, "the status", err, "")
		})
	}
}

// TestLibrariesOfCEL has a value on each side of a rule with each function that rules may need.
func TestLibrariesOfCEL(t *testing.T) {
	suite.All(t, "fails only when Kubernetes changes")
	t.Parallel() // a CRD of its own takes seconds, most of them waiting
	client := install(t, "books", `{type: object, properties: {
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
	suite.All(t, "fails only when Kubernetes changes")
	t.Parallel() // a CRD of its own takes seconds, most of them waiting
	client := install(t, "pleas", `{type: object, properties: {why: {type: string}, where: {type: object, properties: {a: {type: string}}}}, x-kubernetes-validations: [
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
