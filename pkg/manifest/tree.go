package manifest

import (
	"fmt"

	kjson "sigs.k8s.io/json"
)

// ParseTree reads a JSON object as unstructured.Unstructured keeps it: integers as int64, other numbers as float64.
func ParseTree(data []byte) (map[string]any, error) {
	var tree map[string]any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(data, &tree); err != nil {
		return nil, fmt.Errorf("reading JSON: %w", err)
	}
	return tree, nil
}

// DropNulls removes members that are null, which mean the same as absent ones and are not stored.
func DropNulls(value any) {
	switch v := value.(type) {
	case map[string]any:
		for key, member := range v {
			if member == nil {
				delete(v, key)
				continue
			}
			DropNulls(member)
		}
	case []any:
		for _, item := range v {
			DropNulls(item)
		}
	}
}

// Nested returns the object at a path of a tree. It makes each object on the way that is not there.
func Nested(tree map[string]any, path ...string) map[string]any {
	for _, name := range path {
		next, ok := tree[name].(map[string]any)
		if !ok {
			next = map[string]any{}
			tree[name] = next
		}
		tree = next
	}
	return tree
}
