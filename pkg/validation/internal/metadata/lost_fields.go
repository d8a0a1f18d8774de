package metadata

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	rayv1alpha1 "github.com/raygate/raygate/api/ray/v1alpha1"
	"github.com/raygate/raygate/pkg/validation/internal/jsonfield"
	"github.com/raygate/raygate/pkg/validation/rule"
)

var x501 = rule.New(rule.Rule{ID: "X-501", Kind: rule.KindAny, Field: "apiVersion", Condition: "a write by v1alpha1 removes fields that only v1 has", Transition: true})

// CheckLostFields reports fields that a write through v1alpha1 removed because that version does not have them.
func CheckLostFields(out *rule.Report, object, old Object, o rule.Options) {
	if o.RequestVersion != rayv1alpha1.GroupVersion.Version {
		return
	}
	var spec reflect.Type
	switch object.(type) {
	case *rayv1.RayCluster:
		spec = reflect.TypeFor[rayv1alpha1.RayClusterSpec]()
	case *rayv1.RayJob:
		spec = reflect.TypeFor[rayv1alpha1.RayJobSpec]()
	case *rayv1.RayService:
		spec = reflect.TypeFor[rayv1alpha1.RayServiceSpec]()
	default:
		return
	}
	lost := lostFields(spec, member(generic(old), "spec"), member(generic(object), "spec"), "spec")
	names := strings.Join(slices.Compact(slices.Sorted(slices.Values(lost))), ", ")
	out.When(names != "").Forbidden(x501, field.NewPath("apiVersion"),
		"the write by "+rayv1alpha1.GroupVersion.String()+" removes "+names+"; use "+rayv1.GroupVersion.String())
}

func generic(object any) any {
	data, err := json.Marshal(object)
	var m any
	if err != nil || json.Unmarshal(data, &m) != nil {
		return nil
	}
	return m
}

func member(value any, name string) any {
	m, _ := value.(map[string]any)
	return m[name]
}

// lostFields returns the paths of fields that v1alpha1 lacks, that had more than their defaults before, and that are missing after. t is
// the type in v1alpha1. Types of Kubernetes are the same in both versions.
func lostFields(t reflect.Type, before, after any, path string) []string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t.Kind() == reflect.Slice && t.Elem() == reflect.TypeFor[rayv1alpha1.WorkerGroupSpec]():
		return lostOfGroups(t.Elem(), before, after, path)
	case t.Kind() == reflect.Struct && t.PkgPath() == reflect.TypeFor[rayv1alpha1.RayClusterSpec]().PkgPath():
		return lostOfStruct(t, before, after, path)
	}
	return nil
}

// lostOfGroups compares worker groups by their names.
func lostOfGroups(t reflect.Type, before, after any, path string) (lost []string) {
	groups := map[any]any{}
	kept, _ := after.([]any)
	for _, item := range kept {
		groups[member(item, "groupName")] = item
	}
	items, _ := before.([]any)
	for _, item := range items {
		if same, ok := groups[member(item, "groupName")]; ok {
			lost = append(lost, lostFields(t, item, same, path+"[*]")...)
		}
	}
	return lost
}

func lostOfStruct(t reflect.Type, before, after any, path string) (lost []string) {
	fields := jsonfield.Of(t)
	values, _ := before.(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(values)) {
		at, value := path+"."+name, values[name]
		known, ok := fields[name]
		switch {
		case !ok && !isDefault(value) && isDefault(member(after, name)):
			lost = append(lost, at)
		case ok && value != nil:
			lost = append(lost, lostFields(known.GoType, value, member(after, name), at)...)
		}
	}
	return lost
}

// isDefault reports whether the value is the default of the API server for an absent field.
func isDefault(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case float64:
		return v == 0 || v == 1
	case string:
		return v == "" || v == string(rayv1.K8sJobMode)
	case bool:
		return !v
	case map[string]any:
		return len(v) == 0
	}
	return false
}
