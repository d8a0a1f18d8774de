package validation_test

import (
	"encoding/json"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	crdvalidation "k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"sigs.k8s.io/yaml"

	"github.com/raygate/raygate/pkg/validation"
	"github.com/raygate/raygate/pkg/validation/examples"
)

// crd is the schema of v1 of a kind in the forms that the API server uses.
type crd struct {
	structural *structuralschema.Structural
	schema     crdvalidation.SchemaValidator
}

// crds keeps what takes long to read.
var crds = map[string]crd{}

func crdOf(t testing.TB, plural string) crd {
	t.Helper()
	if c, ok := crds[plural]; ok {
		return c
	}
	raw, err := os.ReadFile("../../operator/config/crd/bases/ray.io_" + plural + ".yaml")
	if err != nil {
		t.Fatalf("reading the CRD: %v", err)
	}
	object := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(raw, object); err != nil {
		t.Fatalf("decoding the CRD: %v", err)
	}
	i := slices.IndexFunc(object.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Name == "v1" })
	props := &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(object.Spec.Versions[i].Schema.OpenAPIV3Schema, props, nil); err != nil {
		t.Fatalf("converting the schema: %v", err)
	}
	c := crd{}
	if c.structural, err = structuralschema.NewStructural(props); err != nil {
		t.Fatalf("the schema is not structural: %v", err)
	}
	if c.schema, _, err = crdvalidation.NewSchemaValidator(props); err != nil {
		t.Fatalf("making a validator: %v", err)
	}
	crds[plural] = c
	return c
}

func asMap(t testing.TB, object validation.Object) map[string]any {
	t.Helper()
	data, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(data, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// stored is the object as the API server would store it: pruned, and with the defaults of the schema.
func (c crd) stored(t testing.TB, object validation.Object) (map[string]any, []string) {
	t.Helper()
	m := asMap(t, object)
	unknown := pruning.PruneWithOptions(m, c.structural, true, structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	defaulting.PruneNonNullableNullsWithoutDefaults(m, c.structural)
	defaulting.Default(m, c.structural)
	return m, unknown
}

// TestExamplesFitTheSchema holds that the API server reads the examples, stores valid ones, and that the defaults in Go
// are those of the schema: the verdict on what is stored is that on the example.
func TestExamplesFitTheSchema(t *testing.T) {
	plurals := map[string]string{"RayCluster": "rayclusters", "RayJob": "rayjobs", "RayService": "rayservices", "RayCronJob": "raycronjobs"}
	for kind, plural := range plurals {
		t.Run(kind, func(t *testing.T) {
			schema, seen := crdOf(t, plural), map[string]bool{}
			checks, _ := validation.ForKind(kind)
			for _, e := range examples.Of(kind) {
				if e.GoOnly {
					continue
				}
				broken, unknown := schema.stored(t, e.Object())
				if len(unknown) > 0 {
					t.Errorf("%s: the schema does not know %v", e, unknown)
				}
				data, err := json.Marshal(broken)
				if err != nil {
					t.Fatal(err)
				}
				again := checks.New()
				if err := json.Unmarshal(data, again); err != nil {
					t.Errorf("%s: what is stored cannot be read: %v", e, err)
					continue
				}
				want := validation.Violations(of(verdict(t, e, e.Object(), e.Options), e.Severity))
				if diff := cmp.Diff(want, validation.Violations(of(verdict(t, e, again, e.Options), e.Severity))); diff != "" {
					t.Errorf("%s: verdict (-example +stored):\n%s", e, diff)
				}
				valid, _ := schema.stored(t, e.Valid())
				data, err = json.Marshal(valid)
				if err != nil {
					t.Fatal(err)
				}
				if seen[string(data)] {
					continue // most neighbours are the base
				}
				seen[string(data)] = true
				if errs := crdvalidation.ValidateCustomResource(nil, valid, schema.schema); len(errs) > 0 {
					t.Errorf("%s: the schema refuses the neighbour: %v", e, errs)
				}
			}
		})
	}
}

// TestQuantitiesOfTheSchemaEndSoon holds that the schema lets no text through for which the parser of quantities takes hours.
func TestQuantitiesOfTheSchemaEndSoon(t *testing.T) {
	for text, want := range map[string]bool{
		"500m": true, "16Gi": true, "1e3": true, "1.5E-3": true, "2E": true, "-1": true, "1e999": true,
		"1e-999999999": false, "1E+1000": false, "1e1.5": false,
	} {
		object := asMap(t, examples.Base())
		object["spec"].(map[string]any)["autoscalerOptions"] = map[string]any{"resources": map[string]any{"limits": map[string]any{"cpu": text}}}
		errs := crdvalidation.ValidateCustomResource(nil, object, crdOf(t, "rayclusters").schema)
		if got := len(errs) == 0; got != want {
			t.Errorf("%s passes: %t, want %t: %v", text, got, want, errs)
		}
	}
}
