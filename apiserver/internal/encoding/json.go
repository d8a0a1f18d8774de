package encoding

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/raygate/raygate/clients/go/convert"
)

// JSON returns a message as Kubernetes writes JSON: absent fields are left out, 64-bit integers are numbers.
func JSON(m proto.Message) ([]byte, error) {
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

// JSONWith is JSON of a message that has at least one field, with one more: the JSON of an object, or a list of them.
func JSONWith(m proto.Message, field protoreflect.FieldDescriptor, objects ...[]byte) ([]byte, error) {
	head, err := JSON(m)
	if err != nil {
		return nil, err
	}
	open, end := "", "}"
	if field.IsList() {
		open, end = "[", "]}"
	}
	size := len(objects) + len(end)
	for _, object := range objects {
		size += len(object)
	}
	data := slices.Grow(fmt.Appendf(head[:len(head)-1], `,%q:%s`, field.JSONName(), open), size)
	for n, object := range objects {
		if n > 0 {
			data = append(data, ',')
		}
		data = append(data, object...)
	}
	return append(data, end...), nil
}
