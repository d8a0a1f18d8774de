package kubedoc

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"

	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/raygate/raygate/pkg/kubedoc/mistake"
)

// Encode returns v, a pointer to a Kubernetes struct or a map with string keys, as a Struct; nil for a nil pointer or map.
// It fails only for a value whose own MarshalJSON fails.
func Encode(v any) (*structpb.Struct, error) {
	rv := reflect.ValueOf(v)
	if !rv.IsValid() || (rv.Kind() == reflect.Pointer || rv.Kind() == reflect.Map) && rv.IsNil() {
		return nil, nil
	}
	value, err := encode(reflect.Indirect(rv))
	if err != nil {
		return nil, fmt.Errorf("encoding %T: %w", v, err)
	}
	s, ok := value.GetKind().(*structpb.Value_StructValue)
	if !ok {
		return nil, fmt.Errorf("encoding %T: its JSON is not an object", v)
	}
	return s.StructValue, nil
}

// EncodeList returns every item as a Struct.
func EncodeList[T any](items []T) ([]*structpb.Struct, error) {
	if len(items) == 0 {
		return nil, nil
	}
	out := make([]*structpb.Struct, len(items))
	for i := range items {
		var err error
		if out[i], err = Encode(&items[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// encode returns nil for what JSON would print as null.
func encode(v reflect.Value) (*structpb.Value, error) { //nolint:gocyclo // one case per kind of Go value
	switch t := v.Type(); {
	case v.Kind() == reflect.Pointer:
		if v.IsNil() {
			return nil, nil
		}
		return encode(v.Elem())
	case t == quantityType:
		q := v.Interface().(resource.Quantity)
		return structpb.NewStringValue(q.String()), nil
	case t == timeType:
		tm := v.Interface().(metav1.Time)
		if tm.IsZero() {
			return nil, nil
		}
	case t == intOrStringType:
		n := v.Interface().(intstr.IntOrString)
		if n.Type == intstr.Int {
			return structpb.NewNumberValue(float64(n.IntVal)), nil
		}
		return structpb.NewStringValue(n.StrVal), nil
	}
	if v.Kind() != reflect.Interface && speaksJSON(v.Type()) {
		return encodeByJSON(v)
	}
	switch v.Kind() {
	case reflect.String:
		return structpb.NewStringValue(v.String()), nil
	case reflect.Bool:
		return structpb.NewBoolValue(v.Bool()), nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		if n := v.Int(); n > mistake.MaxExact || n < -mistake.MaxExact {
			return structpb.NewStringValue(strconv.FormatInt(n, 10)), nil
		}
		return structpb.NewNumberValue(float64(v.Int())), nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		if n := v.Uint(); n > mistake.MaxExact {
			return structpb.NewStringValue(strconv.FormatUint(n, 10)), nil
		}
		return structpb.NewNumberValue(float64(v.Uint())), nil
	case reflect.Float32, reflect.Float64:
		return structpb.NewNumberValue(v.Float()), nil
	case reflect.Slice:
		return encodeSlice(v)
	case reflect.Map:
		return encodeMap(v)
	case reflect.Struct:
		return encodeStruct(v)
	default:
		return nil, fmt.Errorf("type %s has no JSON form", v.Type())
	}
}

func encodeSlice(v reflect.Value) (*structpb.Value, error) {
	if v.IsNil() {
		return nil, nil
	}
	if v.Type().Elem().Kind() == reflect.Uint8 {
		return structpb.NewStringValue(base64.StdEncoding.EncodeToString(v.Bytes())), nil
	}
	list := make([]*structpb.Value, v.Len())
	for i := range list {
		item, err := encode(v.Index(i))
		if err != nil {
			return nil, err
		}
		if item == nil {
			item = structpb.NewNullValue()
		}
		list[i] = item
	}
	return structpb.NewListValue(&structpb.ListValue{Values: list}), nil
}

func encodeMap(v reflect.Value) (*structpb.Value, error) {
	if v.IsNil() {
		return nil, nil
	}
	if v.Type().Key().Kind() != reflect.String {
		return nil, fmt.Errorf("type %s has keys that are no strings", v.Type())
	}
	fields := make(map[string]*structpb.Value, v.Len())
	for it := v.MapRange(); it.Next(); {
		item, err := encode(it.Value())
		if err != nil {
			return nil, err
		}
		if item == nil {
			item = structpb.NewNullValue()
		}
		fields[it.Key().String()] = item
	}
	return structpb.NewStructValue(&structpb.Struct{Fields: fields}), nil
}

func encodeStruct(v reflect.Value) (*structpb.Value, error) {
	plan := planOf(v.Type())
	var fields map[string]*structpb.Value
	for _, f := range plan.fields {
		fv := v.FieldByIndex(f.index)
		if f.omitEmpty && isEmpty(fv) {
			continue
		}
		value, err := encode(fv)
		if err != nil {
			return nil, err
		}
		if value == nil || f.omitEmpty && fv.Kind() == reflect.Struct && isEmptyObject(value) {
			continue
		}
		if fields == nil {
			fields = make(map[string]*structpb.Value)
		}
		fields[f.name] = value
	}
	return structpb.NewStructValue(&structpb.Struct{Fields: fields}), nil
}

// isEmpty is the rule of encoding/json for omitempty.
func isEmpty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Slice, reflect.Map:
		return v.Len() == 0
	case reflect.Struct:
		return false
	default:
		return v.IsZero()
	}
}

func isEmptyObject(v *structpb.Value) bool {
	s, ok := v.GetKind().(*structpb.Value_StructValue)
	return ok && len(s.StructValue.GetFields()) == 0
}

func encodeByJSON(v reflect.Value) (*structpb.Value, error) {
	data, err := json.Marshal(v.Interface())
	if err != nil {
		return nil, err
	}
	out := &structpb.Value{}
	if err := out.UnmarshalJSON(data); err != nil {
		return nil, err
	}
	if _, null := out.GetKind().(*structpb.Value_NullValue); null {
		return nil, nil
	}
	return out, nil
}
