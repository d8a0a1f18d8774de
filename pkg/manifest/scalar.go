package manifest

import (
	"fmt"
	"math"
	"reflect"
	"regexp"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/raygate/raygate/pkg/manifest/problem"
)

// decodeScalarType decodes the struct types that are one value in JSON and reports whether rv is of one.
func (d *decoder) decodeScalarType(v any, rv reflect.Value, path *field.Path) bool {
	switch rv.Type() {
	case quantityType:
		if q, ok := d.quantity(v, path); ok {
			rv.Set(reflect.ValueOf(q))
		}
	case timeType:
		text, ok := v.(string)
		if !ok {
			d.wrongType(path, "time as a string", v)
			return true
		}
		t, err := time.Parse(time.RFC3339, text)
		if err != nil || t.Nanosecond() != 0 {
			d.add(path, problem.BadFormat, strconv.Quote(problem.Short(text))+" is not a time in RFC 3339 with whole seconds, such as 2026-01-31T12:00:00Z")
			return true
		}
		rv.Set(reflect.ValueOf(metav1.NewTime(t.Local())))
	case intOrStringType:
		if text, ok := v.(string); ok {
			rv.Set(reflect.ValueOf(intstr.FromString(text)))
			return true
		}
		switch n, ok := integer(v); {
		case !isNumber(v):
			d.wrongType(path, "integer or string", v)
		case !ok || n != int64(int32(n)):
			d.add(path, problem.OutOfRange, formatNumber(v)+" is not a 32-bit integer")
		default:
			rv.Set(reflect.ValueOf(intstr.FromInt32(int32(n))))
		}
	default:
		return false
	}
	return true
}

// quantity accepts strings and integers. It refuses a fraction as a number, as the API server does, because it may not be exact.
func (d *decoder) quantity(v any, path *field.Path) (resource.Quantity, bool) {
	text, isText := v.(string)
	if !isText {
		n := formatNumber(v)
		switch _, ok := integer(v); {
		case !isNumber(v):
			d.wrongType(path, "quantity as a string or integer", v)
			return resource.Quantity{}, false
		case !ok:
			d.add(path, problem.WrongType, fmt.Sprintf("expected quantity as a string or integer, got number %s; write %q", n, n))
			return resource.Quantity{}, false
		}
		text = n
	}
	q, err := ParseQuantity(text)
	if err != nil {
		d.add(path, problem.BadFormat, err.Error())
	}
	return q, err == nil
}

// hugeExponent is in texts such as 1e-999999999, for which the parser would take hours.
var hugeExponent = regexp.MustCompile(`[eE][+-]?[0-9.]{4}`)

// ParseQuantity parses a quantity of at most 64 bytes, with an exponent of at most three digits, into its canonical form.
func ParseQuantity(text string) (resource.Quantity, error) {
	// Longer ones only cost time: a quantity keeps 18 digits.
	if len(text) <= 64 && !hugeExponent.MatchString(text) {
		q, err := resource.ParseQuantity(text)
		if err == nil {
			// The stored value must equal the value that is read back. ParseQuantity rounds to nano and caps large values, and its
			// canonical form may differ from the parsed number until it has been printed once.
			return resource.ParseQuantity(q.String())
		}
	}
	if len(text) > 64 {
		text = text[:64] + "..."
	}
	return resource.Quantity{}, fmt.Errorf("%q is not a quantity such as 500m, 2 or 16Gi", text)
}

func (d *decoder) decodeString(v any, rv reflect.Value, path *field.Path) {
	text, ok := v.(string)
	if !ok {
		d.add(path, problem.WrongType, problem.Text(describe(v), isPlain(v)))
		return
	}
	rv.SetString(text)
}

func (d *decoder) decodeBool(v any, rv reflect.Value, path *field.Path) {
	truth, ok := v.(bool)
	if !ok {
		d.wrongType(path, "boolean", v)
		return
	}
	rv.SetBool(truth)
}

func (d *decoder) decodeFloat(v any, rv reflect.Value, path *field.Path) {
	switch n := v.(type) {
	case int64:
		rv.SetFloat(float64(n))
	case float64:
		rv.SetFloat(n)
	default:
		d.wrongType(path, "number", v)
	}
}

// decodeInt accepts any number without a fraction: 3, 3.0 and 3e0 are equal in JSON.
func (d *decoder) decodeInt(v any, rv reflect.Value, path *field.Path) {
	n, ok := integer(v)
	f, isFloat := v.(float64)
	switch {
	case ok && !rv.OverflowInt(n):
		rv.SetInt(n)
	case ok, isFloat && f == math.Trunc(f):
		d.add(path, problem.OutOfRange, fmt.Sprintf("%s does not fit in a %d-bit integer", formatNumber(v), rv.Type().Bits()))
	default:
		d.wrongType(path, "integer", v)
	}
}

// integer returns the integer that a number is.
func integer(v any) (int64, bool) {
	switch n := v.(type) {
	case int64:
		return n, true
	case float64:
		return int64(n), n == math.Trunc(n) && math.Abs(n) < 1<<63
	}
	return 0, false
}

func isNumber(v any) bool {
	_, isFloat := v.(float64)
	_, isInt := v.(int64)
	return isFloat || isInt
}

// describe names v with its value when that is short.
func describe(v any) string {
	switch v := v.(type) {
	case string:
		if len(v) > 64 {
			return "string"
		}
		return "string " + strconv.Quote(v)
	case int64, float64:
		return "number " + formatNumber(v)
	case bool:
		return "boolean " + strconv.FormatBool(v)
	case []any:
		return "list"
	case map[string]any:
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
		if t.Elem().Kind() == reflect.Uint8 {
			return "string in base64"
		}
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

func formatNumber(v any) string {
	f, ok := v.(float64)
	switch {
	case !ok:
		return fmt.Sprint(v)
	case math.Abs(f) < 1e15:
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	return strconv.FormatFloat(f, 'g', -1, 64)
}
