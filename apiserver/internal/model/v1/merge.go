package v1

import (
	"reflect"
	"slices"
)

// listKeys are the members that identify the items of a list, in the order in which they are tried: worker groups, mounts, then all items
// with a name, ports, and selected keys of a ConfigMap.
var listKeys = []string{"groupName", "mountPath", "name", "containerPort", "key"}

// merge returns current with the changes from before to after. Members that are equal in both keep their value in current, and so do
// members that neither has. None of the three is changed, and the result may share parts with them.
//
// This is the three-way merge of kubectl apply. The strategic merge patch of apimachinery does not work here: it needs tags of Go types,
// which the lists of Ray's types do not have.
func merge(current, before, after any) any {
	if reflect.DeepEqual(before, after) {
		return current
	}
	switch to := after.(type) {
	case map[string]any:
		if now, ok := current.(map[string]any); ok {
			was, _ := before.(map[string]any)
			return mergeMaps(now, was, to)
		}
	case []any:
		if now, ok := current.([]any); ok {
			was, _ := before.([]any)
			return mergeLists(now, was, to)
		}
	}
	return after
}

func mergeMaps(current, before, after map[string]any) map[string]any {
	out := map[string]any{}
	for name, value := range current {
		was, known := before[name]
		to, wanted := after[name]
		switch {
		case wanted:
			out[name] = merge(value, was, to)
		case !known:
			out[name] = value
		default:
			if left := remainder(name, value, was); left != nil {
				out[name] = left
			}
		}
	}
	for name, to := range after {
		if _, there := current[name]; !there && !reflect.DeepEqual(before[name], to) {
			out[name] = to
		}
	}
	return out
}

// remainder is the part of a removed member that stays: the items of a list, and the labels and annotations, that others have added; nil
// for nothing. Any other object is removed as a whole, because a part of a volume source is invalid.
func remainder(name string, current, before any) any {
	switch was := before.(type) {
	case []any:
		if now, ok := current.([]any); ok {
			if left := mergeLists(now, was, nil); len(left) > 0 {
				return left
			}
		}
	case map[string]any:
		if now, ok := current.(map[string]any); ok && (name == "labels" || name == "annotations") {
			if left := mergeMaps(now, was, nil); len(left) > 0 {
				return left
			}
		}
	}
	return nil
}

func mergeLists(current, before, after []any) []any {
	key := keyOf(current, before, after)
	if key == "" {
		if !slices.ContainsFunc(slices.Concat(current, before, after), func(item any) bool { _, ok := item.(map[string]any); return ok }) {
			return after // texts: an order of words, which has no parts
		}
		return mergeSets(current, before, after)
	}
	out := []any{}
	for _, item := range current {
		was, to := withKey(before, key, item), withKey(after, key, item)
		switch {
		case to != nil:
			out = append(out, merge(item, was, to))
		case was == nil:
			out = append(out, item)
		}
	}
	for _, to := range after {
		if withKey(current, key, to) == nil && !reflect.DeepEqual(withKey(before, key, to), to) {
			out = append(out, to)
		}
	}
	return out
}

// mergeSets merges lists whose items have no key, such as tolerations.
func mergeSets(current, before, after []any) []any {
	has := func(list []any, item any) bool {
		return slices.ContainsFunc(list, func(other any) bool { return reflect.DeepEqual(item, other) })
	}
	out := slices.DeleteFunc(slices.Clone(current), func(item any) bool { return has(before, item) && !has(after, item) })
	for _, item := range after {
		if !has(out, item) && !has(before, item) {
			out = append(out, item)
		}
	}
	return out
}

// keyOf returns the first key that all items of the lists have, with different values within each list; empty if there is none.
func keyOf(lists ...[]any) string {
	unique := func(key string) bool {
		for _, list := range lists {
			seen := map[any]bool{}
			for _, item := range list {
				m, _ := item.(map[string]any)
				switch value := m[key].(type) {
				case string, int64, float64:
					if seen[value] {
						return false
					}
					seen[value] = true
				default:
					return false
				}
			}
		}
		return true
	}
	for _, key := range listKeys {
		if unique(key) {
			return key
		}
	}
	return ""
}

// withKey returns the item of a list with the same value of a key as another item; nil if there is none.
func withKey(list []any, key string, like any) any {
	value := like.(map[string]any)[key]
	for _, item := range list {
		if m, ok := item.(map[string]any); ok && m[key] == value {
			return item
		}
	}
	return nil
}
