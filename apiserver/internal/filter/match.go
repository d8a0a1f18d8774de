package filter

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// Matches tells whether an object, given as JSON, fulfils the filter.
func (f *Filter) Matches(object []byte) bool {
	if f == nil || f.root == nil {
		return true
	}
	places := make([]place, f.paths)
	f.tree.find(gjson.ParseBytes(object), 0, places)
	return f.root(places)
}

// place is where the path of a comparison leads to in an object: its end, or a list on the way, after depth parts. It is zero if there is no such place.
type place struct {
	value gjson.Result
	depth int
}

// node is a part of the paths of a filter. All are followed in one pass over an object, which may be long.
type node struct {
	// path is the index of the path that ends here; -1 for none. through are those that go on, too.
	path    int
	through []int
	below   map[string]*node
}

func newNode() *node { return &node{path: -1, below: map[string]*node{}} }

// add returns the index of a path, which is next if it is new.
func (n *node) add(path []string, next int) int {
	if len(path) == 0 {
		if n.path < 0 {
			n.path = next
		}
		return n.path
	}
	if n.below[path[0]] == nil {
		n.below[path[0]] = newNode()
	}
	index := n.below[path[0]].add(path[1:], next)
	if index == next {
		n.through = append(n.through, index)
	}
	return index
}

// find fills in the places of the paths through a node whose value is at depth.
func (n *node) find(value gjson.Result, depth int, places []place) {
	if n.path >= 0 {
		places[n.path] = place{value, depth}
	}
	switch {
	case value.IsArray():
		for _, path := range n.through {
			places[path] = place{value, depth}
		}
	case value.IsObject() && len(n.below) > 0:
		value.ForEach(func(key, member gjson.Result) bool {
			if next := n.below[key.Str]; next != nil {
				next.find(member, depth+1, places)
			}
			return true
		})
	}
}

// test tells whether an object fulfils a part of the filter, by the places of all paths.
type test func(places []place) bool

// join asks tests until one of them is decisive: a yes for alternatives, a no for a sequence.
func join(tests []test, decisive bool) test {
	if len(tests) == 1 {
		return tests[0]
	}
	return func(places []place) bool {
		return slices.ContainsFunc(tests, func(t test) bool { return t(places) == decisive }) == decisive
	}
}

type comparison struct {
	path []string
	// index is that of its place.
	index int
	// list is the index of the first field of the path that is a list; -1 for none. Without items nothing is compared.
	list int
	typ  valueType
	op   string
	literal
}

func (c *comparison) matches(places []place) bool {
	at, op := places[c.index], c.op
	if op == "!=" {
		op = "="
	}
	var holds bool
	switch {
	case at.value.Exists():
		holds = c.holds(at.value, at.depth, op)
	case c.list < 0: // what is not set has a value, too, but no elements
		holds = c.holds(at.value, len(c.path), op)
	}
	return holds != (c.op == "!=")
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
