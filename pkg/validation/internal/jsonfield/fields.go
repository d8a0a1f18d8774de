// Package jsonfield finds the fields of Go structs by the names that JSON knows.
package jsonfield

import (
	"reflect"
	"slices"
	"strings"
	"sync"
)

// Field is a field of a struct as JSON knows it.
type Field struct {
	Rank   int
	Index  []int
	GoType reflect.Type
}

// fieldCache holds a map[string]Field for each reflect.Type.
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

// addFields goes into structs whose fields JSON writes among those of the struct around.
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
