package celrules

import (
	"regexp"
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

	ofKubernetes bool
	// update is what an update is asked, in place of Valid and what follows from how the rule ratchets. Empty for none.
	update string
	// exempt is true of a node that the rule is not about.
	exempt string
	// below is the path from the node to what the rule is about, after [Rule.raised]. Empty means the node.
	below string
}

// Validation is a rule in the form of x-kubernetes-validations.
type Validation struct {
	Rule            string `json:"rule"`
	Message         string `json:"message,omitempty"`
	Reason          string `json:"reason,omitempty"`
	FieldPath       string `json:"fieldPath,omitempty"`
	OptionalOldSelf *bool  `json:"optionalOldSelf,omitempty"`
}

// Validations renders the rule for a schema.
func (r Rule) Validations() []Validation {
	v := Validation{Rule: r.Valid, Message: r.Says + suffix(r.ID), FieldPath: r.Field, Reason: string(r.Reason)}
	except := ""
	if r.exempt != "" {
		except = "(" + r.exempt + ") || "
	}
	if r.below != "" {
		except += "!(" + cel.Present("self", r.below) + ") || "
	} else if r.Ratchet == rule.ByServer {
		v.Rule = except + v.Rule
		return []Validation{v}
	}
	create, update := v, v
	create.Rule = "oldSelf.hasValue() || " + except + "(" + r.Valid + ")"
	create.OptionalOldSelf = new(true)
	if r.Ratchet == rule.CreateOnly {
		return []Validation{create}
	}
	// A rule of its own for updates: of an optional old value the API server does not estimate the size.
	update.Rule = except + r.onUpdate()
	if r.below != "" {
		update.Rule = except + "(" + cel.Present("oldSelf", r.below) + " ? " + r.onUpdate() + " : (" + r.Valid + "))"
	}
	return []Validation{create, update}
}

func (r Rule) onUpdate() string {
	switch {
	case r.update != "":
		return r.update
	case r.Ratchet == rule.ByServer:
		return "(" + r.Valid + ") || self." + r.below + " == oldSelf." + r.below
	case len(r.Unchanged) > 0:
		same := make([]string, len(r.Unchanged))
		for i, f := range r.Unchanged {
			same[i] = cel.Unchanged(f)
		}
		return "(" + r.Valid + ") || (" + strings.Join(same, " && ") + ")"
	case r.NoWorse != "":
		return "(" + r.Valid + ") || (!(" + cel.InOld(r.Valid) + ") && " + r.NoWorse + ")"
	}
	return "(" + r.Valid + ") || !(" + cel.InOld(r.Valid) + ")"
}

// suffix names the rule, so that people can look it up in docs/validation.md.
func suffix(id string) string { return " (" + id + ")" }

// Placed is a rule or a bound at its place in one kind.
type Placed[T any] struct {
	// Node is the path from the root of the object, as in spec.workerGroupSpecs[].groupName. Empty is the root.
	Node string
	Item T
}

// Rules returns what all rules ask in the schemas, by their ids.
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
			r := Rule{CEL: c, ID: declared.ID, ofKubernetes: declared.Tier == rule.Kubernetes}
			if c.Groups != "" {
				r = r.onGroups()
			}
			all = append(all, r)
		}
	}
	return all
}

// onGroups is the rule with its condition on each group. When a group without Pods gets some it is still the same group that was wrong before.
func (r Rule) onGroups() Rule {
	asked := r.EachGroup
	if r.ofKubernetes {
		asked = cel.NoPods + " || " + r.EachGroup
	}
	groups := "self." + r.Groups
	all := groups + ".all(g, " + asked + ")"
	r.Valid = "!(" + cel.Present("self", r.Groups) + ") || " + all
	r.update = "!(" + cel.Present("self", r.Groups) + ") || (" + cel.Present("oldSelf", r.Groups) + " ? " +
		groups + ".filter(g, !(" + asked + ")).size() <= " + cel.InOld(groups) + ".filter(g, !(" + r.EachGroup + ")).size() : " + all + ")"
	return r
}

// RulesOf returns the rules of a kind by their ids. None is at a node in a list, which sees neither managedBy nor clusterSelector.
func RulesOf(plural string) []Placed[Rule] {
	var out []Placed[Rule]
	for _, r := range Rules() {
		place, ok := places[r.Part][plural]
		if !ok {
			continue
		}
		node := join(place, r.Node)
		root, exempt := exemption(plural, node, r.ofKubernetes)
		if exempt != "" && node != root {
			r, node = r.raised(strings.TrimPrefix(node, root+".")), root
		}
		r.exempt = exempt
		out = append(out, Placed[Rule]{Node: node, Item: r})
	}
	return out
}

var selfWord, oldSelfWord = regexp.MustCompile(`\bself\b`), regexp.MustCompile(`\boldSelf\b`)

// raised is the rule at a node above, from which path leads to its own, so that it sees more of the object. It blames the same field.
func (r Rule) raised(path string) Rule {
	to := func(expression string) string {
		return oldSelfWord.ReplaceAllString(selfWord.ReplaceAllString(expression, "self."+path), "oldSelf."+path)
	}
	r.below, r.Field = path, "."+path+r.Field
	r.Valid, r.NoWorse, r.update = to(r.Valid), to(r.NoWorse), to(r.update)
	r.Unchanged = slices.Clone(r.Unchanged)
	for i, field := range r.Unchanged {
		r.Unchanged[i] = join(path, field)
	}
	return r
}

// selectsIn are the kinds that may select a cluster that exists. No child is made of the cluster that they describe next to that.
var selectsIn = map[string]bool{"rayjobs": true, "raycronjobs": true}

// exemption is true of an object that a rule at the node is not about, and root the node of which it speaks: the spec, since what is below does
// not see managedBy and clusterSelector. Of an object that managedBy gives to another controller the schema of KubeRay alone refuses
// anything. A RayCronJob has no such field, and its template counts as the controller of KubeRay counts it.
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
