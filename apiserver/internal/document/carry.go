package document

import (
	"bytes"
	"encoding/json"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/raygate/raygate/clients/go/convert"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// carried is the number of the field, unknown to every message, under which a message carries its own JSON. It is beyond any number in our
// protos and never leaves the process.
const carried = protowire.MaxValidNumber

// Frame puts JSON, given in parts, into the form in which messages carry it, so that carrying costs no copy. The JSON is the end of what it returns.
func Frame(parts ...[]byte) []byte {
	size := 0
	for _, part := range parts {
		size += len(part)
	}
	raw := protowire.AppendTag(make([]byte, 0, size+16), carried, protowire.BytesType)
	raw = protowire.AppendVarint(raw, uint64(size))
	for _, part := range parts {
		raw = append(raw, part...)
	}
	return raw
}

// FrameWith is Frame for the JSON of m, which has at least one field, with one more: the JSON of an object, or a list of them.
func FrameWith(m proto.Message, field protoreflect.FieldDescriptor, objects ...[]byte) ([]byte, error) {
	head, err := JSON(m)
	if err != nil {
		return nil, err
	}
	return Frame(append([][]byte{head[:len(head)-1]}, Tail(field, objects...)...)...), nil
}

// Tail is what follows the JSON of a message, which has at least one field, in place of its closing brace when it has one field more: the JSON of an
// object, or a list of them. The bytes of the objects are shared.
func Tail(field protoreflect.FieldDescriptor, objects ...[]byte) [][]byte {
	open, separator, end := "", []byte(","), "}"
	if field.IsList() {
		open, end = "[", "]}"
	}
	parts := make([][]byte, 0, 2*len(objects)+2)
	parts = append(parts, fmt.Appendf(nil, `,%q:%s`, field.JSONName(), open))
	for n, object := range objects {
		if n > 0 {
			parts = append(parts, separator)
		}
		parts = append(parts, object)
	}
	return append(parts, []byte(end))
}

// JSON returns a message as Kubernetes writes JSON: absent fields are left out, 64-bit integers are numbers. A message that carries its JSON is just that;
// the bytes are shared.
func JSON(m proto.Message) ([]byte, error) {
	if data := Carried(m.ProtoReflect()); data != nil {
		return data, nil
	}
	tree, md, out := convert.Tree(m), m.ProtoReflect().Descriptor(), &bytes.Buffer{}
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)       // commands are full of <, > and &
	for i := range md.Fields().Len() { // in the order of the message: what a line is about comes first
		name := md.Fields().Get(i).JSONName()
		value, ok := tree[name]
		if !ok {
			continue
		}
		fmt.Fprintf(out, ",%q:", name)
		if err := encoder.Encode(value); err != nil {
			return nil, fmt.Errorf("encoding %s of a %s: %w", name, md.Name(), err)
		}
		out.Truncate(out.Len() - 1) // a line break
	}
	data := append(out.Bytes(), '}')
	if data[0] == '}' {
		return []byte("{}"), nil
	}
	data[0] = '{'
	return data, nil
}

// Carry makes m, of which headers and the like are made, stand for the JSON that frame holds. The bytes are shared.
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
