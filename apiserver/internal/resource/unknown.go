package resource

import (
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// copyUnknown copies fields that a message does not have from the stored object to tree, which was made from the message. A client that
// received a message never saw these fields and cannot have meant to remove them.
func copyUnknown(tree, stored map[string]any, md protoreflect.MessageDescriptor) {
	for name, value := range stored {
		fd := md.Fields().ByJSONName(name)
		if fd == nil {
			if _, set := tree[name]; !set {
				tree[name] = value
			}
			continue
		}
		if !isOurs(fd) {
			continue // a message holds all of a Struct
		}
		switch v := value.(type) {
		case map[string]any:
			if to, ok := tree[name].(map[string]any); ok {
				copyUnknown(to, v, fd.Message())
			}
		case []any:
			to, _ := tree[name].([]any)
			for i := range v {
				item, _ := v[i].(map[string]any)
				if same := counterpart(to, item, i, len(to) == len(v)); same != nil {
					copyUnknown(same, item, fd.Message())
				}
			}
		}
	}
}

func isOurs(fd protoreflect.FieldDescriptor) bool {
	return fd.Message() != nil && !fd.IsMap() && strings.HasPrefix(string(fd.Message().FullName()), "raygate.v2.")
}

// counterpart finds another version of a list item: the one with the same name, or without names the one at the same place.
func counterpart(items []any, value map[string]any, at int, aligned bool) map[string]any {
	for _, key := range []string{"groupName", "name", "type"} {
		name, named := value[key]
		if !named {
			continue
		}
		for _, item := range items {
			if m, ok := item.(map[string]any); ok && m[key] == name {
				return m
			}
		}
		return nil
	}
	if !aligned {
		return nil
	}
	m, _ := items[at].(map[string]any)
	return m
}
