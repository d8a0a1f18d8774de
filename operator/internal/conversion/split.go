package conversion

import (
	"slices"
	"strings"
)

// Names with a dollar sign belong to the annotation itself. No API field starts with one.
const (
	// preservedAbsent lists the fields that were filled in for the old version and have to be removed again.
	preservedAbsent = "$absent"
	// preservedIndex identifies elements that have no name or share one.
	preservedIndex = "$index"
)

// split removes from obj, which has version from, the fields that the other version lacks, and fills in those that the other
// version requires. It returns the removed fields in the same nesting; empty if there were none.
func split(n *node, obj map[string]any, from side) map[string]any {
	preserved := map[string]any{}
	to := from.other()
	for name, value := range obj {
		f := n.fields[name]
		switch {
		case strings.HasPrefix(name, "$"): // unknown; the API server prunes it
		case !f.in(to):
			// Includes fields that neither version has: with CRDs newer than this operator they are fields of v1.
			preserved[name] = value
			delete(obj, name)
		case f.node != nil:
			if below := splitValue(f.node, value, from); below != nil {
				preserved[name] = below
			}
		}
	}
	if to != old {
		return preserved
	}
	var absent []any
	for name, f := range n.fields {
		if _, present := obj[name]; f.fill != nil && !present {
			obj[name] = f.fill()
			absent = append(absent, name)
		}
	}
	if len(absent) > 0 {
		slices.SortFunc(absent, func(a, b any) int { return strings.Compare(a.(string), b.(string)) })
		preserved[preservedAbsent] = absent
	}
	return preserved
}

// splitValue returns nil if nothing was removed, and for a value that does not match the schema.
func splitValue(n *node, value any, from side) any {
	switch value := value.(type) {
	case map[string]any:
		var preserved map[string]any
		if n.values != nil {
			preserved = map[string]any{}
			for name, element := range value {
				if below := splitValue(n.values, element, from); below != nil {
					preserved[name] = below
				}
			}
		} else if n.fields != nil {
			preserved = split(n, value, from)
		}
		if len(preserved) > 0 {
			return preserved
		}
	case []any:
		if n.items != nil {
			return splitList(n, value, from)
		}
	}
	return nil
}

func splitList(n *node, list []any, from side) any {
	names := map[string]int{}
	for _, element := range list {
		names[elementName(n, element)]++
	}
	var preserved []any
	for i, element := range list {
		below, ok := splitValue(n.items, element, from).(map[string]any)
		if !ok {
			continue
		}
		name := elementName(n, element)
		if name != "" {
			below[n.key] = name
		}
		if name == "" || names[name] > 1 {
			below[preservedIndex] = int64(i)
		}
		preserved = append(preserved, below)
	}
	if preserved == nil {
		return nil
	}
	return preserved
}

// elementName returns the name of a list element, or "" if it has none.
func elementName(n *node, element any) string {
	obj, _ := element.(map[string]any)
	name, _ := obj[n.key].(string)
	return name
}
