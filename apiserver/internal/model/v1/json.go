package v1

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/tidwall/gjson"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// always are the fields that are written even when they are empty, because KubeRay's Python client demands them. protojson writes all of these or none.
var always = map[protoreflect.FullName]bool{
	"proto.ListClustersResponse.clusters": true, "proto.ListAllClustersResponse.clusters": true,
	"proto.ListComputeTemplatesResponse.compute_templates": true, "proto.ListAllComputeTemplatesResponse.compute_templates": true,
	"proto.Volume.volume_type": true, "proto.HeadGroupSpec.ray_start_params": true, "proto.WorkerGroupSpec.ray_start_params": true,
}

// AppendJSON appends the JSON of a message to dst, as KubeRay's API server writes it: lowerCamelCase names in the order of the declaration,
// enums as numbers, 64-bit integers as text, without empty fields except those above. It fails for a Timestamp out of range.
func AppendJSON(dst []byte, m proto.Message) ([]byte, error) {
	return appendMessage(dst, m.ProtoReflect())
}

// AppendList is AppendJSON for a message with one list; objects are the JSON of its items.
func AppendList(dst []byte, m proto.Message, objects [][]byte) ([]byte, error) {
	return appendFields(dst, m.ProtoReflect(), objects)
}

func appendMessage(dst []byte, m protoreflect.Message) ([]byte, error) {
	if m.Descriptor().FullName() == "google.protobuf.Timestamp" {
		data, err := protojson.Marshal(m.Interface())
		if err != nil {
			return nil, fmt.Errorf("encoding a time: %w", err)
		}
		return append(dst, data...), nil
	}
	return appendFields(dst, m, nil)
}

func appendFields(dst []byte, m protoreflect.Message, objects [][]byte) ([]byte, error) {
	md, first := m.Descriptor(), true
	dst = append(dst, '{')
	var err error
	for i := range md.Fields().Len() {
		f := md.Fields().Get(i)
		if !m.Has(f) && !always[f.FullName()] {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(append(append(dst, '"'), f.JSONName()...), `":`...)
		switch v := m.Get(f); {
		case f.IsList() && objects != nil:
			dst = append(append(append(dst, '['), bytes.Join(objects, []byte(","))...), ']')
		case f.IsMap():
			dst, err = appendMap(dst, f, v.Map())
		case f.IsList():
			dst, err = appendList(dst, f, v.List())
		default:
			dst, err = appendValue(dst, f, v)
		}
		if err != nil {
			return nil, err
		}
	}
	return append(dst, '}'), nil
}

func appendList(dst []byte, f protoreflect.FieldDescriptor, list protoreflect.List) ([]byte, error) {
	dst = append(dst, '[')
	var err error
	for i := range list.Len() {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, err = appendValue(dst, f, list.Get(i)); err != nil {
			return nil, err
		}
	}
	return append(dst, ']'), nil
}

// appendMap sorts by key. All keys of this API are texts.
func appendMap(dst []byte, f protoreflect.FieldDescriptor, values protoreflect.Map) ([]byte, error) {
	keys := make([]string, 0, values.Len())
	values.Range(func(key protoreflect.MapKey, _ protoreflect.Value) bool {
		keys = append(keys, key.String())
		return true
	})
	slices.Sort(keys)
	dst = append(dst, '{')
	var err error
	for i, key := range keys {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(gjson.AppendJSONString(dst, key), ':')
		if dst, err = appendValue(dst, f.MapValue(), values.Get(protoreflect.ValueOfString(key).MapKey())); err != nil {
			return nil, err
		}
	}
	return append(dst, '}'), nil
}

func appendValue(dst []byte, f protoreflect.FieldDescriptor, v protoreflect.Value) ([]byte, error) {
	switch f.Kind() { //nolint:exhaustive // the kinds of this API; a test writes every field
	case protoreflect.MessageKind:
		return appendMessage(dst, v.Message())
	case protoreflect.EnumKind:
		return strconv.AppendInt(dst, int64(v.Enum()), 10), nil
	case protoreflect.BoolKind:
		return strconv.AppendBool(dst, v.Bool()), nil
	case protoreflect.Int32Kind:
		return strconv.AppendInt(dst, v.Int(), 10), nil
	case protoreflect.Uint32Kind:
		return strconv.AppendUint(dst, v.Uint(), 10), nil
	case protoreflect.Int64Kind:
		return append(strconv.AppendInt(append(dst, '"'), v.Int(), 10), '"'), nil
	case protoreflect.Uint64Kind:
		return append(strconv.AppendUint(append(dst, '"'), v.Uint(), 10), '"'), nil
	case protoreflect.FloatKind:
		return appendFloat(dst, v.Float())
	case protoreflect.StringKind:
		return gjson.AppendJSONString(dst, v.String()), nil
	}
	return nil, fmt.Errorf("encoding %s: there is no JSON for %s", f.FullName(), f.Kind())
}

func appendFloat(dst []byte, f float64) ([]byte, error) {
	switch {
	case math.IsNaN(f):
		return append(dst, `"NaN"`...), nil
	case math.IsInf(f, 1):
		return append(dst, `"Infinity"`...), nil
	case math.IsInf(f, -1):
		return append(dst, `"-Infinity"`...), nil
	}
	data, err := json.Marshal(float32(f))
	return append(dst, data...), err
}
