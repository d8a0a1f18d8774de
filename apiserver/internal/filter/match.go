package filter

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"
)

// Matches tells whether an object, as decoded JSON, fulfils the filter.
func (f *Filter) Matches(object map[string]any) bool {
	return f == nil || f.root == nil || f.root.matches(object)
}

type node interface {
	matches(object map[string]any) bool
}

type (
	allOf []node
	anyOf []node
	not   struct{ inner node }
)

func (a allOf) matches(object map[string]any) bool {
	for _, n := range a {
		if !n.matches(object) {
			return false
		}
	}
	return true
}

func (a anyOf) matches(object map[string]any) bool {
	for _, n := range a {
		if n.matches(object) {
			return true
		}
	}
	return false
}

func (n not) matches(object map[string]any) bool { return !n.inner.matches(object) }

type comparison struct {
	path    []string
	op      string
	text    string
	number  *float64 // when the value was written as one
	present bool     // the value *
}

func (c comparison) matches(object map[string]any) bool {
	if c.op == "!=" {
		equal := c
		equal.op = "="
		return !equal.holds(object, c.path)
	}
	return c.holds(object, c.path)
}

// holds walks down the path; through a list, any element will do.
func (c comparison) holds(value any, path []string) bool {
	if list, ok := value.([]any); ok && (len(path) > 0 || c.op != ":" || !c.present) {
		for _, element := range list {
			if c.holds(element, path) || len(path) == 0 && c.op == ":" && c.equals(element) {
				return true
			}
		}
		return false
	}
	if len(path) > 0 {
		object, ok := value.(map[string]any)
		if !ok {
			return false
		}
		next, ok := object[path[0]]
		return ok && c.holds(next, path[1:])
	}
	if c.op == ":" {
		return c.has(value)
	}
	return c.compare(value)
}

func (c comparison) has(value any) bool {
	if c.present {
		return value != nil
	}
	switch v := value.(type) {
	case map[string]any:
		_, ok := v[c.text]
		return ok
	case string:
		return strings.Contains(v, c.text)
	}
	return c.equals(value)
}

func (c comparison) equals(value any) bool {
	equal := c
	equal.op = "="
	return equal.compare(value)
}

func (c comparison) compare(value any) bool {
	var order int
	switch v := value.(type) {
	case string:
		order = cmp.Compare(v, c.text)
	case bool:
		if c.op != "=" {
			return false
		}
		order = cmp.Compare(strconv.FormatBool(v), c.text)
	default:
		n, ok := number(value)
		if !ok {
			return false
		}
		want := c.number
		if want == nil {
			return false
		}
		order = cmp.Compare(n, *want)
	}
	switch c.op {
	case "=":
		return order == 0
	case "<":
		return order < 0
	case "<=":
		return order <= 0
	case ">":
		return order > 0
	case ">=":
		return order >= 0
	}
	return false
}

func number(value any) (float64, bool) {
	switch n := value.(type) {
	case int64:
		return float64(n), true
	case float64:
		return n, true
	case int:
		return float64(n), true
	case json.Number:
		f, err := n.Float64()
		return f, err == nil
	}
	return 0, false
}
