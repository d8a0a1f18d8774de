package load

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/raygate/raygate/pkg/devices"
	"github.com/raygate/raygate/pkg/devices/plan"
)

// maxAmounts bounds the amounts that are tried of each field; a family is tried with all combinations.
const maxAmounts = 12

// tryOut plans containers of every family twice. A corpus is no proof; the fuzz targets of package plan look for what it misses.
func tryOut(r *devices.Registry) error {
	for i := range r.Vendors {
		v := &r.Vendors[i]
		enabled := *v
		enabled.Enabled = nil
		enabled.Env, enabled.AbsentEnv = allOn(v.Env), allOn(v.AbsentEnv)
		program := plan.Compile(&devices.Registry{Defaults: r.Defaults, Vendors: []devices.Vendor{enabled}}, "")
		if err := tryVendor(program, v); err != nil {
			return fmt.Errorf("vendors[%d] (%s): %w", i, v.Name, err)
		}
	}
	return nil
}

func allOn(list []devices.Env) []devices.Env {
	list = slices.Clone(list)
	for i := range list {
		list[i].Enabled = nil
	}
	return list
}

func tryVendor(program *plan.Program, v *devices.Vendor) error {
	values := map[devices.Field][]int64{}
	for _, f := range devices.Fields {
		values[f] = amounts(v, f)
	}
	for _, annotations := range annotationSets(v) {
		for _, count := range values[devices.Count] {
			for _, memory := range values[devices.Memory] {
				for _, percent := range values[devices.MemoryPercent] {
					for _, cores := range values[devices.Cores] {
						asked := map[devices.Field]int64{devices.Count: count, devices.Memory: memory, devices.MemoryPercent: percent, devices.Cores: cores, devices.Priority: 1}
						if err := tryContainer(program, v, annotations, asked); err != nil {
							return err
						}
					}
				}
			}
		}
	}
	return nil
}

// tryContainer plans a Pod with one container that asks for a device, and one that does not.
func tryContainer(program *plan.Program, v *devices.Vendor, annotations map[string]string, asked map[devices.Field]int64) error {
	limits := corev1.ResourceList{}
	for f, n := range asked {
		if name := v.Resources.Name(f); name != "" && n > 0 {
			limits[corev1.ResourceName(name)] = *resource.NewQuantity(n, resource.DecimalSI)
		}
	}
	spec := &corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Resources: corev1.ResourceRequirements{Limits: limits}}, {Name: "b"}}}
	first := program.Plan(plan.FromPod(annotations, spec))
	if first.Refused() {
		return nil
	}
	annotations = first.Apply(maps.Clone(annotations), spec)
	second := program.Plan(plan.FromPod(annotations, spec))
	switch {
	case second.Refused():
		return fmt.Errorf("refuses what it made of a container with %s: %s", describe(v, asked), second.Problems[0])
	case !second.Empty():
		return fmt.Errorf("changes what it made of a container with %s: its rules or variables undo each other", describe(v, asked))
	}
	return nil
}

func describe(v *devices.Vendor, asked map[devices.Field]int64) string {
	var text []string
	for _, f := range devices.Fields {
		if name := v.Resources.Name(f); name != "" && asked[f] > 0 {
			text = append(text, fmt.Sprintf("%s: %d", name, asked[f]))
		}
	}
	return strings.Join(text, ", ")
}

// amounts are those at which the rules of the field decide, and none.
func amounts(v *devices.Vendor, f devices.Field) []int64 {
	if v.Resources.Name(f) == "" {
		return []int64{0}
	}
	set := map[int64]bool{1: true, 2: true, 3: true}
	if f == devices.MemoryPercent {
		set = map[int64]bool{50: true, 100: true}
	}
	for i := range v.Rules {
		r := &v.Rules[i]
		if r.Field != f {
			continue
		}
		for _, n := range slices.Concat(r.Range, r.OneOf, r.RoundUpTo, r.Also, []int64{r.MultipleOf, r.Absent}) {
			set[n], set[n+1] = true, true
		}
	}
	delete(set, 0)
	list := slices.Sorted(maps.Keys(set))
	for len(list) > maxAmounts-1 {
		list = slices.Delete(list, len(list)/2, len(list)/2+1) // the least and the greatest stay
	}
	return append([]int64{0}, list...)
}

// annotationSets are those of Pods that the rules tell apart: none, and each annotation with each of its values.
func annotationSets(v *devices.Vendor) []map[string]string {
	sets := []map[string]string{nil}
	put := func(key, value string) {
		if key != "" {
			sets = append(sets, map[string]string{key: cmp.Or(value, "x")})
		}
	}
	for i := range v.Rules {
		r := &v.Rules[i]
		for _, a := range []*devices.AnnotationValue{r.UnlessAnnotation, r.DenyUnlessAnnotation} {
			if a != nil {
				put(a.Key, a.Value)
			}
		}
		if r.RequireOneWhen != nil {
			put(r.RequireOneWhen.Annotation, "")
		}
	}
	for i := range v.Annotations {
		a := &v.Annotations[i]
		for _, value := range a.OneOf {
			put(a.Key, value)
		}
		if a.Unless != nil {
			put(a.Unless.Key, a.Unless.Value)
		}
	}
	slices.SortFunc(sets, func(a, b map[string]string) int { return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	return slices.CompactFunc(sets, func(a, b map[string]string) bool { return maps.Equal(a, b) })
}
