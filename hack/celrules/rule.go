package celrules

import (
	"slices"
	"strings"

	"github.com/raygate/raygate/pkg/validation"
	"github.com/raygate/raygate/pkg/validation/cel"
	"github.com/raygate/raygate/pkg/validation/rule"
)

// places are the paths of a part by the plural of the kind.
var places = map[rule.Part]map[string]string{
	rule.ClusterSpec: {
		"rayclusters": "spec",
		"rayjobs":     "spec.rayClusterSpec",
		"rayservices": "spec.rayClusterConfig",
		"raycronjobs": "spec.jobTemplate.rayClusterSpec",
	},
	rule.JobSpec:    {"rayjobs": "spec", "raycronjobs": "spec.jobTemplate"},
	rule.RayCluster: {"rayclusters": ""},
	rule.RayJob:     {"rayjobs": ""},
	rule.RayService: {"rayservices": ""},
	rule.RayCronJob: {"raycronjobs": ""},
	// The jobs of a RayCronJob do not get its metadata.
	rule.KindAny: {"rayclusters": "", "rayjobs": "", "rayservices": ""},
}

// Rule is one expression of a rule in the schemas.
type Rule struct {
	rule.CEL
	// ID is the rule. It ends the message.
	ID string

	ofKubernetes, onStatus bool
	// each is true of a good group, and wrong and wasWrong are how many break the rule, and broke it before. Empty if the rule is not on groups.
	each, wrong, wasWrong string
	// exempt is true of a node that the rule is not about.
	exempt string
	// below is the path from the node to the subject of the rule, after [Rule.raised]. Empty means the node.
	below string
	// part is the path from the node to the part that the guard reads. Empty means the node.
	part string
	// guard is true of a node to which the rule, and others with the same guard, apply. Empty means no guard.
	guard string
}

// suffix is the id of the rule, so that users can find it in docs/validation.md.
func suffix(id string) string { return " (" + id + ")" }

// Placed is a rule or a bound at its place in one kind.
type Placed[T any] struct {
	// Node is the path from the root of the object, as in spec.workerGroupSpecs[].groupName. Empty is the root.
	Node string
	Item T
}

// Rules returns the rules in the schemas, by their ids.
func Rules() []Rule {
	var all []Rule
	for _, declared := range validation.Rules() {
		for _, c := range declared.CEL {
			if c.Part == "" {
				c.Part = rule.Part(declared.Kind)
			}
			if c.Says == "" {
				c.Says = declared.Remedy
			}
			r := Rule{CEL: c, ID: declared.ID, ofKubernetes: declared.Tier == rule.Kubernetes, onStatus: strings.HasPrefix(declared.Field, "status.")}
			if c.Groups != "" {
				r = r.onGroups()
			}
			all = append(all, r)
		}
	}
	return all
}

// onGroups is the rule with its condition on each group. A group without Pods that gets some is still the same group that was wrong before.
func (r Rule) onGroups() Rule {
	asked := r.EachGroup
	if r.ofKubernetes {
		asked = "(" + r.EachGroup + ") || " + cel.NoPods
	}
	groups := "self." + r.Groups
	r.each = asked
	r.Valid = groups + ".all(g, " + asked + ") || " + cel.Absent("self", r.Groups)
	r.wrong = groups + ".filter(g, !(" + asked + ")).size()"
	r.wasWrong = cel.InOld(groups) + ".filter(g, !(" + r.EachGroup + ")).size()"
	return r
}

// RulesOf returns the rules of a kind by their ids. None is at a node in a list, from which managedBy and clusterSelector are not visible.
func RulesOf(plural string) []Placed[Rule] {
	var out []Placed[Rule]
	for _, r := range Rules() {
		place, ok := places[r.Part][plural]
		if !ok {
			continue
		}
		node := join(place, r.Node)
		root, exempt := exemption(plural, node, r.ofKubernetes)
		r.guard = r.When
		if exempt != "" && node != root {
			below, part := strings.TrimPrefix(node, root+"."), strings.TrimPrefix(strings.TrimPrefix(place, root), ".")
			if first, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(below, part), "."), "."); r.guard == "" && first != "" {
				r.guard = "has(self." + first + ")"
			}
			if r.part = part; part != "" {
				r.guard = cel.Below(part, r.guard)
			}
			r, node = r.raised(below), root
		}
		r.exempt = exempt
		out = append(out, Placed[Rule]{Node: node, Item: r})
	}
	return out
}

// raised moves the rule to a node above, from which path leads to its own node, so that it sees more of the object. It reports the same
// field.
func (r Rule) raised(path string) Rule {
	r.below, r.Field = path, "."+path+r.Field
	for _, expression := range []*string{&r.When, &r.Valid, &r.NoWorse, &r.wrong, &r.wasWrong} {
		*expression = cel.Below(path, *expression)
	}
	r.Unchanged = slices.Clone(r.Unchanged)
	for i, field := range r.Unchanged {
		r.Unchanged[i] = join(path, field)
	}
	return r
}

// selectsIn are the kinds that may select an existing cluster. No child is made from the cluster in their spec then.
var selectsIn = map[string]bool{"rayjobs": true, "raycronjobs": true}

// exemption is true of an object that is exempt from the rules at a node. root is the node that it reads: the spec, because managedBy and
// clusterSelector are not visible below it. If managedBy gives an object to another controller, only KubeRay's schema refuses anything. A
// RayCronJob has no such field; its template is treated as in KubeRay's controller.
func exemption(plural, node string, ofKubernetes bool) (root, exempt string) {
	if node != "" && node != "spec" && !strings.HasPrefix(node, "spec.") {
		return "", ""
	}
	root, below := "spec", ""
	if plural == "raycronjobs" {
		root = "spec.jobTemplate"
	}
	inCluster := node == "" || strings.HasPrefix(node+".", places[rule.ClusterSpec][plural]+".")
	if node == "" {
		root, below = "", root
	}
	var reasons []string
	if plural != "raycronjobs" {
		manager := join(below, "managedBy")
		reasons = append(reasons, cel.Present("self", manager)+" && self."+manager+" == 'kueue.x-k8s.io/multikueue'")
	}
	if ofKubernetes && inCluster && selectsIn[plural] {
		selector := join(below, "clusterSelector")
		reasons = append(reasons, cel.Present("self", selector)+" && size(self."+selector+") > 0")
	}
	return root, strings.Join(reasons, " || ")
}

func join(path, more string) string {
	if path == "" || more == "" {
		return path + more
	}
	return path + "." + more
}
