package filter

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/version"

	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// valueType is the type as which the values of a field are compared.
type valueType int

const (
	// untyped values are those within documents of Kubernetes: compared by their JSON type.
	untyped valueType = iota
	text
	key // the value of a key of a map, which is text and may be absent
	number
	boolean
	moment
	quantity
	release
	// composite values are messages and maps. Only : applies to them.
	composite
)

// comparedBy returns the type as which an operator compares: the operator : looks for a part of a text.
func (t valueType) comparedBy(op string) valueType {
	if op == ":" && (t == key || t == release || t == moment) {
		return text
	}
	return t
}

func typeOf(fd protoreflect.FieldDescriptor) valueType {
	switch fd.Kind() { //nolint:exhaustive // the others are numbers
	case protoreflect.StringKind:
		switch proto.GetExtension(fd.Options(), raygatev2.E_TextFormat).(raygatev2.TextFormat) {
		case raygatev2.TextFormat_TEXT_FORMAT_QUANTITY:
			return quantity
		case raygatev2.TextFormat_TEXT_FORMAT_VERSION:
			return release
		default:
			return text
		}
	case protoreflect.BoolKind:
		return boolean
	case protoreflect.MessageKind:
		if fd.Message().FullName() == "google.protobuf.Timestamp" {
			return moment
		}
		return composite
	}
	return number
}

// comparer compares a value with the literal of a comparison. comparable is false if they have no order; then only != holds.
type comparer func(v gjson.Result) (order int, comparable bool)

// comparers read a literal once, as the type of the field. problem is empty if it can be read. Composite values are not compared.
var comparers = map[valueType]func(literal string) (c comparer, problem string){
	untyped: func(literal string) (comparer, string) {
		want, err := strconv.ParseFloat(literal, 64)
		return func(v gjson.Result) (int, bool) {
			if v.Type == gjson.Number {
				return cmp.Compare(v.Num, want), err == nil
			}
			return cmp.Compare(v.String(), literal), v.Type == gjson.String || v.IsBool()
		}, ""
	},
	text: func(literal string) (comparer, string) {
		return func(v gjson.Result) (int, bool) { return cmp.Compare(v.String(), literal), true }, ""
	},
	key: func(literal string) (comparer, string) {
		return func(v gjson.Result) (int, bool) { return cmp.Compare(v.Str, literal), v.Type == gjson.String }, ""
	},
	number: func(literal string) (comparer, string) {
		want, err := strconv.ParseFloat(literal, 64)
		if err != nil {
			return nil, "is compared with a number"
		}
		return func(v gjson.Result) (int, bool) { return cmp.Compare(v.Float(), want), true }, ""
	},
	boolean: func(literal string) (comparer, string) {
		if literal != "true" && literal != "false" {
			return nil, "is compared with true or false"
		}
		return func(v gjson.Result) (int, bool) { return cmp.Compare(strconv.FormatBool(v.Bool()), literal), true }, ""
	},
	moment: func(literal string) (comparer, string) {
		want, err := time.Parse(time.RFC3339, literal)
		if err != nil {
			return nil, "is compared with a time such as \"2026-01-31T12:00:00Z\""
		}
		return func(v gjson.Result) (int, bool) {
			at, err := time.Parse(time.RFC3339, v.Str)
			return at.Compare(want), err == nil
		}, ""
	},
	quantity: func(literal string) (comparer, string) {
		want, err := resource.ParseQuantity(literal)
		if err != nil {
			return nil, "is compared with a quantity such as 500m or 2Gi"
		}
		return func(v gjson.Result) (int, bool) {
			have, err := resource.ParseQuantity(cmp.Or(v.String(), "0"))
			return have.Cmp(want), err == nil
		}, ""
	},
	release: func(literal string) (comparer, string) {
		want := parseRelease(literal)
		return func(v gjson.Result) (int, bool) {
			if have := parseRelease(v.Str); have != nil && want != nil {
				order, _ := have.Compare(want.String()) // both can be read
				return cmp.Or(order, cmp.Compare(suffix(v.Str), suffix(literal))), true
			}
			return cmp.Compare(v.Str, literal), v.Str == literal
		}, ""
	},
	composite: func(string) (comparer, string) { return func(gjson.Result) (int, bool) { return 0, false }, "" },
}

// parseRelease parses 2.46.0, 2.50 or 2; it returns nil for text that is not a version, such as nightly.
func parseRelease(text string) *version.Version {
	if text != "" && !strings.Contains(text, ".") {
		text += ".0"
	}
	v, err := version.ParseGeneric(text)
	if err != nil {
		return nil
	}
	return v
}

// suffix is the part of a version behind its numbers, such as rc1.
func suffix(text string) string { return strings.TrimLeft(text, "v0123456789.") }
