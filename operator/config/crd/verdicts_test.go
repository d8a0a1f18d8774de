package crd_test

import (
	"testing"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
)

// stored returns obj as the API server keeps it: pruned and defaulted.
func stored(s *structuralschema.Structural, obj map[string]any) map[string]any {
	out := runtime.DeepCopyJSON(obj)
	pruning.Prune(out, s, true)
	defaulting.PruneNonNullableNullsWithoutDefaults(out, s)
	defaulting.Default(out, s)
	return out
}

// violations does what the API server does with an object that is created (old is nil) or updated.
func violations(t testing.TB, plural string, obj, old map[string]any) field.ErrorList {
	t.Helper()
	c := checkerFor(t, plural)
	s := c.structural
	obj = named(stored(s, obj))
	errs := validation.ValidateCustomResource(nil, obj, c.schema)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, s, obj)...)
	var oldObj any
	if old != nil {
		oldObj = named(stored(s, old))
	}
	more, _ := c.rules.Validate(t.Context(), nil, s, obj, oldObj, celconfig.RuntimeCELCostBudget)
	return append(errs, more...)
}

// named gives a name to an object that has none; the API server asks no rule before there is one.
func named(obj map[string]any) map[string]any {
	meta, ok := obj["metadata"].(map[string]any)
	if !ok {
		meta = map[string]any{}
		obj["metadata"] = meta
	}
	if meta["name"] == nil {
		meta["name"] = "a"
	}
	return obj
}
