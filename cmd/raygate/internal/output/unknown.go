package output

import (
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protopath"
	"google.golang.org/protobuf/reflect/protorange"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// HasUnknown reports whether an object has fields that this program lacks, because the gateway is newer: they are not printed.
func HasUnknown(m proto.Message) bool {
	found := false
	_ = protorange.Range(m.ProtoReflect(), func(p protopath.Values) error { // it returns the error of the function
		if message, ok := p.Index(-1).Value.Interface().(protoreflect.Message); ok && len(message.GetUnknown()) > 0 {
			found = true
			return protorange.Terminate
		}
		return nil
	})
	return found
}
