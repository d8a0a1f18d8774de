package v1

import (
	"google.golang.org/protobuf/reflect/protoreflect"
)

func names(all []string) []protoreflect.Name {
	var out []protoreflect.Name
	for _, name := range all {
		out = append(out, protoreflect.Name(name))
	}
	return out
}
