package flowcontrol

import (
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

const (
	// maxValues limits the values in the body of a request, as pkg/manifest does for JSON: an empty one takes two bytes on the wire.
	maxValues = 250_000
	// valueSize is the approximate memory of a value after it has been decoded and converted to a tree of JSON.
	valueSize = 256
)

// values counts the fields of an encoded message, at any depth, up to a limit. A malformed message counts up to the fault.
func values(data []byte, md protoreflect.MessageDescriptor, limit int) int {
	n := 0
	for len(data) > 0 && n < limit {
		number, typ, size := protowire.ConsumeField(data)
		if size < 0 {
			return n
		}
		_, _, tag := protowire.ConsumeTag(data)
		content, _ := protowire.ConsumeBytes(data[tag:size]) // nothing for another type
		data = data[size:]
		n++
		switch fd := md.Fields().ByNumber(number); {
		case typ != protowire.BytesType || fd == nil:
		case fd.Message() != nil:
			n += values(content, fd.Message(), limit-n)
		case fd.IsPacked():
			n += len(content)
		}
	}
	return n
}
