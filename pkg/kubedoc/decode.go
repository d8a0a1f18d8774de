package kubedoc

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"reflect"
	"slices"

	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/raygate/raygate/pkg/kubedoc/mistake"
)

// Decode writes s into the Kubernetes struct or map that into points to and returns every mistake, up to 100, with its path: unknown
// field, wrong case, wrong type, number out of range, malformed quantity or time, null inside a list or map. What had no
// mistake is written even if there are some. A nil s writes nothing.
//
// An empty list or map is the same as an absent one where the API does not tell them apart (omitempty).
func Decode(s *structpb.Struct, into any, path *field.Path) field.ErrorList {
	if s == nil {
		return nil
	}
	d := decoder{}
	d.decode(structpb.NewStructValue(s), reflect.ValueOf(into).Elem(), path)
	return d.errs
}

// DecodeList decodes every Struct; nil for none.
func DecodeList[T any](list []*structpb.Struct, path *field.Path) ([]T, field.ErrorList) {
	if len(list) == 0 {
		return nil, nil
	}
	var errs field.ErrorList
	out := make([]T, len(list))
	for i, s := range list {
		if s == nil {
			errs = append(errs, Problem(path.Index(i), mistake.WrongType, mistake.Type("object", "null")))
			continue
		}
		errs = append(errs, Decode(s, &out[i], path.Index(i))...)
	}
	return out, errs
}

// Problem is the error of a decoder: detail says what is wrong at path, reason (of package mistake) is its Origin.
func Problem(path *field.Path, reason, detail string) *field.Error {
	e := &field.Error{Type: field.ErrorTypeTypeInvalid, Field: path.String(), BadValue: field.OmitValueType{}, Detail: detail}
	return e.WithOrigin(reason)
}

// maxMistakes bounds what is said about a hopeless document.
const maxMistakes = 100

type decoder struct {
	errs field.ErrorList
}

func (d *decoder) problem(path *field.Path, reason, detail string) {
	if !d.full() {
		d.errs = append(d.errs, Problem(path, reason, detail))
	}
}

// full reports whether what is found from now on will not be reported, so that there is no use in finding words for it.
func (d *decoder) full() bool { return len(d.errs) >= maxMistakes }

func (d *decoder) wrongType(path *field.Path, want string, got *structpb.Value) {
	d.problem(path, mistake.WrongType, mistake.Type(want, describe(got)))
}

// decode writes v, which must not be null, into rv.
func (d *decoder) decode(v *structpb.Value, rv reflect.Value, path *field.Path) {
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
		s, ok := v.GetKind().(*structpb.Value_StringValue)
		if !ok {
			d.problem(path, mistake.WrongType, mistake.Text(describe(v), isPlain(v)))
			return
		}
		rv.SetString(s.StringValue)
	case reflect.Bool:
		b, ok := v.GetKind().(*structpb.Value_BoolValue)
		if !ok {
			d.wrongType(path, "boolean", v)
			return
		}
		rv.SetBool(b.BoolValue)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		d.decodeInt(v, rv, path)
	case reflect.Float32, reflect.Float64:
		n, ok := v.GetKind().(*structpb.Value_NumberValue)
		if !ok {
			d.wrongType(path, "number", v)
			return
		}
		rv.SetFloat(n.NumberValue)
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

// decodePointer leaves nil what a mistake left empty: a pointer to nothing would be a value that nobody wrote.
func (d *decoder) decodePointer(v *structpb.Value, rv reflect.Value, path *field.Path) {
	elem, before := reflect.New(rv.Type().Elem()), len(d.errs)
	d.decode(v, elem.Elem(), path)
	if len(d.errs) == before || !elem.Elem().IsZero() {
		rv.Set(elem)
	}
}

func (d *decoder) decodeSlice(v *structpb.Value, rv reflect.Value, path *field.Path) {
	if rv.Type().Elem().Kind() == reflect.Uint8 {
		s, ok := v.GetKind().(*structpb.Value_StringValue)
		if !ok {
			d.wrongType(path, "string in base64", v)
			return
		}
		data, err := base64.StdEncoding.DecodeString(s.StringValue)
		if err != nil {
			d.problem(path, mistake.BadFormat, "not base64: "+err.Error())
			return
		}
		rv.SetBytes(data)
		return
	}
	list, ok := v.GetKind().(*structpb.Value_ListValue)
	if !ok {
		d.wrongType(path, "list", v)
		return
	}
	items := list.ListValue.GetValues()
	out := reflect.MakeSlice(rv.Type(), len(items), len(items))
	for i, item := range items {
		if isNull(item) {
			d.wrongType(path.Index(i), typeName(rv.Type().Elem()), item)
			continue
		}
		d.decode(item, out.Index(i), path.Index(i))
	}
	rv.Set(out)
}

func (d *decoder) decodeMap(v *structpb.Value, rv reflect.Value, path *field.Path) {
	obj, ok := v.GetKind().(*structpb.Value_StructValue)
	if !ok {
		d.wrongType(path, "object", v)
		return
	}
	fields := obj.StructValue.GetFields()
	out := reflect.MakeMapWithSize(rv.Type(), len(fields))
	elem := rv.Type().Elem()
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		if isNull(fields[key]) {
			d.wrongType(path.Key(key), typeName(elem), fields[key])
			continue
		}
		item := reflect.New(elem).Elem()
		d.decode(fields[key], item, path.Key(key))
		out.SetMapIndex(reflect.ValueOf(key).Convert(rv.Type().Key()), item)
	}
	rv.Set(out)
}

func (d *decoder) decodeStruct(v *structpb.Value, rv reflect.Value, path *field.Path) {
	obj, ok := v.GetKind().(*structpb.Value_StructValue)
	if !ok {
		d.wrongType(path, "object", v)
		return
	}
	fields := obj.StructValue.GetFields()
	if len(fields) == 0 {
		return
	}
	plan := planOf(rv.Type())
	found := 0
	for _, f := range plan.fields {
		value, ok := fields[f.name]
		if !ok {
			continue
		}
		found++
		if isNull(value) || f.omitEmpty && isEmptyCollection(value) && isCollection(rv.FieldByIndex(f.index)) {
			continue
		}
		d.decode(value, rv.FieldByIndex(f.index), path.Child(f.name))
	}
	if found == len(fields) || d.full() {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if _, known := plan.byName[name]; !known && !d.full() {
			d.problem(path.Child(name), mistake.UnknownField, mistake.Unknown(name, plan.names))
		}
	}
}

func (d *decoder) decodeByJSON(v *structpb.Value, rv reflect.Value, path *field.Path) {
	data, err := json.Marshal(v.AsInterface())
	if err == nil {
		err = json.Unmarshal(data, rv.Addr().Interface())
	}
	if err != nil {
		d.problem(path, mistake.BadFormat, err.Error())
	}
}

func isNull(v *structpb.Value) bool {
	switch v.GetKind().(type) {
	case nil, *structpb.Value_NullValue:
		return true
	default:
		return false
	}
}

// isPlain reports whether v is what text becomes without quotes in YAML.
func isPlain(v *structpb.Value) bool {
	switch v.GetKind().(type) {
	case *structpb.Value_NumberValue, *structpb.Value_BoolValue:
		return true
	}
	return false
}

func isCollection(v reflect.Value) bool {
	return v.Kind() == reflect.Slice && v.Type().Elem().Kind() != reflect.Uint8 || v.Kind() == reflect.Map
}

func isEmptyCollection(v *structpb.Value) bool {
	switch k := v.GetKind().(type) {
	case *structpb.Value_ListValue:
		return len(k.ListValue.GetValues()) == 0
	case *structpb.Value_StructValue:
		return len(k.StructValue.GetFields()) == 0
	default:
		return false
	}
}
