package filter

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// Matches reports whether an object, given as JSON, fulfils the filter.
func (f *Filter) Matches(object []byte) bool {
	if f == nil || f.root == nil {
		return true
	}
	return f.root(f.tree.descend(gjson.ParseBytes(object), make([]found, 0, f.paths)))
}

// found is a value at the end of a path.
type found struct {
	path  int
	value gjson.Result
}

// node is a part of the paths of a filter. All paths are followed in one pass over an object, which may be long.
type node struct {
	// name is the JSON name, escaped for gjson.
	name string
	// path is the index of the path that ends here; -1 for none.
	path int
	// isList marks the first list of a path. Without items nothing is compared.
	isList bool
	below  []*node
}

// add returns the index of a path, which is next if it is new. list is the position of its first list; negative for none.
func (n *node) add(path []string, list, next int) int {
	if len(path) == 0 {
		if n.path < 0 {
			n.path = next
		}
		return n.path
	}
	name := gjson.Escape(path[0])
	i := slices.IndexFunc(n.below, func(b *node) bool { return b.name == name })
	if i < 0 {
		i = len(n.below)
		n.below = append(n.below, &node{name: name, path: -1, isList: list == 0})
	}
	return n.below[i].add(path[1:], list-1, next)
}

// find appends the values at the paths through a node. A value that is not set is appended, too.
func (n *node) find(value gjson.Result, all []found) []found {
	if n.isList && !value.Exists() {
		return all
	}
	if n.path >= 0 {
		all = append(all, found{n.path, value})
	}
	return n.descend(value, all)
}

// descend appends the values at the paths below a node, for each element of a list.
func (n *node) descend(value gjson.Result, all []found) []found {
	if len(n.below) == 0 {
		return all
	}
	if value.IsArray() {
		value.ForEach(func(_, element gjson.Result) bool {
			all = n.descend(element, all)
			return true
		})
		return all
	}
	if !value.IsObject() { // gjson would look into a text
		value = gjson.Result{}
	}
	for _, next := range n.below {
		all = next.find(value.Get(next.name), all)
	}
	return all
}

// test reports whether an object fulfils a part of the filter, by its values at all paths.
type test func(all []found) bool

// join runs tests until one of them is decisive: true for OR, false for AND.
func join(tests []test, decisive bool) test {
	if len(tests) == 1 {
		return tests[0]
	}
	return func(all []found) bool {
		return slices.ContainsFunc(tests, func(t test) bool { return t(all) == decisive }) == decisive
	}
}

// comparison is true if it is true of any value at its path.
type comparison struct {
	path string
	// index of the path.
	index   int
	typ     valueType
	op      string
	literal string
	order   comparer
	present bool // the literal is *
}

func (c *comparison) matches(all []found) bool {
	holds := slices.ContainsFunc(all, func(f found) bool { return f.path == c.index && c.holds(f.value) })
	return holds != (c.op == "!=")
}

// holds compares one value, or each element of a list.
func (c *comparison) holds(value gjson.Result) bool {
	if !value.IsArray() || c.present {
		return c.op == ":" && c.has(value) || c.op != ":" && c.compare(value, c.op)
	}
	holds := false
	value.ForEach(func(_, element gjson.Result) bool {
		holds = c.holds(element) || c.op == ":" && c.compare(element, "=")
		return !holds
	})
	return holds
}

func (c *comparison) has(value gjson.Result) bool {
	switch {
	case !value.Exists():
		return false
	case c.present:
		return value.Type != gjson.Null
	case value.IsObject():
		return value.Get(gjson.Escape(c.literal)).Exists()
	case value.Type == gjson.String && c.typ != quantity:
		return strings.Contains(value.Str, c.literal)
	}
	return c.compare(value, "=")
}

// orders are the operators, by the order of a value and the literal. != is evaluated by its opposite.
var orders = map[string]func(order int) bool{
	"=": func(order int) bool { return order == 0 }, "!=": func(order int) bool { return order == 0 },
	"<": func(order int) bool { return order < 0 }, "<=": func(order int) bool { return order <= 0 },
	">": func(order int) bool { return order > 0 }, ">=": func(order int) bool { return order >= 0 },
}

func (c *comparison) compare(value gjson.Result, op string) bool {
	order, comparable := c.order(value)
	return comparable && orders[op](order)
}
