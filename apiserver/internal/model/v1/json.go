package v1

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/tidwall/sjson"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// always are the fields that are written even when they are empty, because KubeRay's Python client demands them. protojson writes all of these or none.
var always = map[protoreflect.FullName]string{
	"proto.ListClustersResponse.clusters": "[]", "proto.ListAllClustersResponse.clusters": "[]",
	"proto.ListComputeTemplatesResponse.compute_templates": "[]", "proto.ListAllComputeTemplatesResponse.compute_templates": "[]",
	"proto.Volume.volume_type": "0", "proto.HeadGroupSpec.ray_start_params": "{}", "proto.WorkerGroupSpec.ray_start_params": "{}",
}

// AppendJSON appends the JSON of a message to dst, as KubeRay's API server writes it: lowerCamelCase names, enums as numbers, 64-bit integers
// as text, without empty fields except those above. It fails for a Timestamp out of range.
func AppendJSON(dst []byte, m proto.Message) ([]byte, error) {
	data, err := protojson.MarshalOptions{UseEnumNumbers: true}.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("encoding a %s: %w", m.ProtoReflect().Descriptor().Name(), err)
	}
	for path, value := range emptyFields(m.ProtoReflect(), "", map[string]string{}) {
		if data, err = sjson.SetRawBytes(data, path, []byte(value)); err != nil {
			return nil, fmt.Errorf("encoding %s: %w", path, err)
		}
	}
	out := bytes.NewBuffer(dst)
	err = json.Compact(out, data) // without the spaces that protojson adds at random
	return out.Bytes(), err
}

// AppendList is AppendJSON for a message with one list, its first field; objects are the JSON of its items.
func AppendList(dst []byte, m proto.Message, objects [][]byte) ([]byte, error) {
	list, rest := m.ProtoReflect().Descriptor().Fields().Get(0), m.ProtoReflect().New()
	m.ProtoReflect().Range(func(f protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		if f != list {
			rest.Set(f, value)
		}
		return true
	})
	data, err := AppendJSON(nil, rest.Interface())
	if err == nil {
		data, err = sjson.DeleteBytes(data, list.JSONName())
	}
	head, separator := fmt.Appendf(dst, `{%q:[`, list.JSONName()), []byte(",")
	if string(data) == "{}" {
		separator = nil
	}
	return slices.Concat(head, bytes.Join(objects, []byte(",")), []byte("]"), separator, data[1:]), err
}

// emptyFields returns the fields of a message, at any depth, that are empty and written nevertheless: their values by their paths.
func emptyFields(m protoreflect.Message, path string, found map[string]string) map[string]string {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		at, value := path+f.JSONName(), m.Get(f)
		switch {
		case !m.Has(f):
			if text, ok := always[f.FullName()]; ok {
				found[at] = text
			}
		case f.Message() == nil || f.IsMap():
		case f.IsList():
			for n := range value.List().Len() {
				found = emptyFields(value.List().Get(n).Message(), at+"."+strconv.Itoa(n)+".", found)
			}
		default:
			found = emptyFields(value.Message(), at+".", found)
		}
	}
	return found
}
