package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// Validate checks the additions to Pods and the values without a flag. Otherwise the API server would reject every Pod long after
// the operator started. It returns all problems.
func (c *Configuration) Validate() []error {
	var errs []error
	refuse := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	errs = append(errs, validateSidecars("headSidecarContainers", c.HeadSidecarContainers)...)
	errs = append(errs, validateSidecars("workerSidecarContainers", c.WorkerSidecarContainers)...)
	seen := map[string]bool{}
	for i, e := range c.DefaultContainerEnvs {
		switch problems := validation.IsRelaxedEnvVarName(e.Name); {
		case e.Name == "":
			refuse("field defaultContainerEnvs[%d].name is missing", i)
		case len(problems) > 0:
			refuse("field defaultContainerEnvs[%d].name is %q: %s", i, e.Name, strings.Join(problems, "; "))
		case seen[e.Name]:
			refuse("field defaultContainerEnvs[%d].name is %q like an earlier one; keep one", i, e.Name)
		case e.Value != "" && e.ValueFrom != nil:
			refuse("field defaultContainerEnvs[%d] has value and valueFrom; keep one", i)
		}
		seen[e.Name] = true
	}
	for _, key := range slices.Sorted(maps.Keys(c.DefaultPodLabels)) {
		if problems := validation.IsQualifiedName(key); len(problems) > 0 {
			refuse("field defaultPodLabels has the key %q: %s", key, strings.Join(problems, "; "))
		} else if problems := validation.IsValidLabelValue(c.DefaultPodLabels[key]); len(problems) > 0 {
			refuse("field defaultPodLabels[%s] is %q: %s", key, c.DefaultPodLabels[key], strings.Join(problems, "; "))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(c.DefaultPodAnnotations)) {
		if problems := validation.IsQualifiedName(strings.ToLower(key)); len(problems) > 0 {
			refuse("field defaultPodAnnotations has the key %q: %s", key, strings.Join(problems, "; "))
		}
	}
	return append(errs, c.ClusterExpiry.Validate("field clusterExpiry")...)
}

func validateSidecars(field string, containers []corev1.Container) []error {
	var errs []error
	refuse := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	seen := map[string]bool{}
	for i := range containers {
		name := containers[i].Name
		switch problems := validation.IsDNS1123Label(name); {
		case name == "":
			refuse("field %s[%d].name is missing", field, i)
		case len(problems) > 0:
			refuse("field %s[%d].name is %q: %s", field, i, name, strings.Join(problems, "; "))
		case seen[name]:
			refuse("field %s[%d].name is %q like an earlier one; rename one", field, i, name)
		case name == rayv1.ContainerAutoscaler || name == rayv1.ContainerHistoryCollector:
			refuse("field %s[%d].name is %q, which is the name of a container that the operator itself adds; choose another", field, i, name)
		}
		seen[name] = true
		if containers[i].Image == "" {
			refuse("field %s[%d].image is missing", field, i)
		}
	}
	return errs
}
