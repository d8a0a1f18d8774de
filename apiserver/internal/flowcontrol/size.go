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
		number, typ, size := protowire.ConsumeTag(data)
		if size < 0 {
			return n
		}
		data = data[size:]
		n++
		if typ != protowire.BytesType {
			if size = protowire.ConsumeFieldValue(number, typ, data); size < 0 {
				return n
			}
			data = data[size:]
			continue
		}
		value, size := protowire.ConsumeBytes(data)
		if size < 0 {
			return n
		}
		data = data[size:]
		switch fd := md.Fields().ByNumber(number); {
		case fd == nil:
		case fd.Message() != nil:
			n += values(value, fd.Message(), limit-n)
		case fd.IsPacked():
			n += len(value)
		}
	}
	return n
}
