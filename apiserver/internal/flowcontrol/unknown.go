package flowcontrol

import (
	"fmt"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
)

// maxUnknown is the maximum number of unknown fields that a warning names.
const maxUnknown = 20

// unknownFields names the fields of m, at any depth, that its type does not have.
func unknownFields(m protoreflect.Message, path string, found []rpcstatus.Violation) []rpcstatus.Violation {
	if _, ok := m.Interface().(*structpb.Struct); ok {
		return found // a Struct has every field there can be
	}
	for rest := m.GetUnknown(); len(rest) > 0 && len(found) < maxUnknown; {
		number, _, n := protowire.ConsumeField(rest)
		if n < 0 {
			break
		}
		rest = rest[n:]
		found = append(found, rpcstatus.Violation{
			Field: path, Reason: "unknown-field",
			Description: fmt.Sprintf("field number %d of %s is not known to this gateway: it may be newer than the gateway", number, m.Descriptor().FullName()),
		})
	}
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		if len(found) >= maxUnknown {
			return false
		}
		at := f.JSONName()
		if path != "" {
			at = path + "." + at
		}
		found = unknownIn(f, v, at, found)
		return true
	})
	return found
}

// unknownIn is unknownFields for the messages in the value of a field.
func unknownIn(f protoreflect.FieldDescriptor, v protoreflect.Value, path string, found []rpcstatus.Violation) []rpcstatus.Violation {
	switch {
	case f.IsMap() && f.MapValue().Message() != nil:
		v.Map().Range(func(key protoreflect.MapKey, item protoreflect.Value) bool {
			found = unknownFields(item.Message(), path+"["+key.String()+"]", found)
			return len(found) < maxUnknown
		})
	case f.IsList() && f.Message() != nil:
		for i := range v.List().Len() {
			found = unknownFields(v.List().Get(i).Message(), path+"["+strconv.Itoa(i)+"]", found)
		}
	case !f.IsMap() && f.Message() != nil:
		found = unknownFields(v.Message(), path, found)
	}
	return found
}
