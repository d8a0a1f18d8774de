package config_test

import (
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	"k8s.io/apiserver/pkg/cel/environment"
)

// TestPoliciesOnOldestKubernetes compiles the policies, and the conditions of the webhooks, as Kubernetes 1.30 does,
// the first in which policies are there by default. It lets new expressions use the libraries of the release before.
func TestPoliciesOnOldestKubernetes(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles all policies once more")
	}
	libraries := environment.MustBaseEnvSet(version.MajorMinor(1, 29))
	compiled := 0
	compiler := func() *cel.CompositedCompiler {
		c, err := cel.NewCompositedCompiler(libraries)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	check := func(c *cel.CompositedCompiler, where string, expression cel.ExpressionAccessor) {
		compiled++
		options := cel.OptionalVariableDeclarations{HasAuthorizer: true}
		if r := c.CompileCELExpression(expression, options, environment.NewExpressions); r.Error != nil {
			t.Errorf("%s: %s: %v", where, expression.GetExpression(), r.Error)
		}
	}
	for _, p := range find[admissionregistrationv1.ValidatingAdmissionPolicy](t, build(t, "with-policies", nil), "ValidatingAdmissionPolicy") {
		c := compiler()
		for _, v := range p.Spec.Variables {
			compiled++
			variable := &validating.Variable{Name: v.Name, Expression: v.Expression}
			if r := c.CompileAndStoreVariable(variable, cel.OptionalVariableDeclarations{HasAuthorizer: true}, environment.NewExpressions); r.Error != nil {
				t.Errorf("%s: variable %s: %v", p.Name, v.Name, r.Error)
			}
		}
		for _, m := range p.Spec.MatchConditions {
			check(c, p.Name, new(matchconditions.MatchCondition(m)))
		}
		for _, v := range p.Spec.Validations {
			check(c, p.Name, &validating.ValidationCondition{Expression: v.Expression})
		}
	}
	objects := build(t, "with-webhooks-self-managed", nil)
	conditions := func(name string, all []admissionregistrationv1.MatchCondition) {
		for _, m := range all {
			check(compiler(), name, new(matchconditions.MatchCondition(m)))
		}
	}
	for _, c := range find[admissionregistrationv1.ValidatingWebhookConfiguration](t, objects, "ValidatingWebhookConfiguration") {
		for _, w := range c.Webhooks {
			conditions(w.Name, w.MatchConditions)
		}
	}
	for _, c := range find[admissionregistrationv1.MutatingWebhookConfiguration](t, objects, "MutatingWebhookConfiguration") {
		for _, w := range c.Webhooks {
			conditions(w.Name, w.MatchConditions)
		}
	}
	if compiled < 30 {
		t.Errorf("%d expressions found, want many", compiled)
	}
	if r := compiler().CompileCELExpression(&validating.ValidationCondition{Expression: "isSemver('1.0.0')"}, cel.OptionalVariableDeclarations{}, environment.NewExpressions); r.Error == nil {
		t.Error("a function of a newer Kubernetes compiles, so that this test cannot fail")
	}
}
