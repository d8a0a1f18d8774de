package manifest

import (
	"encoding/json"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// structPlan is the information about a struct type that decoding needs.
type structPlan struct {
	fields []fieldPlan
	byName map[string]int
	names  []string
}

type fieldPlan struct {
	name string
	// index is the path to the field through inlined structs, none of which is a pointer in the Kubernetes API.
	index     []int
	omitEmpty bool
}

var plans sync.Map // reflect.Type -> *structPlan

func planOf(t reflect.Type) *structPlan {
	if p, ok := plans.Load(t); ok {
		return p.(*structPlan)
	}
	p := &structPlan{byName: map[string]int{}}
	p.add(t, nil)
	for i, f := range p.fields {
		p.byName[f.name] = i
		p.names = append(p.names, f.name)
	}
	slices.Sort(p.names)
	actual, _ := plans.LoadOrStore(t, p)
	return actual.(*structPlan)
}

func (p *structPlan) add(t reflect.Type, prefix []int) {
	for i := range t.NumField() {
		f := t.Field(i)
		index := append(slices.Clone(prefix), i)
		tag, hasTag := f.Tag.Lookup("json")
		name, options, _ := strings.Cut(tag, ",")
		switch {
		case name == "-" || !f.IsExported():
			continue
		case name == "" && f.Anonymous && f.Type.Kind() == reflect.Struct:
			p.add(f.Type, index)
			continue
		case name == "" || !hasTag:
			name = f.Name
		}
		// Messages of protobuf have the name in JSON in another tag.
		if m := protoName.FindStringSubmatch(f.Tag.Get("protobuf")); m != nil {
			name = m[1]
		}
		omit := slices.ContainsFunc(strings.Split(options, ","), func(o string) bool { return o == "omitempty" || o == "omitzero" })
		p.fields = append(p.fields, fieldPlan{name: name, index: index, omitEmpty: omit})
	}
}

var (
	protoName       = regexp.MustCompile(`,json=(\w+)`)
	quantityType    = reflect.TypeFor[resource.Quantity]()
	timeType        = reflect.TypeFor[metav1.Time]()
	intOrStringType = reflect.TypeFor[intstr.IntOrString]()
	marshalerType   = reflect.TypeFor[json.Marshaler]()
)

// speaksJSON reports whether t has its own JSON methods, which then decode it.
func speaksJSON(t reflect.Type) bool {
	return t.Implements(marshalerType) || reflect.PointerTo(t).Implements(marshalerType)
}
