package webhook

import (
	"context"
	"fmt"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	crdvalidation "k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/common"

	"github.com/raygate/raygate/operator/config/crd"
)

// hubSchema is the v1 schema of a kind with its CEL rules. The API server applies it only to writes through v1. For writes through
// v1alpha1 it validates the client's version, not the result of the conversion, whose preserved fields a client can forge.
type hubSchema struct {
	structural *structuralschema.Structural
	keywords   crdvalidation.SchemaValidator
	rules      *cel.Validator
}

func newHubSchema(kind string) (*hubSchema, error) {
	v1Schema, err := crd.Schema(kind, hubVersion)
	if err != nil {
		return nil, err
	}
	props := &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(v1Schema, props, nil); err != nil {
		return nil, fmt.Errorf("converting the schema of %s: %w", kind, err)
	}
	s := &hubSchema{}
	if s.structural, err = structuralschema.NewStructural(props); err != nil {
		return nil, fmt.Errorf("reading the schema of %s: %w", kind, err)
	}
	if s.keywords, _, err = crdvalidation.NewSchemaValidator(props); err != nil {
		return nil, fmt.Errorf("compiling the schema of %s: %w", kind, err)
	}
	s.rules = cel.NewValidator(s.structural, true, celconfig.PerCallLimit)
	return s, nil
}

// validate returns the errors that the API server would return for the same write through v1. It ignores the status, which clients
// cannot write. Updates ratchet as in the API server; before is empty on create.
func (s *hubSchema) validate(ctx context.Context, after, before []byte) (field.ErrorList, error) {
	obj, err := s.decode(after)
	if err != nil {
		return nil, err
	}
	if len(before) == 0 {
		errs := crdvalidation.ValidateCustomResource(nil, obj, s.keywords)
		errs = append(errs, listtype.ValidateListSetsAndMaps(nil, s.structural, obj)...)
		return s.withRules(ctx, errs, obj, nil), nil
	}
	was, err := s.decode(before)
	if err != nil {
		return nil, err
	}
	correlated := common.NewCorrelatedObject(obj, was, &model.Structural{Structural: s.structural})
	errs := crdvalidation.ValidateCustomResourceUpdate(nil, obj, was, s.keywords, crdvalidation.WithRatcheting(correlated))
	if len(listtype.ValidateListSetsAndMaps(nil, s.structural, was)) == 0 {
		errs = append(errs, listtype.ValidateListSetsAndMaps(nil, s.structural, obj)...)
	}
	return s.withRules(ctx, errs, obj, was, cel.WithRatcheting(correlated)), nil
}

// withRules applies the CEL rules. They require an object that matches the schema.
func (s *hubSchema) withRules(ctx context.Context, errs field.ErrorList, obj, was map[string]any, options ...cel.Option) field.ErrorList {
	if len(errs) > 0 || s.rules == nil {
		return errs
	}
	var old any
	if was != nil {
		old = was
	}
	errs, _ = s.rules.Validate(ctx, nil, s.structural, obj, old, celconfig.RuntimeCELCostBudget, options...)
	return errs
}

func (s *hubSchema) decode(raw []byte) (map[string]any, error) {
	obj := map[string]any{}
	if err := utiljson.Unmarshal(raw, &obj); err != nil {
		return nil, fmt.Errorf("decoding an object: %w", err)
	}
	delete(obj, "status")
	defaulting.PruneNonNullableNullsWithoutDefaults(obj, s.structural)
	defaulting.Default(obj, s.structural)
	return obj, nil
}
