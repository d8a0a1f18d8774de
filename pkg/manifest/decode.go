package manifest

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/raygate/raygate/pkg/manifest/problem"
)

// Decode writes a tree, as Read returns it, into the struct or map that into points to: a type of the Kubernetes API, or a message of
// protobuf with scalars only. It returns every mistake, up to 100, with its path: unknown field, wrong case, wrong type, number out of
// range, malformed quantity or time, null inside a list. Values without mistakes are written in any case.
//
// A null member equals an absent one, and so does an empty list or map where the API treats both as equal (omitempty). An integer that is
// text in the tree, because a Struct could not hold it, becomes a number.
func Decode(tree map[string]any, into any, path *field.Path) field.ErrorList {
	d := decoder{}
	d.decode(tree, reflect.ValueOf(into).Elem(), path)
	return d.list
}

type decoder struct{ mistakes }

// decode writes v, which must not be null, into rv.
func (d *decoder) decode(v any, rv reflect.Value, path *field.Path) {
	if rv.Kind() == reflect.Pointer {
		d.decodePointer(v, rv, path)
		return
	}
	if d.decodeScalarType(v, rv, path) {
		return
	}
	if speaksJSON(rv.Type()) {
		d.decodeByJSON(v, rv, path)
		return
	}
	switch rv.Kind() {
	case reflect.String:
		d.decodeString(v, rv, path)
	case reflect.Bool:
		d.decodeBool(v, rv, path)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		d.decodeInt(v, rv, path)
	case reflect.Float32, reflect.Float64:
		d.decodeFloat(v, rv, path)
	case reflect.Slice:
		d.decodeSlice(v, rv, path)
	case reflect.Map:
		d.decodeMap(v, rv, path)
	case reflect.Struct:
		d.decodeStruct(v, rv, path)
	default:
		d.wrongType(path, rv.Type().String(), v)
	}
}

// decodePointer leaves the pointer nil if a mistake left its value empty: a pointer to a zero value would be a value that the user did not
// write. A written object always gets a pointer.
func (d *decoder) decodePointer(v any, rv reflect.Value, path *field.Path) {
	elem, before := reflect.New(rv.Type().Elem()), len(d.list)
	d.decode(v, elem.Elem(), path)
	_, object := v.(map[string]any)
	if object || len(d.list) == before || !elem.Elem().IsZero() {
		rv.Set(elem)
	}
}

func (d *decoder) decodeSlice(v any, rv reflect.Value, path *field.Path) {
	elem := rv.Type().Elem()
	if text, ok := v.(string); ok && elem.Kind() == reflect.Uint8 {
		data, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			d.add(path, problem.BadFormat, "not base64: "+err.Error())
			return
		}
		rv.SetBytes(data)
		return
	}
	items, ok := v.([]any)
	if !ok {
		d.wrongType(path, typeName(rv.Type()), v)
		return
	}
	out := reflect.MakeSlice(rv.Type(), len(items), len(items))
	for i, item := range items {
		if item == nil {
			d.wrongType(path.Index(i), typeName(elem), item)
			continue
		}
		items[i] = exactInteger(item, elem)
		d.decode(items[i], out.Index(i), path.Index(i))
	}
	rv.Set(out)
}

func (d *decoder) decodeMap(v any, rv reflect.Value, path *field.Path) {
	members, ok := v.(map[string]any)
	if !ok {
		d.wrongType(path, "object", v)
		return
	}
	out := reflect.MakeMapWithSize(rv.Type(), len(members))
	for _, key := range slices.Sorted(maps.Keys(members)) {
		if members[key] == nil {
			continue
		}
		item := reflect.New(rv.Type().Elem()).Elem()
		d.decode(members[key], item, keyOf(path, key))
		out.SetMapIndex(reflect.ValueOf(key).Convert(rv.Type().Key()), item)
	}
	rv.Set(out)
}

func (d *decoder) decodeStruct(v any, rv reflect.Value, path *field.Path) {
	members, ok := v.(map[string]any)
	if !ok {
		d.wrongType(path, "object", v)
		return
	}
	plan := planOf(rv.Type())
	found := 0
	for _, f := range plan.fields {
		value, ok := members[f.name]
		if !ok {
			continue
		}
		found++
		target := rv.FieldByIndex(f.index)
		if value == nil || f.omitEmpty && isEmptyCollection(value) && isCollection(target) {
			continue
		}
		if _, isText := value.(string); isText {
			value = exactInteger(value, target.Type())
			members[f.name] = value
		}
		d.decode(value, target, path.Child(f.name))
	}
	if found < len(members) {
		d.addUnknown(members, plan, path)
	}
}

// addUnknown adds the members that are no field of the struct.
func (d *decoder) addUnknown(members map[string]any, plan *structPlan, path *field.Path) {
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if _, known := plan.byName[name]; !known && members[name] != nil && !d.full() {
			d.add(memberOf(path, name), problem.UnknownField, problem.Unknown(name, plan.names))
		}
	}
}

func (d *decoder) decodeByJSON(v any, rv reflect.Value, path *field.Path) {
	data, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(data, rv.Addr().Interface())
	}
	if err != nil {
		d.add(path, problem.BadFormat, err.Error())
	}
}

// exactInteger returns the integer in the text v if the type is a 64-bit integer and no float64 can hold the number.
func exactInteger(v any, t reflect.Type) any {
	text, ok := v.(string)
	if !ok {
		return v
	}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Int64 {
		return v
	}
	// Anything smaller as text is a mistake to Kubernetes too.
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n <= problem.MaxExact && n >= -problem.MaxExact {
		return v
	}
	return n
}

// isPlain reports whether v is the value of a text without quotes in YAML.
func isPlain(v any) bool {
	switch v.(type) {
	case int64, float64, bool:
		return true
	}
	return false
}

func isCollection(v reflect.Value) bool {
	return v.Kind() == reflect.Slice && v.Type().Elem().Kind() != reflect.Uint8 || v.Kind() == reflect.Map
}

func isEmptyCollection(v any) bool {
	switch v := v.(type) {
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return false
}
