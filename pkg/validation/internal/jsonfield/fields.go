// Package jsonfield finds the fields of Go structs by their JSON names.
package jsonfield

import (
	"reflect"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/equality"
)

// Field is a field of a struct with its position in JSON.
type Field struct {
	Rank   int
	Index  []int
	GoType reflect.Type
}

// fieldCache maps each reflect.Type to a map[string]Field.
var fieldCache sync.Map

// Of returns the fields of a struct by their names in JSON.
func Of(t reflect.Type) map[string]Field {
	if fields, ok := fieldCache.Load(t); ok {
		return fields.(map[string]Field)
	}
	fields := map[string]Field{}
	addFields(fields, t, nil)
	fieldCache.Store(t, fields)
	return fields
}

// addFields descends into structs whose fields JSON writes as fields of the containing struct.
func addFields(fields map[string]Field, t reflect.Type, at []int) {
	for i := range t.NumField() {
		f, index := t.Field(i), append(slices.Clone(at), i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "" && f.Anonymous && f.Type.Kind() == reflect.Struct:
			addFields(fields, f.Type, index)
		case name != "" && name != "-" && f.IsExported():
			fields[name] = Field{Rank: len(fields), Index: index, GoType: f.Type}
		}
	}
}

// Changed returns the JSON names of the fields in which two structs of one type differ, in the order of their declaration. Both are
// pointers.
func Changed(object, old any) []string {
	a, b := reflect.ValueOf(object).Elem(), reflect.ValueOf(old).Elem()
	fields := Of(a.Type())
	var changed []string
	for name, f := range fields {
		if !equality.Semantic.DeepEqual(a.FieldByIndex(f.Index).Interface(), b.FieldByIndex(f.Index).Interface()) {
			changed = append(changed, name)
		}
	}
	slices.SortFunc(changed, func(x, y string) int { return fields[x].Rank - fields[y].Rank })
	return changed
}
