package kubernetes

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// schemaErrors asks the API server for a CRD with the schema and returns what is wrong in it, with paths from its root.
func (c *cluster) schemaErrors(t *testing.T, schema string) []string {
	t.Helper()
	_, err := c.crds().Create(t.Context(), wholeSchema(t, schema), dryRun)
	var problems []string
	for _, cause := range causesOf(t, err) {
		problems = append(problems, strings.TrimPrefix(strings.TrimPrefix(cause.Field, "spec.validation.openAPIV3Schema"), ".")+" "+cause.Message)
	}
	slices.Sort(problems)
	return problems
}

// schemaVerdicts are schemas with their only error, or none. Each differs in one thing from one that the API server takes.
var schemaVerdicts = map[string]struct{ schema, want string }{
	"a property without a type":     {"{type: object, properties: {a: {minLength: 1}}}", "properties[a].type Required value"},
	"items without a type":          {"{type: object, properties: {a: {type: array, items: {minLength: 1}}}}", "properties[a].items.type Required value"},
	"values of maps without a type": {"{type: object, properties: {a: {type: object, additionalProperties: {minLength: 1}}}}", "properties[a].additionalProperties.type Required value"},
	"a list without items":          {"{type: object, properties: {a: {type: array}}}", "properties[a].items Required value"},
	"free, without a type":          {"{type: object, properties: {a: {x-kubernetes-preserve-unknown-fields: true}}}", ""},
	"a root that is no object":      {"{type: string}", "type Invalid value"},

	"labels of the object":               {"{type: object, properties: {metadata: {type: object, properties: {labels: {type: object, maxProperties: 1}}}}}", "properties[metadata] Forbidden: must not specify anything other than name and generateName"},
	"metadata as a whole":                {"{type: object, properties: {metadata: {type: object, minProperties: 1}}}", "properties[metadata] Forbidden"},
	"generateName":                       {"{type: object, properties: {metadata: {type: object, properties: {generateName: {type: string, maxLength: 1}}}}}", ""},
	"$ref":                               {"{type: object, properties: {a: {type: object, $ref: '#/definitions/x'}}}", "properties[a].$ref Forbidden"},
	"definitions":                        {"{type: object, definitions: {x: {type: string}}}", "definitions Forbidden"},
	"dependencies":                       {"{type: object, dependencies: {a: [b]}}", "dependencies Forbidden"},
	"patternProperties":                  {"{type: object, patternProperties: {a: {type: string}}}", "patternProperties Forbidden"},
	"id":                                 {"{type: object, id: x}", "id Forbidden"},
	"unique items":                       {"{type: object, properties: {a: {type: array, uniqueItems: true, items: {type: string}}}}", "properties[a].uniqueItems Forbidden"},
	"properties and values of a map":     {"{type: object, properties: {a: {type: object, properties: {b: {type: string}}, additionalProperties: {type: string}}}}", "properties[a].additionalProperties Forbidden"},
	"properties and no others":           {"{type: object, properties: {a: {type: object, properties: {b: {type: string}}, additionalProperties: false}}}", "properties[a].additionalProperties Forbidden"},
	"a key of a list that may be absent": {"{type: object, properties: {a: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k], items: {type: object, properties: {k: {type: string}}}}}}", "properties[a].items.properties[k].default Required value"},

	"number or text":   {"{type: object, properties: {a: {x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}]}}}", ""},
	"text or number":   {"{type: object, properties: {a: {x-kubernetes-int-or-string: true, anyOf: [{type: string}, {type: integer}]}}}", "properties[a].anyOf[0].type Forbidden"},
	"a number alone":   {"{type: object, properties: {a: {x-kubernetes-int-or-string: true, anyOf: [{type: integer}]}}}", "properties[a].anyOf[0].type Forbidden"},
	"without the flag": {"{type: object, properties: {a: {anyOf: [{type: integer}, {type: string}]}}}", "properties[a].type Required value"},

	"a default of another type":          {"{type: object, properties: {a: {type: string, default: 1}}}", "properties[a].default Invalid value"},
	"a default that is too long":         {"{type: object, properties: {a: {type: string, default: ab, maxLength: 1}}}", "properties[a].default Too long"},
	"a default outside the enum":         {"{type: object, properties: {a: {type: string, default: c, enum: [a, b]}}}", "properties[a].default Unsupported value"},
	"a default below the minimum":        {"{type: object, properties: {a: {type: integer, default: -1, minimum: 0}}}", "properties[a].default Invalid value"},
	"a default against the pattern":      {"{type: object, properties: {a: {type: string, default: B, pattern: ^a}}}", "properties[a].default Invalid value"},
	"a default without what is required": {"{type: object, properties: {a: {type: object, default: {}, required: [b], properties: {b: {type: string}}}}}", "properties[a].default.b Required value"},
	// Defaults inside of defaults do not count at this point.
	"the same, filled by a default": {"{type: object, properties: {a: {type: object, default: {}, required: [b], properties: {b: {type: string, default: x}}}}}", "properties[a].default.b Required value"},
	"a default that needs pruning":  {"{type: object, properties: {a: {type: object, default: {c: x}, properties: {b: {type: string}}}}}", "properties[a].default Invalid value: {\"c\":\"x\"}: must not have unknown fields"},
	"a default against a rule":      {"{type: object, properties: {a: {type: integer, default: 3, x-kubernetes-validations: [{rule: 'self > 5'}]}}}", "properties[a].default Invalid value: 3: failed rule"},
	"a default of a name":           {"{type: object, properties: {metadata: {type: object, properties: {name: {type: string, default: x}}}}}", "properties[metadata].properties[name].default Forbidden"},
	"a default of metadata":         {"{type: object, properties: {metadata: {type: object, default: {name: x}}}}", "properties[metadata].default Forbidden"},
	"a default of the kind":         {"{type: object, properties: {kind: {type: string, default: X}}}", "properties[kind].default Forbidden"},
	"a default that fits":           {"{type: object, properties: {a: {type: object, default: {b: x}, required: [b], properties: {b: {type: string, enum: [x, y]}}}}}", ""},
}

// TestSchemasRefuse holds what the API server says to schemas as ours could become by a mistake in a marker.
func TestSchemasRefuse(t *testing.T) {
	c := connect(t)
	for name, tc := range schemaVerdicts {
		t.Run(name, func(t *testing.T) {
			got := c.schemaErrors(t, tc.schema)
			switch {
			case tc.want == "" && got != nil:
				t.Errorf("refused: %q", got)
			case tc.want != "" && got == nil:
				t.Errorf("accepted, want %q", tc.want)
			case tc.want != "" && !strings.HasPrefix(got[0], tc.want):
				t.Errorf("refused with %q, want %q", got, tc.want)
			}
		})
	}
}

// TestUnknownKeywords: keywords of OpenAPI that CRDs do not have at all are unknown fields, which only a strict
// client is told; the others lose them.
func TestUnknownKeywords(t *testing.T) {
	c := connect(t)
	strict := dryRun
	strict.FieldValidation = metav1.FieldValidationStrict
	for _, keyword := range []string{"deprecated: true", "discriminator: x", "readOnly: true", "writeOnly: true", "xml: {}"} {
		_, err := c.crds().Create(t.Context(), wholeSchema(t, "{type: object, "+keyword+"}"), strict)
		wantRefusal(t, keyword, err, `unknown field "spec.versions[0].schema.openAPIV3Schema.`+strings.Split(keyword, ":")[0]+`"`)
	}
}
