package v1

import (
	"math/rand/v2"
	"strconv"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// fill sets every field of a message, at any depth, to something that is not empty. Lists and maps get up to three items.
func fill(r *rand.Rand, m proto.Message) { fillMessage(r, m.ProtoReflect()) }

func fillMessage(r *rand.Rand, m protoreflect.Message) {
	if m.Descriptor().FullName() == "google.protobuf.Timestamp" {
		m.Set(m.Descriptor().Fields().ByName("seconds"), protoreflect.ValueOfInt64(1+r.Int64N(1e9)))
		return
	}
	for i := range m.Descriptor().Fields().Len() {
		f := m.Descriptor().Fields().Get(i)
		switch {
		case f.IsMap():
			for range 1 + r.IntN(3) {
				key := protoreflect.ValueOfString(text(r)).MapKey()
				if f.MapValue().Message() != nil {
					value := m.Mutable(f).Map().NewValue()
					fillMessage(r, value.Message())
					m.Mutable(f).Map().Set(key, value)
					continue
				}
				m.Mutable(f).Map().Set(key, scalar(r, f.MapValue()))
			}
		case f.IsList():
			for range 1 + r.IntN(3) {
				if f.Message() != nil {
					fillMessage(r, m.Mutable(f).List().AppendMutable().Message())
					continue
				}
				m.Mutable(f).List().Append(scalar(r, f))
			}
		case f.Message() != nil:
			fillMessage(r, m.Mutable(f).Message())
		default:
			m.Set(f, scalar(r, f))
		}
	}
}

func text(r *rand.Rand) string { return "t" + strconv.Itoa(r.IntN(1000)) }

func scalar(r *rand.Rand, f protoreflect.FieldDescriptor) protoreflect.Value {
	switch f.Kind() {
	case protoreflect.EnumKind:
		return protoreflect.ValueOfEnum(protoreflect.EnumNumber(r.IntN(f.Enum().Values().Len())))
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(true)
	case protoreflect.Int32Kind:
		return protoreflect.ValueOfInt32(1 + r.Int32N(100))
	case protoreflect.Uint32Kind:
		return protoreflect.ValueOfUint32(1 + r.Uint32N(100))
	case protoreflect.Int64Kind:
		return protoreflect.ValueOfInt64(1 + r.Int64N(1<<60))
	case protoreflect.Uint64Kind:
		return protoreflect.ValueOfUint64(1 + r.Uint64N(1<<60))
	case protoreflect.FloatKind:
		return protoreflect.ValueOfFloat32(r.Float32() + 0.25)
	}
	return protoreflect.ValueOfString(text(r))
}
