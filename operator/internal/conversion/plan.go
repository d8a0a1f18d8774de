package conversion

import (
	"fmt"
	"reflect"
	"strings"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	rayv1alpha1 "github.com/raygate/raygate/api/ray/v1alpha1"
)

// side is one of the two versions between which an object is converted.
type side int

const (
	hub side = iota // v1
	old             // v1alpha1
)

func (s side) other() side { return 1 - s }

// node is the difference of the two versions at one place of an object. Places where both versions use the same type have no node,
// for example Kubernetes types.
type node struct {
	fields map[string]*field // of an object, by JSON name, from both versions
	items  *node             // of the elements of a list
	key    string            // field that identifies the elements of the list; empty means their index
	values *node             // of the values of a map
}

// field is a field of one version or of both.
type field struct {
	types [2]reflect.Type // nil if the version does not have the field
	node  *node           // nil if the values below do not differ
	// fill returns the value for the old version if the hub has none and the schema of the old version requires one. Nil means
	// none.
	fill func() any
}

func (f *field) in(s side) bool { return f != nil && f.types[s] != nil }

// plans has an entry for each kind that has two versions.
var plans = map[string]*node{
	"RayCluster": compare(reflect.TypeFor[rayv1.RayCluster](), reflect.TypeFor[rayv1alpha1.RayCluster]()),
	"RayJob":     compare(reflect.TypeFor[rayv1.RayJob](), reflect.TypeFor[rayv1alpha1.RayJob]()),
	"RayService": compare(reflect.TypeFor[rayv1.RayService](), reflect.TypeFor[rayv1alpha1.RayService]()),
}

// hubOnly are the kinds that exist only in v1. They need no conversion.
var hubOnly = map[string]bool{"RayCronJob": true}

// listKeys are the lists whose elements are identified by a name. If they were identified by index, the removal of an element
// would assign preserved fields to the wrong elements.
var listKeys = map[string]string{"workerGroupSpecs": "groupName"}

// fills are the fields that v1alpha1 requires and v1 does not.
var fills = map[reflect.Type]map[string]func() any{
	reflect.TypeFor[rayv1alpha1.HeadGroupSpec]():   {"rayStartParams": func() any { return map[string]any{} }},
	reflect.TypeFor[rayv1alpha1.WorkerGroupSpec](): {"rayStartParams": func() any { return map[string]any{} }},
	reflect.TypeFor[rayv1alpha1.RayJobSpec]():      {"entrypoint": func() any { return "" }},
}

const ownPackages = "github.com/raygate/raygate/"

// compare returns the difference of two types of this module, or nil. It panics on types that cannot be compared; a test finds
// these.
func compare(h, o reflect.Type) *node {
	h, o = deref(h), deref(o)
	if h == o {
		return nil
	}
	if h.Kind() != o.Kind() {
		panic(fmt.Sprintf("conversion: %s and %s are of different kinds", h, o))
	}
	switch h.Kind() {
	case reflect.Slice:
		if items := compare(h.Elem(), o.Elem()); items != nil {
			return &node{items: items}
		}
	case reflect.Map:
		if values := compare(h.Elem(), o.Elem()); values != nil {
			return &node{values: values}
		}
	case reflect.Struct:
		if strings.HasPrefix(h.PkgPath(), ownPackages) {
			return compareStructs(h, o)
		}
	default: // a scalar
	}
	return nil
}

func compareStructs(h, o reflect.Type) *node {
	n := &node{fields: map[string]*field{}}
	collect(n, h, hub)
	collect(n, o, old)
	for name, f := range n.fields {
		if f.in(hub) && f.in(old) {
			f.node = compare(f.types[hub], f.types[old])
		}
		if f.node != nil && f.node.items != nil {
			f.node.key = listKeys[name]
		}
		f.fill = fills[o][name]
	}
	return n
}

// collect adds the JSON fields of t, including those of inlined structs.
func collect(n *node, t reflect.Type, s side) {
	for sf := range t.Fields() {
		name, _, _ := strings.Cut(sf.Tag.Get("json"), ",")
		if name == "" {
			collect(n, sf.Type, s)
			continue
		}
		f := n.fields[name]
		if f == nil {
			f = &field{}
			n.fields[name] = f
		}
		f.types[s] = sf.Type
	}
}

func deref(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}
