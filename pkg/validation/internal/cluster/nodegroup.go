package cluster

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/pkg/validation/cel"
	"github.com/raygate/raygate/pkg/validation/internal/pods"
	"github.com/raygate/raygate/pkg/validation/rule"
)

// nodeGroup is the common part of the head group and a worker group.
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

// rule picks between the two of a rule that has one for the head and one for workers.
func (g nodeGroup) rule(head, worker *rule.Rule) *rule.Rule {
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

func checkNodeGroup(out *rule.Report, c *Spec, g nodeGroup, path *field.Path) {
	checkResourcesOnce(out, g, path.Child("resources"))
	checkResources(out, g, path.Child("resources"))
	checkRayLabels(out, g, path)
	checkStartParams(out, c, g, path.Child("rayStartParams"))
	checkPodTemplate(out, c, g, path.Child("template"))
}

// resourceParams are the start parameters with the same meaning as the field resources.
var resourceParams = []string{"num-cpus", "num-gpus", "memory", "resources"}

var rc034 = rule.New(rule.Rule{ID: "RC-034", Field: "headGroupSpec.resources", Condition: "resources has entries and one of rayStartParams num-cpus, num-gpus, memory, resources is set", Peer: rule.BySpec, Reads: []string{"headGroupSpec.rayStartParams"},
	CEL: []rule.CEL{cel.ResourcesOnce("headGroupSpec")}})
var rc043 = rule.New(rule.Rule{ID: "RC-043", Field: "workerGroupSpecs[i].resources", Condition: "resources has entries and one of rayStartParams num-cpus, num-gpus, memory, resources is set", Peer: rule.BySpec, Reads: []string{"../rayStartParams"},
	CEL: []rule.CEL{cel.EachGroup(rule.Forbidden, "!has(g.resources) || size(g.resources) == 0 || !has(g.rayStartParams) || "+cel.ResourceParams+".all(p, "+strings.ReplaceAll(cel.NoParam, "self.", "g.")+")",
		cel.GivenTwice)}})

// checkResourcesOnce refuses two sources for the logical resources of a node, since one would silently win.
func checkResourcesOnce(out *rule.Report, g nodeGroup, path *field.Path) {
	if len(g.resources) == 0 {
		return
	}
	var both []string
	for _, param := range resourceParams {
		if g.rayStartParams[param] != "" {
			both = append(both, param)
		}
	}
	out.When(len(both) > 0).Forbidden(g.rule(rc034, rc043), path, "rayStartParams gives "+strings.Join(both, ", ")+" already; keep one of the two")
}

var rc035 = rule.New(rule.Rule{ID: "RC-035", Field: "headGroupSpec.rayStartParams", Condition: "key labels present, even with an empty value", Peer: rule.BySpec,
	Remedy: "move it to the field labels of the group",
	CEL:    []rule.CEL{{Node: "headGroupSpec", Field: ".rayStartParams", Valid: "!self.?rayStartParams.?labels.hasValue()"}}})
var rc036 = rule.New(rule.Rule{ID: "RC-036", Field: "headGroupSpec.labels", Condition: "key is not a qualified name", Peer: rule.BySpec,
	Policies: []rule.Policy{cel.NodeLabels("cluster.headGroupSpec", false, cel.LabelKey, cel.LabelKeysSay)}})
var rc037 = rule.New(rule.Rule{ID: "RC-037", Field: "headGroupSpec.labels", Condition: "value is not a label value", Peer: rule.BySpec,
	Policies: []rule.Policy{cel.NodeLabels("cluster.headGroupSpec", false, cel.LabelValueOf("cluster.headGroupSpec.labels[k]"), cel.LabelValuesSay)}})
var rc044 = rule.New(rule.Rule{ID: "RC-044", Field: "workerGroupSpecs[i].rayStartParams", Condition: "key labels present, even with an empty value", Peer: rule.BySpec,
	Remedy: "move it to the field labels of the group",
	CEL:    []rule.CEL{cel.EachGroup("", cel.NoLabelsParam, "rayStartParams.labels: move it to the field labels of the group")}})
var rc045 = rule.New(rule.Rule{ID: "RC-045", Field: "workerGroupSpecs[i].labels", Condition: "key is not a qualified name", Peer: rule.BySpec,
	Policies: []rule.Policy{cel.NodeLabels("g", true, cel.LabelKey, cel.LabelKeysSay)}})
var rc046 = rule.New(rule.Rule{ID: "RC-046", Field: "workerGroupSpecs[i].labels", Condition: "value is not a label value", Peer: rule.BySpec,
	Policies: []rule.Policy{cel.NodeLabels("g", true, cel.LabelValueOf("g.labels[k]"), cel.LabelValuesSay)}})

// checkRayLabels checks the labels that Ray nodes and Pods get.
func checkRayLabels(out *rule.Report, g nodeGroup, path *field.Path) {
	v, set := g.rayStartParams["labels"]
	out.When(set).Invalid(g.rule(rc035, rc044), path.Child("rayStartParams").Key("labels"), v)
	pods.LabelRules{Key: g.rule(rc036, rc045), Value: g.rule(rc037, rc046)}.Check(out, g.labels, nil, path.Child("labels"))
}

var rc514 = rule.New(rule.Rule{ID: "RC-514", Field: "resources of head and worker groups", Condition: "value is not a quantity, or is negative",
	Remedy: "is skipped; give a quantity of at least 0, as in 4, 500m or 16Gi"})

func checkResources(out *rule.Report, g nodeGroup, path *field.Path) {
	for _, key := range slices.Sorted(maps.Keys(g.resources)) {
		quantity, err := pods.ParseQuantity(g.resources[key])
		out.When(err != nil || quantity.Sign() < 0).Invalid(rc514, path.Key(key), g.resources[key])
	}
}

// offersResources reports whether the autoscaler can compute the resources of a worker of the group.
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
	c := RayContainer(&g.Template)
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
