package celrules

import (
	"regexp"
	"slices"
	"strings"
)

// Part is a part of the API that stands in one or more kinds.
type Part string

// Parts that carry rules.
const (
	// ClusterSpec is RayClusterSpec, in all four kinds.
	ClusterSpec Part = "RayClusterSpec"
	// JobSpec is RayJobSpec, in RayJob and RayCronJob.
	JobSpec Part = "RayJobSpec"
	// The whole object of a kind.
	RayCluster Part = "RayCluster"
	RayJob     Part = "RayJob"
	RayService Part = "RayService"
	RayCronJob Part = "RayCronJob"
)

// places are the paths of a part by the plural of the kind.
var places = map[Part]map[string]string{
	ClusterSpec: {
		"rayclusters": "spec",
		"rayjobs":     "spec.rayClusterSpec",
		"rayservices": "spec.rayClusterConfig",
		"raycronjobs": "spec.jobTemplate.rayClusterSpec",
	},
	JobSpec:    {"rayjobs": "spec", "raycronjobs": "spec.jobTemplate"},
	RayCluster: {"rayclusters": ""},
	RayJob:     {"rayjobs": ""},
	RayService: {"rayservices": ""},
	RayCronJob: {"raycronjobs": ""},
}

// Reason is the reason of an error in the terms of the API server. Empty stands for FieldValueInvalid.
type Reason string

// Reasons. FieldValueDuplicate is not among them: the API server drops its message.
const (
	Required  Reason = "FieldValueRequired"
	Forbidden Reason = "FieldValueForbidden"
)

// Ratchet says how a rule lets an update pass that does not bring the error in.
type Ratchet int

const (
	// WasBroken lets an update pass when the old value broke the rule too, and not in a lesser way.
	WasBroken Ratchet = iota
	// ByServer leaves it to the API server, which asks the rule whenever its node changed: for nodes that hold nothing but
	// what the rule reads, or whose items have no old value because they are in a list without keys.
	ByServer
	// CreateOnly asks the rule on create only: for names, which cannot change.
	CreateOnly
)

// Rule is one CEL expression in a schema.
type Rule struct {
	// ID is the rule of pkg/validation. It ends the message.
	ID string
	// Part and Node are the place of the rule: a path below the part with [] for the items of a list and {} for the
	// values of a map. An empty Node is the part itself.
	Part Part
	Node string
	// Valid is true of a good value of the node, self.
	Valid string
	// Field is the field that is to blame, below the node, in the notation of fieldPath. Empty blames the node.
	Field string
	// Says is the message: literal text, or with SaysCEL an expression. Then Says is what stands in for it should the
	// expression fail, and what tools show that do not evaluate it.
	Says, SaysCEL string
	// Reason is empty for an invalid value.
	Reason Reason
	// Ratchet is how updates of objects pass that broke the rule before.
	Ratchet Ratchet
	// Unchanged are paths below the node. With WasBroken an update passes if it changes none of them, instead of if the old
	// value broke the rule: what was wrong before must not become wrong in another way. They must be all that the rule reads.
	Unchanged []string
	// NoWorse compares self with oldSelf. With WasBroken an update passes only if this is true too.
	NoWorse string
	// Update is what an update is asked, in place of Valid and what follows from the fields above. It is for nodes whose parts
	// ratchet one by one, and must be true where Valid is.
	Update string
	// OwnWords marks messages that are not those of the Go rule, whose text comes from a library.
	OwnWords bool
	// Partly says that the rule can be broken in other ways than the expression sees, at the same field.
	Partly bool
	// exempt is true of a node that the rule is not about.
	exempt string
	// below is the path from the node to what the rule is about, after [Rule.raised]. Empty means the node.
	below string
	// NotIn are plurals of kinds in which the part does not get the rule.
	NotIn []string
}

// Validation is a rule in the form of x-kubernetes-validations.
type Validation struct {
	Rule              string `json:"rule"`
	Message           string `json:"message,omitempty"`
	MessageExpression string `json:"messageExpression,omitempty"`
	Reason            string `json:"reason,omitempty"`
	FieldPath         string `json:"fieldPath,omitempty"`
	OptionalOldSelf   *bool  `json:"optionalOldSelf,omitempty"`
}

// Validations renders the rule for a schema.
func (r Rule) Validations() []Validation {
	v := Validation{Rule: r.Valid, Message: r.Says + r.suffix(), FieldPath: r.Field, Reason: string(r.Reason)}
	if r.SaysCEL != "" {
		v.MessageExpression = r.SaysCEL + " + '" + r.suffix() + "'"
	}
	except := ""
	if r.exempt != "" {
		except = "(" + r.exempt + ") || "
	}
	if r.below != "" {
		except += "!(" + present("self", r.below) + ") || "
	} else if r.Ratchet == ByServer {
		v.Rule = except + v.Rule
		return []Validation{v}
	}
	create, update := v, v
	create.Rule = "oldSelf.hasValue() || " + except + "(" + r.Valid + ")"
	create.OptionalOldSelf = new(true)
	if r.Ratchet == CreateOnly {
		return []Validation{create}
	}
	// A rule of its own for updates: of an optional old value the API server does not estimate the size.
	update.Rule = except + r.onUpdate()
	if r.below != "" {
		update.Rule = except + "(" + present("oldSelf", r.below) + " ? " + r.onUpdate() + " : (" + r.Valid + "))"
	}
	return []Validation{create, update}
}

func (r Rule) onUpdate() string {
	switch {
	case r.Update != "":
		return r.Update
	case r.Ratchet == ByServer:
		return "(" + r.Valid + ") || self." + r.below + " == oldSelf." + r.below
	case len(r.Unchanged) > 0:
		same := make([]string, len(r.Unchanged))
		for i, f := range r.Unchanged {
			same[i] = unchanged(f)
		}
		return "(" + r.Valid + ") || (" + strings.Join(same, " && ") + ")"
	case r.NoWorse != "":
		return "(" + r.Valid + ") || (!(" + inOld(r.Valid) + ") && " + r.NoWorse + ")"
	}
	return "(" + r.Valid + ") || !(" + inOld(r.Valid) + ")"
}

// suffix names the rule, so that people can look it up in docs/validation.md.
func (r Rule) suffix() string { return " (" + r.ID + ")" }

// Bound is a keyword of the schema. A keyword is asked only when the value of its node changed.
type Bound struct {
	// ID is the rule that the bound enforces; empty if it is there to bound the cost of CEL.
	ID                             string
	Part                           Part
	Node                           string
	MaxItems, MinLength, MaxLength *int64
}

// Keywords returns the bound in the form of a schema.
func (b Bound) Keywords() map[string]any {
	keywords := map[string]any{}
	for name, value := range map[string]*int64{"maxItems": b.MaxItems, "minLength": b.MinLength, "maxLength": b.MaxLength} {
		if value != nil {
			keywords[name] = *value
		}
	}
	return keywords
}

// Placed is a rule or a bound at its place in one kind.
type Placed[T any] struct {
	// Node is the path from the root of the object, as in spec.workerGroupSpecs[].groupName. Empty is the root.
	Node string
	Item T
}

// RulesOf returns the rules of a kind by their ids. None is at a node in a list, which sees neither managedBy nor clusterSelector.
func RulesOf(plural string) []Placed[Rule] {
	var out []Placed[Rule]
	for _, r := range Rules() {
		place, ok := places[r.Part][plural]
		if !ok || slices.Contains(r.NotIn, plural) {
			continue
		}
		node := join(place, r.Node)
		root, exempt := exemption(plural, node, OfKubernetes(r.ID))
		if exempt != "" && node != root {
			r, node = r.raised(strings.TrimPrefix(node, root+".")), root
		}
		r.exempt = exempt
		out = append(out, Placed[Rule]{Node: node, Item: r})
	}
	return out
}

// raised is the rule at a node above, from which path leads to its own, so that it sees more of the object. It blames the same field.
func (r Rule) raised(path string) Rule {
	to := func(expression string) string {
		return oldSelfWord.ReplaceAllString(selfWord.ReplaceAllString(expression, "self."+path), "oldSelf."+path)
	}
	r.below, r.Field = path, "."+path+r.Field
	r.Valid, r.NoWorse, r.Update, r.SaysCEL = to(r.Valid), to(r.NoWorse), to(r.Update), to(r.SaysCEL)
	r.Unchanged = slices.Clone(r.Unchanged)
	for i, field := range r.Unchanged {
		r.Unchanged[i] = join(path, field)
	}
	return r
}

var oldSelfWord = regexp.MustCompile(`\boldSelf\b`)

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
	inCluster := node == "" || strings.HasPrefix(node+".", places[ClusterSpec][plural]+".")
	if node == "" {
		root, below = "", root
	}
	var reasons []string
	if plural != "raycronjobs" {
		manager := join(below, "managedBy")
		reasons = append(reasons, present("self", manager)+" && self."+manager+" == 'kueue.x-k8s.io/multikueue'")
	}
	if ofKubernetes && inCluster && selectsIn[plural] {
		selector := join(below, "clusterSelector")
		reasons = append(reasons, present("self", selector)+" && size(self."+selector+") > 0")
	}
	return root, strings.Join(reasons, " || ")
}

// BoundsOf returns the bounds of a kind in the order of the table.
func BoundsOf(plural string) []Placed[Bound] {
	var out []Placed[Bound]
	for _, b := range Bounds() {
		place, ok := places[b.Part][plural]
		if !ok {
			continue
		}
		out = append(out, Placed[Bound]{Node: join(place, b.Node), Item: b})
	}
	return out
}

// Rules returns all rules, by their ids.
func Rules() []Rule {
	all := slices.Concat(objectRules, groupRules, headRules, autoscalerRules, gcsRules, authRules, historyRules, networkRules, tlsRules, jobSpecRules, serviceRules)
	slices.SortStableFunc(all, func(a, b Rule) int { return strings.Compare(a.ID, b.ID) })
	return all
}

func join(path, more string) string {
	if path == "" || more == "" {
		return path + more
	}
	return path + "." + more
}
