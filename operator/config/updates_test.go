package config_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/environment"

	"github.com/raygate/raygate/hack/celrules"
	"github.com/raygate/raygate/pkg/validation"
	"github.com/raygate/raygate/pkg/validation/examples"
	"github.com/raygate/raygate/pkg/validation/rule"
)

// updates is a policy on updates of a kind, as the API server compiles it.
type updates struct {
	kind, plural string
	policy       validating.Validator
}

// updatesOf compiles the policy of a kind.
func updatesOf(t testing.TB, kind string) updates {
	t.Helper()
	plural := strings.ToLower(kind) + "s"
	data, err := os.ReadFile(filepath.Join("crd", "updates", plural+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	p := find[admissionregistrationv1.ValidatingAdmissionPolicy](t, []*unstructured.Unstructured{decode(t, []byte(strings.Split(string(data), "\n---\n")[1]))}, "ValidatingAdmissionPolicy")[0]
	c, err := cel.NewCompositedCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()))
	if err != nil {
		t.Fatal(err)
	}
	options := cel.OptionalVariableDeclarations{HasAuthorizer: true}
	for _, v := range p.Spec.Variables {
		c.CompileAndStoreVariable(&validating.Variable{Name: v.Name, Expression: v.Expression}, options, environment.StoredExpressions)
	}
	compile := func(expressions ...cel.ExpressionAccessor) cel.ConditionEvaluator {
		return c.CompileCondition(expressions, options, environment.StoredExpressions)
	}
	var conditions []cel.ExpressionAccessor
	for _, m := range p.Spec.MatchConditions {
		conditions = append(conditions, new(matchconditions.MatchCondition(m)))
	}
	v := p.Spec.Validations[0]
	return updates{kind, plural, validating.NewValidator(
		compile(&validating.ValidationCondition{Expression: v.Expression, Message: v.Message, Reason: v.Reason}),
		matchconditions.NewMatcher(compile(conditions...), p.Spec.FailurePolicy, "policy", "validate", p.Name),
		compile(), compile(&validating.MessageExpressionCondition{MessageExpression: v.MessageExpression}), p.Spec.FailurePolicy, nil)}
}

// attributes are those of an update.
func (u updates) attributes(before, after *unstructured.Unstructured) *admission.VersionedAttributes {
	gvk := schema.GroupVersionKind{Group: "ray.io", Version: "v1", Kind: u.kind}
	record := admission.NewAttributesRecord(after, before, gvk, "default", "a", gvk.GroupVersion().WithResource(u.plural), "", admission.Update, nil, false, nil)
	return &admission.VersionedAttributes{Attributes: record, VersionedObject: admission.NewLazyObject(after), VersionedOldObject: admission.NewLazyObject(before), VersionedKind: gvk}
}

// validate returns the message of a refusal, or an empty one. matched is false if the policy does not apply.
func (u updates) validate(t testing.TB, a *admission.VersionedAttributes) (message string, matched bool) {
	t.Helper()
	r := u.policy.Validate(t.Context(), schema.GroupVersionResource{Group: "ray.io", Version: "v1", Resource: u.plural}, a, nil, nil, celconfig.RuntimeCELCostBudget, nil)
	for _, d := range r.Decisions {
		if d.Evaluation == validating.EvalError {
			t.Errorf("the policy on %s fails: %.2000s", u.plural, d.Message)
		}
		if d.Action == validating.ActionDeny {
			message = d.Message
		}
	}
	return message, len(r.Decisions) > 0
}

// asStored is an object as the API server decodes it.
func asStored(t testing.TB, object any) *unstructured.Unstructured {
	t.Helper()
	raw, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{}
	if err := utiljson.Unmarshal(raw, &u.Object); err != nil {
		t.Fatal(err)
	}
	dropNulls(u.Object)
	return u
}

func dropNulls(value any) {
	switch v := value.(type) {
	case map[string]any:
		maps.DeleteFunc(v, func(_ string, child any) bool { dropNulls(child); return child == nil })
	case []any:
		for _, child := range v {
			dropNulls(child)
		}
	}
}

// TestUpdates breaks each rule of the CRDs by an update, and then changes something else of the broken object.
func TestUpdates(t *testing.T) {
	policies, rules := map[string]updates{}, map[string][]celrules.Placed[celrules.Rule]{}
	for _, checks := range validation.AllChecks() {
		u := updatesOf(t, checks.Kind)
		policies[checks.Kind], rules[checks.Kind] = u, celrules.RulesOf(u.plural)
	}
	broken := 0
	for _, e := range append(examples.All(), examples.Nested()...) {
		if e.GoOnly || e.Severity == rule.SeverityWarning || strings.HasSuffix(e.ID, "-581") { // the Go types always have a spec
			continue
		}
		u := policies[e.Kind]
		before, after := asStored(t, e.Valid()), asStored(t, e.Object())
		labelled := after.DeepCopy()
		labelled.SetLabels(map[string]string{"team": "ray"})
		if message, _ := u.validate(t, u.attributes(after, labelled)); message != "" {
			t.Errorf("%s: a label is refused: %s", e, message)
		}
		message, matched := u.validate(t, u.attributes(before, after))
		checks, _ := validation.ForKind(e.Kind)
		for _, err := range checks.Update(e.Object(), e.Valid(), validation.Options{Gates: e.Options.Gates}).Errors {
			if matched && strings.HasPrefix(err.Field, "spec") && has(rules[e.Kind], before, err) {
				broken++
				if !strings.Contains(message, "("+err.Origin+")") {
					t.Errorf("%s: %v is not in %q", e, err, message)
				}
			}
		}
	}
	if broken < 300 {
		t.Errorf("%d rules were broken, want hundreds", broken)
	}
}

// has reports whether the policy with these rules has that of an error. The CRD validates parts that the object did not have before.
func has(rules []celrules.Placed[celrules.Rule], before *unstructured.Unstructured, err *field.Error) bool {
	return slices.ContainsFunc(rules, func(r celrules.Placed[celrules.Rule]) bool {
		_, existed, _ := unstructured.NestedFieldNoCopy(before.Object, strings.Split(r.Node, ".")...)
		at := strings.TrimPrefix(r.Node+strings.NewReplacer("['", "[", "']", "]").Replace(r.Item.Field), ".")
		return r.Item.ID == err.Origin && r.Item.Ratchet != rule.CreateOnly && !r.Item.Partly && strings.HasPrefix(err.Field, at) && (existed || r.Node == "")
	})
}

// TestPoliciesCompileFast bounds what the API server allocates for a policy when it starts. Before that it admits no write, of any kind.
func TestPoliciesCompileFast(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles all policies once more")
	}
	for _, checks := range validation.AllChecks() {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		updatesOf(t, checks.Kind)
		runtime.ReadMemStats(&after)
		if allocated := (after.TotalAlloc - before.TotalAlloc) >> 20; allocated > 120 {
			t.Errorf("the policy on updates of %s takes %d MiB to compile, want at most 120", checks.Kind, allocated)
		}
	}
}

// BenchmarkUpdates is what the policies cost in the API server when it starts, and at an update of a good object.
func BenchmarkUpdates(b *testing.B) {
	for kind, object := range map[string]any{"RayCluster": examples.Base(), "RayJob": examples.BaseJob(), "RayService": examples.BaseService(), "RayCronJob": examples.BaseCronJob()} {
		u, before := updatesOf(b, kind), asStored(b, object)
		after := before.DeepCopy()
		after.Object["spec"].(map[string]any)["suspend"] = true
		a := u.attributes(before, after)
		b.Run(u.plural+"/start", func(b *testing.B) {
			for b.Loop() {
				updatesOf(b, kind)
			}
		})
		b.Run(u.plural+"/update", func(b *testing.B) {
			for b.Loop() {
				if message, matched := u.validate(b, a); message != "" || !matched {
					b.Fatal(message, matched)
				}
			}
		})
	}
}
