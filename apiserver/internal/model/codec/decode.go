package codec

import (
	"encoding/base64"
	"fmt"
	"math"
	"strconv"
	"time"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/raygate/raygate/pkg/kubedoc/mistake"
)

// dropped are members that Kubernetes prints and the messages do not have, by message.
var dropped = map[protoreflect.FullName]map[string]bool{
	"raygate.v2.ObjectMeta": {"managedFields": true, "selfLink": true},
}

// decoder writes a tree into a message. Its problems are shared with the parser.
type decoder struct {
	problems *problems
}

func (d *decoder) wrongType(at *path, want string, n node) {
	d.problems.add(at, mistake.WrongType, mistake.Type(want, n.describe()))
}

// message writes n, which is not null, into m.
func (d *decoder) message(n node, m protoreflect.Message, at *path) {
	switch typed := m.Interface().(type) {
	case *timestamppb.Timestamp:
		d.timestamp(n, typed, at)
		return
	case *structpb.Struct:
		if n.kind != kindObject {
			d.wrongType(at, "object", n)
			return
		}
		typed.Fields = d.structFields(n, at)
		return
	}
	if n.kind != kindObject {
		d.wrongType(at, "object", n)
		return
	}
	fields := m.Descriptor().Fields()
	for i := range n.members {
		mb := &n.members[i]
		fd := fields.ByJSONName(mb.key)
		if fd == nil {
			if !d.problems.full() && !dropped[m.Descriptor().FullName()][mb.key] {
				d.problems.add(new(at.member(mb.key)), mistake.UnknownField, mistake.Unknown(mb.key, jsonNames(fields)))
			}
			continue
		}
		if mb.value.kind != kindNull {
			here := at.child(mb.key)
			d.field(mb.value, m, fd, &here)
		}
	}
}

func jsonNames(fields protoreflect.FieldDescriptors) []string {
	names := make([]string, fields.Len())
	for i := range names {
		names[i] = fields.Get(i).JSONName()
	}
	return names
}

func (d *decoder) field(n node, m protoreflect.Message, fd protoreflect.FieldDescriptor, at *path) {
	switch {
	case fd.IsList():
		if n.kind != kindList {
			d.wrongType(at, "list", n)
			return
		}
		list := m.Mutable(fd).List()
		for i, item := range n.items {
			value, here := list.NewElement(), at.item(i)
			if d.value(item, &value, fd, &here) {
				list.Append(value)
			}
		}
	case fd.IsMap():
		if n.kind != kindObject {
			d.wrongType(at, "object", n)
			return
		}
		mp := m.Mutable(fd).Map()
		for _, mb := range n.members {
			value, here := mp.NewValue(), at.key(mb.key)
			if d.value(mb.value, &value, fd.MapValue(), &here) {
				mp.Set(protoreflect.ValueOfString(mb.key).MapKey(), value)
			}
		}
	default:
		value := m.NewField(fd)
		if d.value(n, &value, fd, at) {
			m.Set(fd, value)
		}
	}
}

// value writes n into what value holds or replaces it; false means that there was a mistake at this very place.
func (d *decoder) value(n node, value *protoreflect.Value, fd protoreflect.FieldDescriptor, at *path) bool { //nolint:gocyclo // one case per kind of field
	switch fd.Kind() {
	case protoreflect.MessageKind:
		if n.kind != kindObject && n.kind != kindString {
			d.wrongType(at, messageName(fd), n)
			return false
		}
		d.message(n, value.Message(), at)
		return true
	case protoreflect.StringKind:
		if n.kind != kindString {
			d.problems.add(at, mistake.WrongType, mistake.Text(n.describe(), n.kind == kindNumber || n.kind == kindBool))
			return false
		}
		*value = protoreflect.ValueOfString(n.text)
	case protoreflect.BoolKind:
		if n.kind != kindBool {
			d.wrongType(at, "boolean", n)
			return false
		}
		*value = protoreflect.ValueOfBool(n.truth)
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		i, ok := d.integer(n, 32, at)
		*value = protoreflect.ValueOfInt32(int32(i))
		return ok
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		i, ok := d.integer(n, 64, at)
		*value = protoreflect.ValueOfInt64(i)
		return ok
	case protoreflect.FloatKind, protoreflect.DoubleKind:
		return d.float(n, value, fd.Kind(), at)
	case protoreflect.EnumKind:
		ev := fd.Enum().Values().ByName(protoreflect.Name(n.text))
		if n.kind != kindString || ev == nil {
			d.wrongType(at, "name of a "+string(fd.Enum().Name()), n)
			return false
		}
		*value = protoreflect.ValueOfEnum(ev.Number())
	case protoreflect.BytesKind:
		data, err := base64.StdEncoding.DecodeString(n.text)
		if n.kind != kindString || err != nil {
			d.wrongType(at, "string in base64", n)
			return false
		}
		*value = protoreflect.ValueOfBytes(data)
	default:
		d.problems.add(at, mistake.WrongType, fmt.Sprintf("fields of kind %s cannot be given in JSON", fd.Kind()))
		return false
	}
	return true
}

func messageName(fd protoreflect.FieldDescriptor) string {
	if fd.Message().FullName() == "google.protobuf.Timestamp" {
		return "time as a string"
	}
	return "object"
}

// integer takes any number without a fraction: 3, 3.0 and 3e0 are one to JSON. One of 64 bits may be a string of digits: that is how the JSON form
// of protobuf writes it.
func (d *decoder) integer(n node, bits int, at *path) (int64, bool) {
	if n.kind == kindString && bits == 64 {
		if i, err := strconv.ParseInt(n.text, 10, 64); err == nil {
			return i, true
		}
	}
	if n.kind != kindNumber {
		d.wrongType(at, "integer", n)
		return 0, false
	}
	i, err := strconv.ParseInt(n.text, 10, bits)
	if err == nil {
		return i, true
	}
	f, err := strconv.ParseFloat(n.text, 64)
	switch {
	case err == nil && f != math.Trunc(f):
		d.wrongType(at, "integer", n)
		return 0, false
	case err != nil || math.Abs(f) > mistake.MaxExact || int64(f) != int64(f)<<(64-bits)>>(64-bits):
		d.problems.add(at, mistake.OutOfRange, fmt.Sprintf("%s does not fit in a %d-bit integer", n.describe(), bits))
		return 0, false
	}
	return int64(f), true
}

func (d *decoder) float(n node, value *protoreflect.Value, kind protoreflect.Kind, at *path) bool {
	if n.kind != kindNumber {
		d.wrongType(at, "number", n)
		return false
	}
	bits := 64
	if kind == protoreflect.FloatKind {
		bits = 32
	}
	f, err := strconv.ParseFloat(n.text, bits)
	if err != nil {
		d.problems.add(at, mistake.OutOfRange, n.describe()+" is too large")
		return false
	}
	if bits == 32 {
		*value = protoreflect.ValueOfFloat32(float32(f))
	} else {
		*value = protoreflect.ValueOfFloat64(f)
	}
	return true
}

func (d *decoder) timestamp(n node, out *timestamppb.Timestamp, at *path) {
	if n.kind != kindString {
		d.wrongType(at, "time as a string", n)
		return
	}
	t, err := time.Parse(time.RFC3339, n.text)
	ts := timestamppb.New(t)
	if err != nil || !ts.IsValid() {
		d.problems.add(at, mistake.BadFormat, n.describe()+" is not a time in RFC 3339, such as 2026-01-31T12:00:00Z")
		return
	}
	out.Seconds, out.Nanos = ts.Seconds, ts.Nanos
}

func (d *decoder) structFields(n node, at *path) map[string]*structpb.Value {
	fields := make(map[string]*structpb.Value, len(n.members))
	for _, mb := range n.members {
		here := at.member(mb.key)
		fields[mb.key] = d.structValue(mb.value, &here)
	}
	return fields
}

// structValue keeps n as it is. A Struct has float64 for numbers, so an integer that would come out as another is refused.
func (d *decoder) structValue(n node, at *path) *structpb.Value {
	switch n.kind {
	case kindBool:
		return structpb.NewBoolValue(n.truth)
	case kindString:
		return structpb.NewStringValue(n.text)
	case kindNumber:
		f, err := strconv.ParseFloat(n.text, 64)
		if err != nil || !isExact(n.text, f) {
			d.problems.add(at, mistake.OutOfRange, n.describe()+" is beyond 2^53 and would not stay exact; if the field is a 64-bit integer, put it in quotes")
		}
		return structpb.NewNumberValue(f)
	case kindList:
		list := &structpb.ListValue{Values: make([]*structpb.Value, len(n.items))}
		for i, item := range n.items {
			here := at.item(i)
			list.Values[i] = d.structValue(item, &here)
		}
		return structpb.NewListValue(list)
	case kindObject:
		return structpb.NewStructValue(&structpb.Struct{Fields: d.structFields(n, at)})
	default:
		return structpb.NewNullValue()
	}
}

// isExact reports whether the integer that text says is still that as f. A fraction is what float64 makes of it, as in Kubernetes.
func isExact(text string, f float64) bool {
	if i, err := strconv.ParseInt(text, 10, 64); err == nil {
		return i <= mistake.MaxExact && i >= -mistake.MaxExact
	}
	return math.Abs(f) < mistake.MaxExact
}
