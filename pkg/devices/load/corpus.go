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

// rooms bound the amounts that are tried of each field, by how many of count, memory and cores the family has: it is tried with all combinations.
var rooms = [...]int{0, 60, 20, 7}

// tryOut plans containers of every family. A corpus proves nothing; the fuzz targets of package plan search for cases that it misses.
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
	has := 0
	for _, f := range []devices.Field{devices.Count, devices.Memory, devices.Cores} {
		if v.Resources.Name(f) != "" {
			has++
		}
	}
	for _, f := range devices.Fields {
		values[f] = amounts(v, f, rooms[has])
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

// tryContainer plans a Pod with one container that requests a device, and one that does not.
func tryContainer(program *plan.Program, v *devices.Vendor, annotations map[string]string, asked map[devices.Field]int64) error {
	limits := corev1.ResourceList{}
	for f, n := range asked {
		if name := v.Resources.Name(f); name != "" && n > 0 {
			limits[corev1.ResourceName(name)] = *resource.NewQuantity(n, resource.DecimalSI)
		}
	}
	spec := &corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Resources: corev1.ResourceRequirements{Limits: limits}}, {Name: "b"}}}
	if r := program.Plan(plan.FromPod(annotations, spec)); r.RegistryFault {
		var problems []string
		for _, p := range r.Problems {
			problems = append(problems, p.Text)
		}
		return fmt.Errorf("a container with %s: %s", describe(v, asked), strings.Join(problems, "; "))
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

// amounts returns the amounts at which the rules of the field decide, their successors, a few others, and none, up to room amounts.
func amounts(v *devices.Vendor, f devices.Field, room int) []int64 {
	if v.Resources.Name(f) == "" {
		return []int64{0}
	}
	if f == devices.MemoryPercent {
		return []int64{0, 50, 100}
	}
	var candidates, after []int64
	for i := range v.Rules {
		if r := &v.Rules[i]; r.Field == f {
			candidates = slices.Concat(candidates, r.Range, r.OneOf, r.RoundUpTo, r.Also, []int64{r.MultipleOf, r.Absent})
		}
	}
	for _, n := range candidates {
		after = append(after, n+1)
	}
	list := []int64{0, 1}
	for _, n := range slices.Concat([]int64{2}, candidates, after, []int64{3}) {
		if len(list) < room && !slices.Contains(list, n) {
			list = append(list, n)
		}
	}
	return list
}

// annotationSets are the sets of annotations that the rules distinguish: none, and each annotation with each of its values.
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
