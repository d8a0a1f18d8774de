package submit

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// labels are the labels of the RayJob: those of Kueue and those of the user. It refuses names that the API server or Kueue would refuse.
func (o *Options) labels() (map[string]string, error) {
	all := maps.Clone(o.Labels)
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if problems := validation.IsQualifiedName(key); len(problems) > 0 {
			return nil, fmt.Errorf("--label: %q is not the key of a label: %s; give KEY=VALUE, as in team=a", key, strings.Join(problems, "; "))
		}
		if problems := validation.IsValidLabelValue(all[key]); len(problems) > 0 {
			return nil, fmt.Errorf("--label: %q is not the value of a label: %s; give KEY=VALUE, as in team=a", all[key], strings.Join(problems, "; "))
		}
	}
	for _, of := range []struct{ flag, value, key, kind string }{
		{"queue", o.Queue, rayv1.LabelKueueQueue, "LocalQueue in the namespace of the job"},
		{"priority-class", o.PriorityClass, rayv1.LabelKueuePriorityClass, "WorkloadPriorityClass"},
		{"profile", o.Profile, rayv1.LabelProfile, "profile, as in raygate profiles"},
	} {
		if of.value == "" {
			continue
		}
		if problems := append(validation.IsDNS1123Subdomain(of.value), validation.IsValidLabelValue(of.value)...); len(problems) > 0 {
			return nil, fmt.Errorf("--%s: %q is not a name: %s; give the name of a %s", of.flag, of.value, problems[0], of.kind)
		}
		if given, set := all[of.key]; set && given != of.value {
			return nil, fmt.Errorf("--%s: %q is not %q, the value of --label %s; give one of the two", of.flag, of.value, given, of.key)
		}
		if all == nil {
			all = map[string]string{}
		}
		all[of.key] = of.value
	}
	return all, nil
}
