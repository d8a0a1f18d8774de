package convert

import (
	"math"
	"slices"
	"strconv"
	"time"

	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// Tree returns the JSON of a message in the form of unstructured.Unstructured: what kubectl prints for the resource. It includes empty
// fields that Kubernetes requires, such as the message of a condition; all other unset fields are left out.
func Tree(m proto.Message) map[string]any { return treeOf(m.ProtoReflect()) }

func treeOf(m protoreflect.Message) map[string]any {
	tree := map[string]any{}
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		if fd := fields.Get(i); m.Has(fd) || always(fd) {
			tree[fd.JSONName()] = fieldTree(m.Get(fd), fd)
		}
	}
	return tree
}

// always reports whether a field is shown even when it is empty.
func always(fd protoreflect.FieldDescriptor) bool {
	if fd.HasPresence() || fd.Cardinality() == protoreflect.Repeated {
		return false
	}
	behavior, _ := proto.GetExtension(fd.Options(), annotations.E_FieldBehavior).([]annotations.FieldBehavior)
	return slices.Contains(behavior, annotations.FieldBehavior_REQUIRED)
}

func fieldTree(value protoreflect.Value, fd protoreflect.FieldDescriptor) any {
	switch {
	case fd.IsList():
		items := make([]any, value.List().Len())
		for i := range items {
			items[i] = valueTree(value.List().Get(i), fd)
		}
		return items
	case fd.IsMap():
		members := make(map[string]any, value.Map().Len())
		value.Map().Range(func(key protoreflect.MapKey, member protoreflect.Value) bool {
			members[key.String()] = valueTree(member, fd.MapValue())
			return true
		})
		return members
	}
	return valueTree(value, fd)
}

func valueTree(value protoreflect.Value, fd protoreflect.FieldDescriptor) any {
	switch fd.Kind() { //nolint:exhaustive // the messages have fields of these kinds
	case protoreflect.MessageKind:
		switch m := value.Message().Interface().(type) {
		case *timestamppb.Timestamp:
			return m.AsTime().Format(time.RFC3339Nano)
		case *structpb.Struct:
			return documentTree(m)
		}
		return treeOf(value.Message())
	case protoreflect.Int32Kind, protoreflect.Int64Kind:
		return value.Int()
	case protoreflect.FloatKind:
		// By its text: 0.1 stays that and does not become 0.10000000149.
		f, _ := strconv.ParseFloat(strconv.FormatFloat(value.Float(), 'g', -1, 32), 64)
		return number(f)
	}
	return value.Interface()
}

func documentTree(document *structpb.Struct) map[string]any {
	members := make(map[string]any, len(document.GetFields()))
	for name, member := range document.GetFields() {
		members[name] = memberTree(member)
	}
	return members
}

func memberTree(value *structpb.Value) any {
	switch v := value.GetKind().(type) {
	case *structpb.Value_StructValue:
		return documentTree(v.StructValue)
	case *structpb.Value_ListValue:
		items := make([]any, len(v.ListValue.GetValues()))
		for i, item := range v.ListValue.GetValues() {
			items[i] = memberTree(item)
		}
		return items
	case *structpb.Value_NumberValue:
		return number(v.NumberValue)
	}
	return value.AsInterface()
}

// number gives integers their type in unstructured objects. Values that JSON cannot represent as numbers become text, which no reader takes
// for a number.
func number(f float64) any {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return strconv.FormatFloat(f, 'g', -1, 64)
	}
	if n := int64(f); float64(n) == f && n <= maxExact && n >= -maxExact {
		return n
	}
	return f
}

// maxExact is where float64 begins to leave out integers.
const maxExact = 1 << 53
