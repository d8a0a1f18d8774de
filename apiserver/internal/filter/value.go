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

// valueType is what the values of a field are compared as.
type valueType int

const (
	// untyped values are those within documents of Kubernetes: compared as their JSON says.
	untyped valueType = iota
	text
	key // the value of a key of a map, which is text and may be absent
	number
	boolean
	moment
	quantity
	release
	// composite values are messages and maps, which can be asked for what they have only.
	composite
)

// isText tells whether : looks for a part of the text.
func (t valueType) isText() bool { return t == text || t == key || t == release || t == moment }

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

// literal is the value on the right, read once as the type of the field on the left.
type literal struct {
	text     string
	number   float64
	numeric  bool
	moment   time.Time
	quantity resource.Quantity
	release  *version.Version
	present  bool // the value *
}

// read returns what is wrong with the value, or nothing.
func (l *literal) read(t valueType) (problem string) {
	var err error
	switch l.number, err = strconv.ParseFloat(l.text, 64); {
	case err == nil:
		l.numeric = true
	case t == number:
		return "is compared with a number"
	}
	switch t {
	case boolean:
		if l.text != "true" && l.text != "false" {
			return "is compared with true or false"
		}
	case moment:
		if l.moment, err = time.Parse(time.RFC3339, l.text); err != nil {
			return "is compared with a time such as \"2026-01-31T12:00:00Z\""
		}
	case quantity:
		if l.quantity, err = resource.ParseQuantity(l.text); err != nil {
			return "is compared with a quantity such as 500m or 2Gi"
		}
	case release:
		l.release = parseRelease(l.text)
	}
	return ""
}

// parseRelease reads 2.46.0, 2.50 or 2; nil for what is no version, such as nightly.
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

// order compares a value with the literal; comparable is false when there is no answer, which only != takes for a yes.
func (l *literal) order(v gjson.Result, t valueType) (order int, comparable bool) {
	switch t {
	case untyped:
		switch v.Type {
		case gjson.String:
			return cmp.Compare(v.Str, l.text), true
		case gjson.Number:
			return cmp.Compare(v.Num, l.number), l.numeric
		case gjson.True, gjson.False:
			return cmp.Compare(v.String(), l.text), true
		}
		return 0, false
	case key:
		return cmp.Compare(v.Str, l.text), v.Type == gjson.String
	case text:
		return cmp.Compare(v.String(), l.text), true
	case number:
		return cmp.Compare(v.Float(), l.number), true
	case boolean:
		return cmp.Compare(strconv.FormatBool(v.Bool()), l.text), true
	case moment:
		at, err := time.Parse(time.RFC3339, v.Str)
		return at.Compare(l.moment), err == nil
	case quantity:
		if !v.Exists() {
			return new(resource.Quantity).Cmp(l.quantity), true
		}
		q, err := resource.ParseQuantity(v.String())
		return q.Cmp(l.quantity), err == nil
	case release:
		if have := parseRelease(v.Str); have != nil && l.release != nil {
			order, _ := have.Compare(l.release.String()) // both can be read
			return cmp.Or(order, cmp.Compare(suffix(v.Str), suffix(l.text))), true
		}
		return cmp.Compare(v.Str, l.text), v.Str == l.text
	}
	return 0, false
}

// suffix is what stands behind the numbers of a version, such as rc1.
func suffix(text string) string { return strings.TrimLeft(text, "v0123456789.") }
