package convert

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/raygate/raygate/pkg/manifest"
)

// newOf returns a new value for a nil pointer.
func newOf[T any](pointer T) T {
	return reflect.New(reflect.TypeOf(pointer).Elem()).Interface().(T)
}

// Fill writes the JSON of a resource into the message that mirrors it. Integers in tree are int64, as in sigs.k8s.io/json and unstructured
// objects. Fill ignores null and members without a field in the message. A value whose type differs from that of its field is an error that
// names the path.
func Fill(m proto.Message, tree map[string]any) error {
	return filler{}.message(m.ProtoReflect(), tree)
}

// FillKnown is Fill for stored objects: it also ignores values of another type than their field. The API server has validated the object by
// a schema that may be newer than the message.
func FillKnown(m proto.Message, tree map[string]any) {
	_ = filler{lenient: true}.message(m.ProtoReflect(), tree)
}

// filler fills messages. When it is lenient, values that do not fit are left out.
type filler struct{ lenient bool }

func (f filler) message(m protoreflect.Message, tree map[string]any) error {
	for name, value := range tree {
		fd := m.Descriptor().Fields().ByJSONName(name)
		if fd == nil || value == nil {
			continue
		}
		if err := f.field(m, fd, value); err != nil && !f.lenient {
			return within(name, err)
		}
	}
	return nil
}

func (f filler) field(m protoreflect.Message, fd protoreflect.FieldDescriptor, value any) error {
	switch {
	case fd.IsList():
		return f.list(m, fd, value)
	case fd.IsMap():
		return f.members(m, fd, value)
	}
	v, err := f.value(value, fd, func() protoreflect.Value { return m.NewField(fd) })
	if err != nil {
		return err
	}
	m.Set(fd, v)
	return nil
}

func (f filler) list(m protoreflect.Message, fd protoreflect.FieldDescriptor, value any) error {
	items, ok := value.([]any)
	if !ok {
		return mismatch(value, "a list")
	}
	if len(items) == 0 {
		return nil
	}
	to := m.Mutable(fd).List()
	for i, item := range items {
		switch v, err := f.value(item, fd, to.NewElement); {
		case err == nil:
			to.Append(v)
		case !f.lenient:
			return within("["+strconv.Itoa(i)+"]", err)
		}
	}
	return nil
}

func (f filler) members(m protoreflect.Message, fd protoreflect.FieldDescriptor, value any) error {
	members, ok := value.(map[string]any)
	if !ok {
		return mismatch(value, "an object")
	}
	if len(members) == 0 {
		return nil
	}
	to := m.Mutable(fd).Map()
	for key, member := range members {
		switch v, err := f.value(member, fd.MapValue(), to.NewValue); {
		case err == nil:
			to.Set(protoreflect.ValueOfString(key).MapKey(), v)
		case !f.lenient:
			return within("["+key+"]", err)
		}
	}
	return nil
}

func (f filler) value(value any, fd protoreflect.FieldDescriptor, empty func() protoreflect.Value) (protoreflect.Value, error) {
	switch fd.Kind() { //nolint:exhaustive // the messages have fields of these kinds
	case protoreflect.MessageKind:
		out := empty()
		return out, f.one(out.Message(), value)
	case protoreflect.StringKind:
		return text(value)
	case protoreflect.BoolKind:
		b, ok := value.(bool)
		if !ok {
			return protoreflect.Value{}, mismatch(value, "a boolean")
		}
		return protoreflect.ValueOfBool(b), nil
	case protoreflect.Int32Kind:
		n, ok := integer(value)
		if !ok || int64(int32(n)) != n {
			return protoreflect.Value{}, mismatch(value, "a 32-bit integer")
		}
		return protoreflect.ValueOfInt32(int32(n)), nil
	case protoreflect.Int64Kind:
		n, ok := integer(value)
		if !ok {
			return protoreflect.Value{}, mismatch(value, "an integer")
		}
		return protoreflect.ValueOfInt64(n), nil
	case protoreflect.FloatKind:
		return float(value)
	}
	return protoreflect.Value{}, fmt.Errorf("fields of kind %s have no JSON here", fd.Kind())
}

func text(value any) (protoreflect.Value, error) {
	switch v := value.(type) {
	case string:
		return protoreflect.ValueOfString(v), nil
	case int64: // a quantity
		return protoreflect.ValueOfString(strconv.FormatInt(v, 10)), nil
	}
	return protoreflect.Value{}, mismatch(value, "a string")
}

func float(value any) (protoreflect.Value, error) {
	switch v := value.(type) {
	case int64:
		return protoreflect.ValueOfFloat32(float32(v)), nil
	case float64:
		return protoreflect.ValueOfFloat32(float32(v)), nil
	}
	return protoreflect.Value{}, mismatch(value, "a number")
}

func (f filler) one(m protoreflect.Message, value any) error {
	if stamp, ok := m.Interface().(*timestamppb.Timestamp); ok {
		text, _ := value.(string)
		t, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return mismatch(value, "a time in RFC 3339")
		}
		stamp.Seconds, stamp.Nanos = t.Unix(), int32(t.Nanosecond())
		return nil
	}
	tree, ok := value.(map[string]any)
	if !ok {
		return mismatch(value, "an object")
	}
	if document, ok := m.Interface().(*structpb.Struct); ok {
		document.Fields = manifest.FromJSON(tree).Fields
		return nil
	}
	return f.message(m, tree)
}

// integer accepts 3 and 3.0, which are equal in JSON.
func integer(value any) (int64, bool) {
	switch v := value.(type) {
	case int64:
		return v, true
	case float64:
		return int64(v), v == float64(int64(v))
	}
	return 0, false
}

// fieldError is a value in the wrong place.
type fieldError struct{ path, text string }

// Error implements error.
func (e *fieldError) Error() string { return e.path + ": " + e.text }

func mismatch(value any, want string) error {
	text := fmt.Sprint(value)
	if len(text) > 64 {
		text = strings.ToValidUTF8(text[:64], "") + "..."
	}
	return &fieldError{text: text + " is not " + want}
}

// within prepends the name of the containing field to the path of an error.
func within(name string, err error) error {
	e, ok := err.(*fieldError) //nolint:errorlint // made by mismatch and never wrapped
	switch {
	case !ok:
		return fmt.Errorf("%s: %w", name, err)
	case e.path == "" || e.path[0] == '[':
		e.path = name + e.path
	default:
		e.path = name + "." + e.path
	}
	return e
}
