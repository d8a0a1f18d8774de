package v1

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/raygate/raygate/pkg/manifest"
)

// memberTemplate is the member of a group by which custom resources in JSON or YAML may name a compute template.
const memberTemplate = "computeTemplate"

// NamedTemplates returns the names of the compute templates that the groups of a custom resource name, each once. Most resources have none.
func NamedTemplates(tree map[string]any) []string {
	return templatesOf(tree, memberTemplate)
}

// StoredTemplates returns the names of the compute templates that the groups of a stored custom resource were made from, each once.
func StoredTemplates(tree map[string]any) []string {
	return templatesOf(tree, "template", "metadata", "annotations", annotationComputeTemplate)
}

// templatesOf returns the names at a path of the groups, each once.
func templatesOf(tree map[string]any, path ...string) []string {
	var names []string
	for _, g := range groupsIn(tree) {
		if name, _, _ := unstructured.NestedString(g.group, path...); name != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// groupIn is a group of a custom resource.
type groupIn struct {
	group     map[string]any
	container string
}

// groupsIn returns head and workers of a RayCluster, a RayJob or a RayService, as far as there are any.
func groupsIn(tree map[string]any) []groupIn {
	spec, _ := tree["spec"].(map[string]any)
	for _, name := range []string{"rayClusterSpec", "rayClusterConfig"} {
		if below, ok := spec[name].(map[string]any); ok {
			spec = below
			break
		}
	}
	var all []groupIn
	if head, ok := spec["headGroupSpec"].(map[string]any); ok {
		all = append(all, groupIn{head, "ray-head"})
	}
	workers, _ := spec["workerGroupSpecs"].([]any)
	for _, w := range workers {
		if group, ok := w.(map[string]any); ok {
			all = append(all, groupIn{group, "ray-worker"})
		}
	}
	return all
}

// Expand sets the size and tolerations of a compute template in the groups that name it, and removes the name. Only the Ray container gets
// the size: a side-car has its own.
func (all Templates) Expand(tree map[string]any) (field.ErrorList, error) {
	var errs field.ErrorList
	for _, g := range groupsIn(tree) {
		name, _ := g.group[memberTemplate].(string)
		if name == "" {
			continue
		}
		delete(g.group, memberTemplate)
		template, ok := g.group["template"].(map[string]any)
		if !ok {
			continue // no container to apply it to; Kubernetes refuses the object for the missing container
		}
		resources, tolerations, more := all.expand(name, field.NewPath(memberTemplate))
		errs = append(errs, more...)
		if err := g.apply(template, name, resources, tolerations); err != nil {
			return nil, err
		}
	}
	return errs, nil
}

func (g groupIn) apply(template map[string]any, name string, resources corev1.ResourceRequirements, tolerations []corev1.Toleration) error {
	manifest.Nested(template, "metadata", "annotations")[annotationComputeTemplate] = name
	spec := manifest.Nested(template, "spec")
	containers, _ := spec["containers"].([]any)
	var ray map[string]any
	for _, item := range containers {
		c, _ := item.(map[string]any)
		if ray == nil || c["name"] == g.container {
			ray = c
		}
	}
	if ray != nil {
		for list, amounts := range map[string]corev1.ResourceList{"limits": resources.Limits, "requests": resources.Requests} {
			for resource, amount := range amounts {
				manifest.Nested(ray, "resources", list)[string(resource)] = amount.String()
			}
		}
	}
	for _, t := range tolerations {
		item, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&t)
		if err != nil {
			return fmt.Errorf("encoding a toleration: %w", err)
		}
		list, _ := spec["tolerations"].([]any)
		spec["tolerations"] = append(list, item)
	}
	return nil
}
