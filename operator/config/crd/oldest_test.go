package crd_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdvalidation "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apimachinery/pkg/util/version"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/environment"
	"sigs.k8s.io/yaml"
)

// oldestLibraries are what the oldest supported API server, 1.30, lets new rules use: those of the release before its own.
var oldestLibraries = version.MajorMinor(1, 29)

// TestRulesOnOldestKubernetes compiles every rule and message of every version with the libraries of the
// oldest supported Kubernetes, and looks for parts of schemas that it does not know. optionalOldSelf is what makes 1.30
// the oldest.
func TestRulesOnOldestKubernetes(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles the rules of all CRDs once more")
	}
	for _, plural := range plurals {
		t.Run(plural, func(t *testing.T) {
			crd := loadCRD(t, plural)
			rules := 0
			for _, v := range crd.Spec.Versions {
				props := &apiextensions.JSONSchemaProps{}
				if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(v.Schema.OpenAPIV3Schema, props, nil); err != nil {
					t.Fatal(err)
				}
				rules += compileAll(t, props, crdvalidation.RootCELContext(props), v.Name)
			}
			if rules < 15 {
				t.Errorf("%d rules found, want many", rules)
			}
			for _, part := range newerParts(t, plural) {
				t.Errorf("Kubernetes 1.30 does not know %s", part)
			}
		})
	}
}

// TestOldestLibrariesLackNewerFunctions shows that the test above can fail.
func TestOldestLibrariesLackNewerFunctions(t *testing.T) {
	for rule, want := range map[string]string{
		"quantity(self).isGreaterThan(quantity('0')) && sets.contains([1], [1])": "",
		"!format.dns1123Label().validate(self).hasValue()":                       "undeclared reference",
		"isSemver(self)": "undeclared reference",
	} {
		s := &apiextensions.JSONSchemaProps{Type: "string", MaxLength: new(int64(9)), XValidations: apiextensions.ValidationRules{{Rule: rule}}}
		problems, _ := compileNode(t, s, crdvalidation.RootCELContext(s), "")
		if got := strings.Join(problems, ""); !strings.Contains(got, want) || (got == "") != (want == "") {
			t.Errorf("%s: %q, want %q", rule, got, want)
		}
	}
}

// compileAll walks a schema as the API server does when it admits a CRD, and returns how many rules it found.
func compileAll(t *testing.T, s *apiextensions.JSONSchemaProps, c *crdvalidation.CELSchemaContext, path string) int {
	t.Helper()
	problems, rules := compileNode(t, s, c, path)
	for _, p := range problems {
		t.Error(p)
	}
	for name, p := range s.Properties {
		rules += compileAll(t, &p, c.ChildPropertyContext(&p, name), path+"."+name)
	}
	if s.Items != nil && s.Items.Schema != nil {
		rules += compileAll(t, s.Items.Schema, c.ChildItemsContext(s.Items.Schema), path+"[]")
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		rules += compileAll(t, s.AdditionalProperties.Schema, c.ChildAdditionalPropertiesContext(s.AdditionalProperties.Schema), path+"{}")
	}
	return rules
}

func compileNode(t *testing.T, s *apiextensions.JSONSchemaProps, c *crdvalidation.CELSchemaContext, path string) (problems []string, rules int) {
	t.Helper()
	if len(s.XValidations) == 0 {
		return nil, 0
	}
	info, err := c.TypeInfo()
	if err != nil || info == nil {
		t.Fatalf("%s: no type for CEL: %v", path, err)
	}
	structural, err := structuralschema.NewStructural(s)
	if err != nil {
		t.Fatal(err)
	}
	results, err := cel.Compile(structural, info.DeclType, celconfig.PerCallLimit, environment.MustBaseEnvSet(oldestLibraries), cel.NewExpressionsEnvLoader())
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range results {
		if r.Error != nil {
			problems = append(problems, fmt.Sprintf("%s: %s: %v", path, s.XValidations[i].Rule, r.Error))
		}
		if r.MessageExpressionError != nil {
			problems = append(problems, fmt.Sprintf("%s: %s: %v", path, s.XValidations[i].MessageExpression, r.MessageExpressionError))
		}
	}
	return problems, len(results)
}

// knownIn130 are the fields of the parts of a CRD that Kubernetes added to over time, as of 1.30.
var knownIn130 = struct{ version, schema, rule []string }{
	version: []string{"name", "served", "storage", "deprecated", "deprecationWarning", "schema", "subresources", "additionalPrinterColumns"},
	schema: []string{"type", "format", "description", "default", "enum", "required", "nullable", "pattern", "minimum", "maximum", "minLength", "maxLength",
		"minItems", "maxItems", "minProperties", "maxProperties", "properties", "items", "additionalProperties", "allOf", "anyOf", "oneOf", "not",
		"x-kubernetes-int-or-string", "x-kubernetes-preserve-unknown-fields", "x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type", "x-kubernetes-validations"},
	rule: []string{"rule", "message", "messageExpression", "reason", "fieldPath", "optionalOldSelf"},
}

// newerParts reads the CRD without its type, which is of a newer Kubernetes.
func newerParts(t *testing.T, plural string) []string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(crdDir, "ray.io_"+plural+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var crd struct {
		Spec struct{ Versions []map[string]any }
	}
	if err := yaml.Unmarshal(raw, &crd); err != nil {
		t.Fatal(err)
	}
	var newer []string
	check := func(part map[string]any, known []string, path string) {
		for name := range part {
			if !slices.Contains(known, name) {
				newer = append(newer, path+"."+name)
			}
		}
	}
	var walk func(schema map[string]any, path string)
	walk = func(schema map[string]any, path string) {
		check(schema, knownIn130.schema, path)
		properties, _ := schema["properties"].(map[string]any)
		for name, p := range properties {
			walk(p.(map[string]any), path+"."+name)
		}
		for _, below := range []string{"items", "additionalProperties"} {
			if p, ok := schema[below].(map[string]any); ok {
				walk(p, path+"[]")
			}
		}
		rules, _ := schema["x-kubernetes-validations"].([]any)
		for _, r := range rules {
			check(r.(map[string]any), knownIn130.rule, path+" rule")
		}
	}
	for _, v := range crd.Spec.Versions {
		check(v, knownIn130.version, "version")
		walk(v["schema"].(map[string]any)["openAPIV3Schema"].(map[string]any), "")
	}
	return newer
}
