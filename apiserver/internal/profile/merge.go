package profile

import (
	"encoding/json"
	"maps"
	"slices"
)

// lists are the lists of a RayCluster that an object adds to, by name: key is the member that identifies an item, empty for the whole item.
// Items with the same key are merged if deep is set; otherwise that of the object replaces that of the profile, because a merged source of a
// volume would be invalid. The object replaces all other lists as a whole.
var lists = map[string]struct {
	key  string
	deep bool
}{
	"workerGroupSpecs": {"groupName", true}, "containers": {"name", true}, "initContainers": {"name", true},
	"env": {key: "name"}, "volumes": {key: "name"}, "imagePullSecrets": {key: "name"}, "volumeMounts": {key: "mountPath"}, "ports": {key: "containerPort"},
	"tolerations": {},
}

// below returns what an object gives for a member of this name, and what the profile has besides. Null gives nothing. It changes neither of
// the two; the result may share parts with them.
func below(name string, profile, given any) any {
	switch given := given.(type) {
	case nil:
		return profile
	case map[string]any:
		base, ok := profile.(map[string]any)
		if !ok {
			return given
		}
		merged := maps.Clone(base)
		for member, value := range given {
			merged[member] = below(member, base[member], value)
		}
		return merged
	case []any:
		base, isList := profile.([]any)
		if _, adds := lists[name]; isList && adds {
			return belowList(name, base, given)
		}
	}
	return given
}

func belowList(name string, profile, given []any) []any {
	rule := lists[name]
	merged := make([]any, 0, len(profile)+len(given))
	if name == "containers" && hasOwnRayContainer(profile, given) {
		merged = append(merged, below("", profile[0], given[0]))
		profile, given = profile[1:], given[1:]
	}
	left := make(map[string][]int, len(given)) // so that long lists of hostile users are merged in linear time
	for i, item := range given {
		if id, ok := idOf(rule.key, item); ok {
			left[id] = append(left[id], i)
		}
	}
	taken := make([]bool, len(given))
	for _, item := range profile {
		if id, ok := idOf(rule.key, item); ok && len(left[id]) > 0 {
			i := left[id][0]
			left[id], taken[i] = left[id][1:], true
			if rule.deep {
				item = below("", item, given[i])
			} else {
				item = given[i]
			}
		}
		merged = append(merged, item)
	}
	for i, item := range given {
		if !taken[i] {
			merged = append(merged, item)
		}
	}
	return merged
}

// hasOwnRayContainer reports whether the first container of an object, which runs Ray, has a name that the profile does not have: it is the
// first one of the profile under another name.
func hasOwnRayContainer(profile, given []any) bool {
	if len(profile) == 0 || len(given) == 0 {
		return false
	}
	name, named := idOf("name", given[0])
	return !named || !slices.ContainsFunc(profile, func(item any) bool {
		other, ok := idOf("name", item)
		return ok && other == name
	})
}

// idOf identifies an item in a list; false if the item lacks the key.
func idOf(key string, item any) (string, bool) {
	if key != "" {
		m, _ := item.(map[string]any)
		item = m[key]
	}
	return text(item), item != nil
}

// text is the JSON of a value; a text is itself.
func text(value any) string {
	if s, ok := value.(string); ok {
		return s
	}
	data, err := json.Marshal(value)
	if err != nil { // not from JSON
		return ""
	}
	return string(data)
}
