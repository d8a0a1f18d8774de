package validation

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// nodeGroup is what the head group and a worker group have in common.
type nodeGroup struct {
	head           bool
	name           string
	rayStartParams map[string]string
	resources      map[string]string
	labels         map[string]string
	template       *corev1.PodTemplateSpec
}

func headGroup(h *rayv1.HeadGroupSpec) nodeGroup {
	return nodeGroup{head: true, name: rayv1.HeadGroupName, rayStartParams: h.RayStartParams, resources: h.Resources, labels: h.Labels, template: &h.Template}
}

func workerGroup(g *rayv1.WorkerGroupSpec) nodeGroup {
	return nodeGroup{name: g.GroupName, rayStartParams: g.RayStartParams, resources: g.Resources, labels: g.Labels, template: &g.Template}
}

// rule picks between the two ids of a rule that has one for the head and one for workers.
func (g nodeGroup) rule(head, worker string) string {
	if g.head {
		return head
	}
	return worker
}

// kind is the word for people.
func (g nodeGroup) kind() string {
	if g.head {
		return "head"
	}
	return "worker"
}

func validateNodeGroup(c *cluster, g nodeGroup, path *field.Path) field.ErrorList {
	errs := validateResourcesOnce(g, path.Child("resources"))
	errs = append(errs, validateRayLabels(g, path)...)
	errs = append(errs, validateStartParams(c, g, path.Child("rayStartParams"))...)
	errs = append(errs, validatePodTemplate(c, g, path.Child("template"))...)
	return errs
}

func warnNodeGroup(c *cluster, g nodeGroup, path *field.Path) field.ErrorList {
	warnings := warnResources(g, path.Child("resources"))
	warnings = append(warnings, warnStartParams(c, g, path.Child("rayStartParams"))...)
	warnings = append(warnings, warnPodTemplate(c, g, path.Child("template"))...)
	return warnings
}

// resourceParams are the start parameters that say the same as the field resources.
var resourceParams = []string{"num-cpus", "num-gpus", "memory", "resources"}

// validateResourcesOnce refuses two sources for the logical resources of a node, since one would silently win.
func validateResourcesOnce(g nodeGroup, path *field.Path) field.ErrorList {
	if len(g.resources) == 0 {
		return nil
	}
	var both []string
	for _, param := range resourceParams {
		if g.rayStartParams[param] != "" {
			both = append(both, param)
		}
	}
	if len(both) == 0 {
		return nil
	}
	return field.ErrorList{forbidden(g.rule("RC-034", "RC-043"), path, "rayStartParams gives "+strings.Join(both, ", ")+" already; keep one of the two")}
}

// validateRayLabels checks the labels that Ray nodes and Pods get.
func validateRayLabels(g nodeGroup, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if v, set := g.rayStartParams["labels"]; set {
		errs = append(errs, invalid(g.rule("RC-035", "RC-044"), path.Child("rayStartParams").Key("labels"), v, "move it to the field labels of the group"))
	}
	labelsPath := path.Child("labels")
	for _, key := range slices.Sorted(maps.Keys(g.labels)) {
		if msgs := validation.IsQualifiedName(key); len(msgs) > 0 {
			errs = append(errs, invalid(g.rule("RC-036", "RC-045"), labelsPath.Key(key), key, strings.Join(msgs, "; ")))
		}
		if msgs := validation.IsValidLabelValue(g.labels[key]); len(msgs) > 0 {
			errs = append(errs, invalid(g.rule("RC-037", "RC-046"), labelsPath.Key(key), g.labels[key], strings.Join(msgs, "; ")))
		}
	}
	return errs
}

func warnResources(g nodeGroup, path *field.Path) field.ErrorList {
	var warnings field.ErrorList
	for _, key := range slices.Sorted(maps.Keys(g.resources)) {
		quantity, err := parseQuantity(g.resources[key])
		if err != nil || quantity.Sign() < 0 {
			warnings = append(warnings, invalid("RC-514", path.Key(key), g.resources[key], "is skipped; give a quantity of at least 0, as in 4, 500m or 16Gi"))
		}
	}
	return warnings
}

// maxQuantityText bounds the work of the quantity parser, whose time grows faster than its input.
const maxQuantityText = 64

// hugeExponent is in texts such as 1e-999999999, for which the parser would take hours. The schema of the CRDs and the
// gateway refuse them too.
var hugeExponent = regexp.MustCompile(`[eE][+-]?[0-9.]{4}`)

func parseQuantity(text string) (resource.Quantity, error) {
	if len(text) > maxQuantityText || hugeExponent.MatchString(text) {
		return resource.Quantity{}, resource.ErrFormatWrong
	}
	return resource.ParseQuantity(text)
}

// offersResources reports whether the autoscaler can compute what a worker of the group brings.
func offersResources(g *rayv1.WorkerGroupSpec) bool {
	for name := range g.Resources {
		if name != "memory" && name != "object_store_memory" {
			return true
		}
	}
	for _, param := range resourceParams {
		if param != "memory" && g.RayStartParams[param] != "" {
			return true
		}
	}
	c := rayContainer(&g.Template)
	if c == nil {
		return true // another rule says that the container is missing
	}
	for name := range c.Resources.Limits {
		if name != corev1.ResourceMemory && name != corev1.ResourceEphemeralStorage {
			return true
		}
	}
	_, cpu := c.Resources.Requests[corev1.ResourceCPU]
	return cpu
}
