package v2

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/tidwall/gjson"
	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/raygate/raygate/apiserver/internal/document"
	"github.com/raygate/raygate/pkg/kubedoc"
)

func init() {
	gjson.DisableEscapeHTML = true // commands are full of <, > and &
}

// Tree returns the JSON of a message as unstructured.Unstructured keeps it. It fails only for a number that JSON does not have.
func Tree(m proto.Message) (map[string]any, error) {
	data, err := AppendJSON(nil, m)
	if err != nil {
		return nil, err
	}
	return kubedoc.ParseTree(data)
}

// AppendJSON appends m to dst the way Kubernetes writes JSON: absent fields are left out, 64-bit integers are numbers, keys of maps are sorted. The
// same message always gives the same bytes, without a line break at their end. It fails for a number that JSON does not have (NaN, infinite) and
// for a Timestamp out of range. protojson writes 64-bit integers as text, and would decode what a message carries.
func AppendJSON(dst []byte, m proto.Message) ([]byte, error) {
	return appendMessage(dst, m.ProtoReflect())
}

func appendMessage(dst []byte, m protoreflect.Message) ([]byte, error) {
	switch m.Descriptor().FullName() {
	case "google.protobuf.Timestamp", "google.protobuf.Struct":
		data, err := protojson.Marshal(m.Interface())
		if err != nil {
			return nil, fmt.Errorf("encoding a %s: %w", m.Descriptor().Name(), err)
		}
		return append(dst, data...), nil
	}
	if data := document.Carried(m); data != nil {
		return append(dst, data...), nil
	}
	dst = append(dst, '{')
	first := true
	for _, f := range planOf(m.Descriptor()) {
		if !f.always && !m.Has(f.fd) {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(dst, f.prefix...)
		var err error
		if dst, err = appendField(dst, m.Get(f.fd), f.fd); err != nil {
			return nil, err
		}
	}
	return append(dst, '}'), nil
}

// fieldPlan is what encoding needs to know about a field.
type fieldPlan struct {
	fd     protoreflect.FieldDescriptor
	prefix []byte // the name in quotes and a colon
	// always is set for required fields without presence, which Kubernetes wants to see even when they are empty, such as
	// the name of a worker group.
	always bool
}

var plans sync.Map // protoreflect.FullName -> []fieldPlan

func planOf(md protoreflect.MessageDescriptor) []fieldPlan {
	if plan, ok := plans.Load(md.FullName()); ok {
		return plan.([]fieldPlan)
	}
	fields := md.Fields()
	plan := make([]fieldPlan, fields.Len())
	for i := range plan {
		fd := fields.Get(i)
		behavior, _ := proto.GetExtension(fd.Options(), annotations.E_FieldBehavior).([]annotations.FieldBehavior)
		plan[i] = fieldPlan{
			fd:     fd,
			prefix: append(gjson.AppendJSONString(nil, fd.JSONName()), ':'),
			always: !fd.HasPresence() && fd.Cardinality() != protoreflect.Repeated && slices.Contains(behavior, annotations.FieldBehavior_REQUIRED),
		}
	}
	plans.Store(md.FullName(), plan)
	return plan
}

func appendField(dst []byte, value protoreflect.Value, fd protoreflect.FieldDescriptor) ([]byte, error) {
	var err error
	switch {
	case fd.IsList():
		dst = append(dst, '[')
		for i := range value.List().Len() {
			if i > 0 {
				dst = append(dst, ',')
			}
			if dst, err = appendValue(dst, value.List().Get(i), fd); err != nil {
				return nil, err
			}
		}
		return append(dst, ']'), nil
	case fd.IsMap():
		keys := make([]string, 0, value.Map().Len())
		value.Map().Range(func(k protoreflect.MapKey, _ protoreflect.Value) bool {
			keys = append(keys, k.String())
			return true
		})
		slices.Sort(keys)
		dst = append(dst, '{')
		for i, key := range keys {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(gjson.AppendJSONString(dst, key), ':')
			if dst, err = appendValue(dst, value.Map().Get(protoreflect.ValueOfString(key).MapKey()), fd.MapValue()); err != nil {
				return nil, err
			}
		}
		return append(dst, '}'), nil
	}
	return appendValue(dst, value, fd)
}

func appendValue(dst []byte, value protoreflect.Value, fd protoreflect.FieldDescriptor) ([]byte, error) {
	switch fd.Kind() { //nolint:exhaustive // a test holds the protos to few kinds
	case protoreflect.MessageKind:
		return appendMessage(dst, value.Message())
	case protoreflect.StringKind:
		return gjson.AppendJSONString(dst, value.String()), nil
	case protoreflect.FloatKind:
		data, err := json.Marshal(float32(value.Float()))
		return append(dst, data...), err
	}
	return fmt.Append(dst, value.Interface()), nil // booleans and integers
}
