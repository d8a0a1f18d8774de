package conversion

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
)

// merger restores preserved fields.
type merger struct {
	to side
	// restoring is set for preserved fields that come from the stored object and not from a client.
	restoring bool
}

// merge restores preserved fields in obj. Values in obj take precedence, and removed parts, such as a worker group, are not
// restored. defaults is the same object with only defaults in the fields that only v1 has, or nil.
func (m merger) merge(n *node, obj, defaults, preserved map[string]any) {
	for name, value := range preserved {
		if strings.HasPrefix(name, "$") {
			continue
		}
		f := n.fields[name]
		present, has := obj[name]
		switch {
		case f.in(m.to.other()):
			// The client could see this field, so only fields below it come from the preserved fields.
			if has && f.node != nil {
				m.mergeValue(f.node, present, defaults[name], value)
			}
		case has && means(present, defaults[name], value):
		case m.restoring || f == nil || fits(value, f.types[m.to]):
			obj[name] = value
		}
	}
	m.takeOut(n, obj, preserved)
}

// means reports whether the present value is not just a default, or equals the preserved one.
func means(present, filledIn, value any) bool {
	return filledIn == nil || !reflect.DeepEqual(present, filledIn) || reflect.DeepEqual(present, value)
}

func (m merger) mergeValue(n *node, present, defaults, preserved any) {
	switch present := present.(type) {
	case map[string]any:
		below, ok := preserved.(map[string]any)
		defaults, _ := defaults.(map[string]any)
		switch {
		case !ok:
		case n.values != nil:
			for name, value := range below {
				m.mergeValue(n.values, present[name], defaults[name], value)
			}
		case n.fields != nil:
			m.merge(n, present, defaults, below)
		}
	case []any:
		below, ok := preserved.([]any)
		defaults, _ := defaults.([]any)
		if ok && n.items != nil {
			m.mergeList(n, present, defaults, below)
		}
	}
}

func (m merger) mergeList(n *node, present, defaults, preserved []any) {
	byName := map[string]int{}
	for i, element := range present {
		if name := elementName(n, element); name != "" {
			byName[name] = i
		}
	}
	for _, s := range preserved {
		below, ok := s.(map[string]any)
		if !ok {
			continue
		}
		name := elementName(n, s)
		i, known := byName[name]
		if index, given := below[preservedIndex].(int64); given {
			// If two elements have the same name, use the index as long as it has the right name.
			known = index >= 0 && index < int64(len(present)) && elementName(n, present[index]) == name
			i = int(index)
		}
		if !known {
			continue
		}
		var filled any
		if len(defaults) == len(present) {
			filled = defaults[i]
		}
		m.mergeValue(n.items, present[i], filled, below)
	}
}

// takeOut removes from an object of a client the values that split filled in, unless the client has changed them.
func (m merger) takeOut(n *node, obj, preserved map[string]any) {
	if m.to != hub || m.restoring {
		return
	}
	absent, _ := preserved[preservedAbsent].([]any)
	for name, f := range n.fields {
		if f.fill == nil || !slices.Contains(absent, any(name)) {
			continue
		}
		if value, has := obj[name]; has && reflect.DeepEqual(value, f.fill()) {
			delete(obj, name)
		}
	}
}

// fits reports whether v1 can contain the value. Other values were not preserved by this program. Stored, they would make typed
// clients, including the operator, fail to decode all objects.
func fits(value any, t reflect.Type) bool {
	raw, err := json.Marshal(value)
	return err == nil && json.Unmarshal(raw, reflect.New(t).Interface()) == nil
}
