package conversion

import (
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// merger puts a stash back.
type merger struct {
	to side
	// added is called for each field that is put back, with its JSON pointer. Nil means that nobody wants to know.
	added func(pointer string, value any)
	// restoring is set for a stash that was taken from the stored object and did not pass through the hands of a client.
	restoring bool
}

// place is an object that a stash is merged into.
type place struct {
	obj map[string]any
	// defaults is the same object with nothing but defaults in the fields that only v1 has, or nil.
	defaults map[string]any
	// pointer is the JSON pointer of the object.
	pointer string
}

// merge puts back into an object what the stash holds for it. What the object says itself wins; what has gone from the
// object, such as a worker group, is not brought back to life.
func (m *merger) merge(n *node, at place, stash map[string]any) {
	for name, value := range stash {
		if strings.HasPrefix(name, "$") {
			continue
		}
		f := n.fields[name]
		present, has := at.obj[name]
		pointer := m.below(at.pointer, name)
		switch {
		case f.in(m.to.other()):
			// A field that the client could see: only what is below it may come from the stash.
			if has && f.node != nil {
				m.mergeValue(f.node, present, at.defaults[name], value, pointer)
			}
		case has && means(present, at.defaults[name], value):
		case m.restoring || f == nil || fits(value, f.types[m.to]):
			at.obj[name] = value
			if m.added != nil {
				m.added(pointer, value)
			}
		}
	}
	if m.to == hub && !m.restoring {
		takeOut(n, at.obj, stash)
	}
}

// means reports whether somebody chose the value that is present, or would not get another one back: it is not a default.
func means(present, filledIn, value any) bool {
	return filledIn == nil || !reflect.DeepEqual(present, filledIn) || reflect.DeepEqual(present, value)
}

func (m *merger) mergeValue(n *node, present, defaults, stash any, at string) {
	switch present := present.(type) {
	case map[string]any:
		below, ok := stash.(map[string]any)
		defaults, _ := defaults.(map[string]any)
		switch {
		case !ok:
		case n.values != nil:
			for name, value := range below {
				m.mergeValue(n.values, present[name], defaults[name], value, m.below(at, name))
			}
		case n.fields != nil:
			m.merge(n, place{obj: present, defaults: defaults, pointer: at}, below)
		}
	case []any:
		below, ok := stash.([]any)
		defaults, _ := defaults.([]any)
		if ok && n.items != nil {
			m.mergeList(n, present, defaults, below, at)
		}
	}
}

func (m *merger) mergeList(n *node, present, defaults, stash []any, at string) {
	byName := map[string]int{}
	for i, element := range present {
		if name := elementName(n, element); name != "" {
			byName[name] = i
		}
	}
	for _, s := range stash {
		below, ok := s.(map[string]any)
		if !ok {
			continue
		}
		name := elementName(n, s)
		i, known := byName[name]
		if index, given := below[stashIndex].(int64); given {
			// Two elements of one name: the place decides, as long as the name there is right.
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
		m.mergeValue(n.items, present[i], filled, below, m.below(at, strconv.Itoa(i)))
	}
}

// takeOut removes the values that split filled in, unless the client has given them a meaning since.
func takeOut(n *node, obj, stash map[string]any) {
	absent, _ := stash[stashAbsent].([]any)
	for name, f := range n.fields {
		if f.fill == nil || !slices.Contains(absent, any(name)) {
			continue
		}
		if value, has := obj[name]; has && reflect.DeepEqual(value, f.fill()) {
			delete(obj, name)
		}
	}
}

// fits reports whether v1 can hold the value. Anything else was not put into the stash by us, and stored it would keep
// programs that read typed objects, the operator first of all, from reading any.
func fits(value any, t reflect.Type) bool {
	raw, err := json.Marshal(value)
	return err == nil && json.Unmarshal(raw, reflect.New(t).Interface()) == nil
}

// below is the JSON pointer of a field, as far as somebody wants to know.
func (m *merger) below(at, name string) string {
	if m.added == nil {
		return ""
	}
	return at + "/" + pointerEscaper.Replace(name)
}

var pointerEscaper = strings.NewReplacer("~", "~0", "/", "~1")
