package document

import (
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// carried is the number of the field, unknown to every message, under which a message carries its own JSON. It is beyond any number in our
// protos and never leaves the process.
const carried = protowire.MaxValidNumber

// Frame puts JSON into the form in which messages carry it, so that carrying costs no copy. The JSON is the end of what it returns.
func Frame(data []byte) []byte {
	raw := protowire.AppendTag(make([]byte, 0, len(data)+16), carried, protowire.BytesType)
	return protowire.AppendBytes(raw, data)
}

// Carry makes m, which holds what headers are made of, stand for an object whose framed JSON is frame. The bytes are shared.
func Carry(m proto.Message, frame []byte) { m.ProtoReflect().SetUnknown(frame) }

// Carried returns the JSON that a message carries; nil if it carries none.
func Carried(m protoreflect.Message) []byte {
	raw := m.GetUnknown()
	if len(raw) == 0 {
		return nil
	}
	num, typ, n := protowire.ConsumeTag(raw)
	if n < 0 || num != carried || typ != protowire.BytesType {
		return nil
	}
	data, n := protowire.ConsumeBytes(raw[n:])
	if n < 0 {
		return nil
	}
	return data
}

// AppendField appends an encoded message as a field of another.
func AppendField(dst []byte, field protoreflect.FieldNumber, message []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(dst, field, protowire.BytesType), message)
}

// MetadataOf returns the metadata of the object that a request or a response holds; nil when it holds none.
func MetadataOf(m proto.Message) (meta *raygatev2.ObjectMeta) {
	m.ProtoReflect().Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		if f.Message() != nil && !f.IsList() && !f.IsMap() {
			if object, ok := v.Message().Interface().(interface{ GetMetadata() *raygatev2.ObjectMeta }); ok {
				meta = object.GetMetadata()
			}
		}
		return meta == nil
	})
	return meta
}
