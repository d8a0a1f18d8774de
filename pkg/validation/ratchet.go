package validation

import (
	"encoding/json"
	"maps"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/raygate/raygate/pkg/validation/internal/jsonfield"
	"github.com/raygate/raygate/pkg/validation/rule"
)

// exempt reports whether the rules do not apply to the update: deletion, finalizers, owners, managed fields, status.
func exempt(object, old Object, spec, oldSpec any) bool {
	return object.GetDeletionTimestamp() != nil ||
		maps.Equal(object.GetLabels(), old.GetLabels()) && maps.Equal(object.GetAnnotations(), old.GetAnnotations()) && equality.Semantic.DeepEqual(spec, oldSpec)
}

// ruleRoots are the paths of the parts of an object that rules check. Empty means that the kind has no such part.
type ruleRoots struct{ cluster, job string }

// of is the path below which the rule reads.
func (r ruleRoots) of(kind string) string {
	switch kind {
	case rule.KindClusterSpec:
		return r.cluster
	case rule.KindJobSpec:
		return r.job
	}
	return ""
}

// ratchet splits errors of the new object into new ones and those that the old object has as well. These have the same rule, text and
// place, and the same values at that place and in all fields that the rule reads.
func ratchet(errs field.ErrorList, oldErrs func() field.ErrorList, object, old any, roots ruleRoots) (fresh, known field.ErrorList) {
	if len(errs) == 0 {
		return nil, nil
	}
	// A count, not a set: the third group of one name is a fresh error although the second was there.
	had := map[string]int{}
	for _, err := range oldErrs() {
		had[ratchetKey(err, old, roots)]++
	}
	for _, err := range errs {
		key := ratchetKey(err, object, roots)
		if had[key] > 0 {
			had[key]--
			known = append(known, err)
		} else {
			fresh = append(fresh, err)
		}
	}
	return fresh, known
}

// ratchetKey is equal for two errors that are the same to a user.
func ratchetKey(err *field.Error, object any, roots ruleRoots) string {
	steps := splitPath(err.Field)
	logical, value := locate(reflect.ValueOf(object), steps)
	parts := []string{err.Origin, logical, err.ErrorBody(), encoded(value)}
	by := rule.ByID(err.Origin)
	for _, read := range by.Reads {
		var from []pathStep
		if sibling, ok := strings.CutPrefix(read, "../"); ok {
			from = append(from, steps[:max(len(steps)-1, 0)]...)
			from = append(from, splitPath(sibling)...)
		} else {
			from = splitPath(roots.of(by.Kind) + "." + read)
		}
		_, value := locate(reflect.ValueOf(object), from)
		parts = append(parts, encoded(value))
	}
	return strings.Join(parts, "\x00")
}

// encoded is a text that is equal for equal values.
func encoded(v reflect.Value) string {
	if !v.IsValid() || !v.CanInterface() {
		return ""
	}
	data, err := json.Marshal(v.Interface())
	if err != nil {
		return err.Error()
	}
	return string(data)
}

// locate follows a path into an object. It returns the path, with names in place of indices where list items have names, so that moving an
// item is no change. It also returns the value at the end, which is not valid if the path leads nowhere.
func locate(v reflect.Value, steps []pathStep) (string, reflect.Value) {
	var logical strings.Builder
	for _, step := range steps {
		v = reflect.Indirect(v)
		name := step.name
		switch {
		case !v.IsValid():
		case v.Kind() == reflect.Struct:
			v = fieldByName(v, name)
		case v.Kind() == reflect.Map && v.Type().Key().Kind() == reflect.String:
			v = v.MapIndex(reflect.ValueOf(name).Convert(v.Type().Key()))
		case v.Kind() == reflect.Slice && step.kind == stepIndex && step.order >= 0 && step.order < v.Len():
			v = v.Index(step.order)
			if key := itemKey(reflect.Indirect(v)); key != "" {
				name = key
			}
		default:
			v = reflect.Value{}
		}
		logical.WriteString("\x01" + name)
	}
	return logical.String(), v
}

func fieldByName(v reflect.Value, name string) reflect.Value {
	f, known := jsonfield.Of(v.Type())[name]
	if !known {
		return reflect.Value{}
	}
	return v.FieldByIndex(f.Index)
}

// itemKeys are the fields that name an item of a list, best first, by their JSON names.
var itemKeys = [][]string{{"groupName"}, {"mountPath"}, {"devicePath"}, {"containerPort", "protocol"}, {"port", "protocol"}, {"name"}}

func itemKey(v reflect.Value) string {
	if !v.IsValid() || v.Kind() != reflect.Struct {
		return ""
	}
	for _, names := range itemKeys {
		if _, known := jsonfield.Of(v.Type())[names[0]]; !known {
			continue
		}
		var parts []string
		for _, name := range names {
			parts = append(parts, encoded(fieldByName(v, name)))
		}
		return strings.Join(parts, "/")
	}
	return ""
}
