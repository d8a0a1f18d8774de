package kubedoc

import (
	"fmt"
	"math"
	"reflect"
	"regexp"
	"strconv"
	"time"

	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/raygate/raygate/pkg/kubedoc/mistake"
)

// decodeScalarType decodes the struct types that are one value in JSON and reports whether rv is of one.
func (d *decoder) decodeScalarType(v *structpb.Value, rv reflect.Value, path *field.Path) bool {
	switch rv.Type() {
	case quantityType:
		if q, ok := d.quantity(v, path); ok {
			rv.Set(reflect.ValueOf(q))
		}
	case timeType:
		s, ok := v.GetKind().(*structpb.Value_StringValue)
		if !ok {
			d.wrongType(path, "time as a string", v)
			return true
		}
		t, err := time.Parse(time.RFC3339, s.StringValue)
		if err != nil || t.Nanosecond() != 0 {
			d.problem(path, mistake.BadFormat, strconv.Quote(s.StringValue)+" is not a time in RFC 3339 with whole seconds, such as 2026-01-31T12:00:00Z")
			return true
		}
		rv.Set(reflect.ValueOf(metav1.NewTime(t.Local())))
	case intOrStringType:
		switch k := v.GetKind().(type) {
		case *structpb.Value_StringValue:
			rv.Set(reflect.ValueOf(intstr.FromString(k.StringValue)))
		case *structpb.Value_NumberValue:
			if k.NumberValue != math.Trunc(k.NumberValue) || math.Abs(k.NumberValue) > math.MaxInt32 {
				d.problem(path, mistake.OutOfRange, formatNumber(k.NumberValue)+" is not a 32-bit integer")
				return true
			}
			rv.Set(reflect.ValueOf(intstr.FromInt32(int32(k.NumberValue))))
		default:
			d.wrongType(path, "integer or string", v)
		}
	default:
		return false
	}
	return true
}

// quantity takes strings and integers. A fraction as a number is refused as the API server does: it may not be exact.
func (d *decoder) quantity(v *structpb.Value, path *field.Path) (resource.Quantity, bool) {
	var text string
	switch k := v.GetKind().(type) {
	case *structpb.Value_StringValue:
		text = k.StringValue
	case *structpb.Value_NumberValue:
		if k.NumberValue != math.Trunc(k.NumberValue) || math.Abs(k.NumberValue) > mistake.MaxExact {
			n := formatNumber(k.NumberValue)
			d.problem(path, mistake.WrongType, fmt.Sprintf("expected quantity as a string or integer, got number %s; write %q", n, n))
			return resource.Quantity{}, false
		}
		text = formatNumber(k.NumberValue)
	default:
		d.wrongType(path, "quantity as a string or integer", v)
		return resource.Quantity{}, false
	}
	q, err := ParseQuantity(text)
	if err != nil {
		d.problem(path, mistake.BadFormat, err.Error())
		return resource.Quantity{}, false
	}
	return q, true
}

// hugeExponent is in texts such as 1e-999999999, for which the parser would take hours.
var hugeExponent = regexp.MustCompile(`[eE][+-]?[0-9.]{4}`)

// ParseQuantity parses a quantity of at most 64 bytes, with an exponent of at most three digits, into its canonical form.
func ParseQuantity(text string) (resource.Quantity, error) {
	// Longer ones only cost time: a quantity keeps 18 digits.
	if len(text) <= 64 && !hugeExponent.MatchString(text) {
		q, err := resource.ParseQuantity(text)
		if err == nil {
			// What is kept must be what would be read back: ParseQuantity rounds to nano and caps large values, and its
			// canonical form may differ from the parsed number until it was printed once.
			return resource.ParseQuantity(q.String())
		}
	}
	if len(text) > 64 {
		text = text[:64] + "..."
	}
	return resource.Quantity{}, fmt.Errorf("%q is not a quantity such as 500m, 2 or 16Gi", text)
}

func (d *decoder) decodeInt(v *structpb.Value, rv reflect.Value, path *field.Path) {
	bits := rv.Type().Bits()
	switch k := v.GetKind().(type) {
	case *structpb.Value_NumberValue:
		f := k.NumberValue
		switch {
		case math.IsNaN(f) || f != math.Trunc(f):
			d.wrongType(path, "integer", v)
		case bits < 64 && (f < -math.Ldexp(1, bits-1) || f >= math.Ldexp(1, bits-1)):
			d.problem(path, mistake.OutOfRange, fmt.Sprintf("%s does not fit in a %d-bit integer", formatNumber(f), bits))
		case math.Abs(f) > mistake.MaxExact:
			d.problem(path, mistake.OutOfRange, formatNumber(f)+" may not be exact as a number here; write it as a string of digits")
		default:
			rv.SetInt(int64(f))
		}
	case *structpb.Value_StringValue:
		// Only what a number could not carry: anything smaller as a string is a mistake to Kubernetes too.
		n, err := strconv.ParseInt(k.StringValue, 10, bits)
		if err != nil || n <= mistake.MaxExact && n >= -mistake.MaxExact {
			d.wrongType(path, "integer", v)
			return
		}
		rv.SetInt(n)
	default:
		d.wrongType(path, "integer", v)
	}
}

// describe names v with its value when that is short.
func describe(v *structpb.Value) string {
	switch k := v.GetKind().(type) {
	case *structpb.Value_StringValue:
		if len(k.StringValue) > 64 {
			return "string"
		}
		return "string " + strconv.Quote(k.StringValue)
	case *structpb.Value_NumberValue:
		return "number " + formatNumber(k.NumberValue)
	case *structpb.Value_BoolValue:
		return "boolean " + strconv.FormatBool(k.BoolValue)
	case *structpb.Value_ListValue:
		return "list"
	case *structpb.Value_StructValue:
		return "object"
	default:
		return "null"
	}
}

func typeName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return typeName(t.Elem())
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "boolean"
	case reflect.Slice:
		return "list"
	case reflect.Struct, reflect.Map:
		if t == quantityType {
			return "quantity"
		}
		return "object"
	default:
		return "number"
	}
}

func formatNumber(f float64) string {
	if math.Abs(f) < 1e15 {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	return strconv.FormatFloat(f, 'g', -1, 64)
}
