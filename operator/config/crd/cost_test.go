package crd_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdvalidation "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/environment"
)

// ruleCost is what the API server estimates for one rule, times the items of the lists around it.
type ruleCost struct {
	path, message string
	cost          uint64
}

// TestCostBudget keeps the estimates below what the API server allows, with room for releases of Kubernetes that estimate more.
func TestCostBudget(t *testing.T) {
	const perRule, perCRD = crdvalidation.StaticEstimatedCostLimit * 6 / 10, crdvalidation.StaticEstimatedCRDCostLimit * 85 / 100
	for _, plural := range plurals {
		t.Run(plural, func(t *testing.T) {
			props := &apiextensions.JSONSchemaProps{}
			if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(schemaV1(t, plural), props, nil); err != nil {
				t.Fatal(err)
			}
			costs := costsOf(t, props, crdvalidation.RootCELContext(props), "")
			slices.SortFunc(costs, func(a, b ruleCost) int { return int(int64(b.cost) - int64(a.cost)) })
			var total uint64
			for i, c := range costs {
				total += c.cost
				if i < 12 {
					t.Logf("%10d %s: %s", c.cost, c.path, c.message)
				}
				if c.cost > perRule {
					t.Errorf("%s: %q is estimated to cost %d, more than %d", c.path, c.message, c.cost, uint64(perRule))
				}
			}
			t.Logf("%s: %d rules, together %d of %d", plural, len(costs), total, uint64(perCRD))
			if total > perCRD {
				t.Errorf("all rules together are estimated to cost %d, more than %d", total, uint64(perCRD))
			}
		})
	}
}

// costsOf walks a schema as the API server does when it admits a CRD.
func costsOf(t *testing.T, s *apiextensions.JSONSchemaProps, c *crdvalidation.CELSchemaContext, path string) []ruleCost {
	t.Helper()
	var costs []ruleCost
	if len(s.XValidations) > 0 {
		info, err := c.TypeInfo()
		if err != nil || info == nil {
			t.Fatalf("%s: no type for CEL: %v", path, err)
		}
		costs = append(costs, costsOfRules(t, s, c, info, path)...)
	}
	for name, p := range s.Properties {
		costs = append(costs, costsOf(t, &p, c.ChildPropertyContext(&p, name), strings.TrimPrefix(path+"."+name, "."))...)
	}
	if s.Items != nil && s.Items.Schema != nil {
		costs = append(costs, costsOf(t, s.Items.Schema, c.ChildItemsContext(s.Items.Schema), path+"[]")...)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		costs = append(costs, costsOf(t, s.AdditionalProperties.Schema, c.ChildAdditionalPropertiesContext(s.AdditionalProperties.Schema), path+"{}")...)
	}
	return costs
}

func costsOfRules(t *testing.T, s *apiextensions.JSONSchemaProps, c *crdvalidation.CELSchemaContext, info *crdvalidation.CELTypeInfo, path string) []ruleCost {
	t.Helper()
	structural, err := structuralschema.NewStructural(s)
	if err != nil {
		t.Fatal(err)
	}
	structural.XValidations = nil
	for _, r := range s.XValidations {
		structural.XValidations = append(structural.XValidations, apiextensionsv1.ValidationRule{Rule: r.Rule, MessageExpression: r.MessageExpression, OptionalOldSelf: r.OptionalOldSelf})
	}
	results, err := cel.Compile(structural, info.DeclType, celconfig.PerCallLimit, environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()), cel.NewExpressionsEnvLoader())
	if err != nil {
		t.Fatal(err)
	}
	var costs []ruleCost
	for i, r := range results {
		if r.Error != nil || r.MessageExpressionError != nil {
			t.Fatalf("%s: %v, %v", path, r.Error, r.MessageExpressionError)
		}
		times := r.MaxCardinality
		if c.MaxCardinality != nil {
			times = *c.MaxCardinality
		}
		costs = append(costs, ruleCost{path: path, message: fmt.Sprintf("%.60s", s.XValidations[i].Rule), cost: r.MaxCost * times})
		if r.MessageExpression != nil {
			costs = append(costs, ruleCost{path: path, message: fmt.Sprintf("%.60s", s.XValidations[i].MessageExpression), cost: r.MessageExpressionMaxCost * times})
		}
	}
	return costs
}
