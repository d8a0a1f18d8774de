package v2

import (
	"strconv"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/raygate/raygate/pkg/kubedoc"
)

// Fill writes the JSON of a stored resource into the message that mirrors it. What the message has no field for is left out, and so is what has
// another type than its field: the API server checked it by a schema, which may be newer than this message.
func Fill(m proto.Message, tree map[string]any) { fillMessage(m.ProtoReflect(), tree) }

func fillMessage(m protoreflect.Message, tree map[string]any) {
	fields := m.Descriptor().Fields()
	for name, value := range tree {
		fd := fields.ByJSONName(name)
		switch {
		case fd == nil || value == nil:
		case fd.IsList():
			items, _ := value.([]any)
			if len(items) == 0 {
				continue
			}
			list := m.Mutable(fd).List()
			for _, item := range items {
				if v, ok := fillValue(item, fd, list.NewElement); ok {
					list.Append(v)
				}
			}
		case fd.IsMap():
			members, _ := value.(map[string]any)
			if len(members) == 0 {
				continue
			}
			to := m.Mutable(fd).Map()
			for key, member := range members {
				if v, ok := fillValue(member, fd.MapValue(), to.NewValue); ok {
					to.Set(protoreflect.ValueOfString(key).MapKey(), v)
				}
			}
		default:
			if v, ok := fillValue(value, fd, func() protoreflect.Value { return m.NewField(fd) }); ok {
				m.Set(fd, v)
			}
		}
	}
}

// fillValue returns a value for a field; ok is false when it has another type.
func fillValue(value any, fd protoreflect.FieldDescriptor, empty func() protoreflect.Value) (out protoreflect.Value, ok bool) {
	switch fd.Kind() { //nolint:exhaustive // a test holds the protos to these kinds
	case protoreflect.MessageKind:
		out = empty()
		switch typed := out.Message().Interface().(type) {
		case *timestamppb.Timestamp:
			text, _ := value.(string)
			t, err := time.Parse(time.RFC3339, text)
			typed.Seconds = t.Unix()
			return out, err == nil
		case *structpb.Struct:
			tree, ok := value.(map[string]any)
			typed.Fields = kubedoc.FromJSON(tree).Fields
			return out, ok
		}
		tree, ok := value.(map[string]any)
		fillMessage(out.Message(), tree)
		return out, ok
	case protoreflect.StringKind:
		switch v := value.(type) {
		case string:
			return protoreflect.ValueOfString(v), true
		case int64: // a quantity
			return protoreflect.ValueOfString(strconv.FormatInt(v, 10)), true
		}
	case protoreflect.BoolKind:
		b, ok := value.(bool)
		return protoreflect.ValueOfBool(b), ok
	case protoreflect.Int32Kind:
		n, ok := value.(int64)
		return protoreflect.ValueOfInt32(int32(n)), ok && int64(int32(n)) == n
	case protoreflect.Int64Kind:
		n, ok := value.(int64)
		return protoreflect.ValueOfInt64(n), ok
	case protoreflect.FloatKind:
		switch v := value.(type) {
		case int64:
			return protoreflect.ValueOfFloat32(float32(v)), true
		case float64:
			return protoreflect.ValueOfFloat32(float32(v)), true
		}
	}
	return out, false
}
