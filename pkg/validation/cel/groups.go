package cel

import (
	"github.com/raygate/raygate/pkg/validation/rule"
)

// The API server multiplies the estimated cost of a rule on a group by the number of groups that maxItems allows.

// Conditions that rules make on each group, g.
const (
	NoIdleTimeout = "!has(g.idleTimeoutSeconds)"
	NoPriority    = "g.?priority.orValue(0) == 0"
	NoLabelsParam = "!g.?rayStartParams.?labels.hasValue()"
	NotSuspended  = "!g.?suspend.orValue(false)"
	NeverRestarts = "!(g.template.?spec.?restartPolicy.orValue('') in ['Always', 'OnFailure'])"

	// NoPods is true of a group without Pods in its current state, so that the API server refuses none.
	NoPods = "g.?suspend.orValue(false) || g.?maxReplicas.orValue(1) <= 0 || (g.?replicas.orValue(0) <= 0 && g.?minReplicas.orValue(0) <= 0)"
)

// Priorities is true of a cluster in which a group has a priority.
const Priorities = "self.workerGroupSpecs.exists(g, !(" + NoPriority + ")) && has(self.workerGroupSpecs)"

// EachGroup is a condition on each worker group, g. It is evaluated at the object that contains the list, because managedBy and
// clusterSelector are visible there. Its message therefore names the field of the group.
func EachGroup(reason rule.Reason, fine, says string) rule.CEL {
	return rule.CEL{Field: ".workerGroupSpecs", Reason: reason, Says: says, OwnWords: true, Groups: "workerGroupSpecs", EachGroup: fine}
}

// GroupAtLeast0 requires that a number of each group is at least 0.
func GroupAtLeast0(field string) rule.CEL {
	return EachGroup("", "g.?"+field+".orValue(0) >= 0", field+" must be at least 0")
}

// GroupInPodNames checks the first 50 characters of the name of the cluster, a dash and the name of the group, which are part of Pod names.
// added is the number of characters between the name of the object and the name of the group. Only the Go package checks dots: in CEL they
// would cost more than all other rules on groups.
func GroupInPodNames(part rule.Part, spec, added string) rule.CEL {
	groups := spec + ".workerGroupSpecs"
	return rule.CEL{Part: part, Field: "." + groups, OwnWords: true, Partly: true, Groups: groups,
		Says:      "groupName becomes part of Pod names, which cannot have an underscore; use a dash",
		EachGroup: "!g.groupName.contains('_') || self.metadata.name.size() + " + added + " + g.groupName.indexOf('_') >= 50"}
}

// Expressions for the head group and worker groups.
const (
	OneContainer   = "self.?spec.?containers[?0].hasValue()"
	ResourceParams = "['num-cpus', 'num-gpus', 'memory', 'resources']"
	NoParam        = "!(p in self.rayStartParams) || self.rayStartParams[p] == ''"
)

// ResourcesOnce refuses two sources for the resources of a node.
func ResourcesOnce(node string) rule.CEL {
	return rule.CEL{Node: node, Field: ".resources", Reason: rule.Forbidden, OwnWords: true,
		Valid:   "!has(self.resources) || size(self.resources) == 0 || !has(self.rayStartParams) || " + ResourceParams + ".all(p, " + NoParam + ")",
		NoWorse: noMore(ResourceParams, "p", NoParam),
		Says:    GivenTwice}
}

// Messages, and values of fields.
const (
	GivenTwice        = "rayStartParams gives resources already; keep one of the two"
	namesOfContainers = "use at most 63 lower-case letters, digits and dashes, with a letter or digit at both ends"
	RestartPolicies   = "['', 'Always', 'OnFailure', 'Never']"
	PoliciesOfRestart = `supported values: "Always", "OnFailure", "Never"`
)

// containerNamed is true of a container with a valid container name, or without a name.
func containerNamed(c string) string {
	return c + ".name.matches(r'^([a-z\\d]([-a-z\\d]{0,61}[a-z\\d])?)?$')"
}

// IsLabelValue is true of a valid label value that is not empty. The estimated cost multiplies the length of the regular expression by that
// of the text, so the expression is short. The list of one text gives it a name, t, for checks whose cost does not depend on the length.
func IsLabelValue(text string) string {
	return "(" + text + ".matches(r'^\\w[-\\w.]*$') && [" + text + "].all(t, t.size() <= 63 && !t.startsWith('_') && !t.endsWith('_') && !t.endsWith('-') && !t.endsWith('.')))"
}

// LabelKey is true of the key of a label, k.
const LabelKey = "k.size() <= 317 && k.matches('^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$')"
