package filter

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// Matches tells whether an object, given as JSON, fulfils the filter.
func (f *Filter) Matches(object []byte) bool {
	return f == nil || f.root == nil || f.root(gjson.ParseBytes(object))
}

// test tells whether an object fulfils a part of the filter.
type test func(object gjson.Result) bool

// join asks tests until one of them is decisive: a yes for alternatives, a no for a sequence.
func join(tests []test, decisive bool) test {
	if len(tests) == 1 {
		return tests[0]
	}
	return func(object gjson.Result) bool {
		return slices.ContainsFunc(tests, func(t test) bool { return t(object) == decisive }) == decisive
	}
}

type comparison struct {
	path []string
	// list is the index of the first field of the path that is a list; -1 for none. Without items nothing is compared.
	list int
	typ  valueType
	op   string
	literal
}

func (c *comparison) matches(object gjson.Result) bool {
	if c.op == "!=" {
		return !c.holds(object, 0, "=")
	}
	return c.holds(object, 0, c.op)
}

// holds walks down the path; through a list, any element will do.
func (c *comparison) holds(value gjson.Result, depth int, op string) bool {
	last := depth == len(c.path)
	if value.IsArray() && (!last || op != ":" || !c.present) {
		found := false
		value.ForEach(func(_, element gjson.Result) bool {
			found = c.holds(element, depth, op) || last && op == ":" && c.compare(element, "=")
			return !found
		})
		return found
	}
	if !last {
		next := member(value, c.path[depth])
		if !next.Exists() && c.list >= depth {
			return false
		}
		return c.holds(next, depth+1, op)
	}
	if op == ":" {
		return c.has(value)
	}
	return c.compare(value, op)
}

// member looks a member up by its exact name; paths of gjson have a syntax of their own.
func member(object gjson.Result, name string) gjson.Result {
	var found gjson.Result
	if object.IsObject() {
		object.ForEach(func(key, value gjson.Result) bool {
			if key.Str == name {
				found = value
			}
			return !found.Exists()
		})
	}
	return found
}

func (c *comparison) has(value gjson.Result) bool {
	switch {
	case !value.Exists():
		return false
	case c.present:
		return value.Type != gjson.Null
	case value.IsObject():
		return member(value, c.text).Exists()
	case value.Type == gjson.String && c.typ != quantity:
		return strings.Contains(value.Str, c.text)
	}
	return c.compare(value, "=")
}

func (c *comparison) compare(value gjson.Result, op string) bool {
	order, comparable := c.order(value, c.typ)
	if !comparable {
		return false
	}
	switch op {
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
