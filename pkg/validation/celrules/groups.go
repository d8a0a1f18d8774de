package celrules

import "strings"

// What the API server estimates for a rule on a group counts once for each of the groups that maxItems allows.

// Conditions that rules make on each group, g.
const (
	noIdleTimeout = "!has(g.idleTimeoutSeconds)"
	noPriority    = "!has(g.priority) || g.priority == 0"
	noLabelsParam = "!has(g.rayStartParams) || !('labels' in g.rayStartParams)"
	notSuspended  = "!has(g.suspend) || !g.suspend"
	neverRestarts = "!has(g.template.spec) || !has(g.template.spec.restartPolicy) || !(g.template.spec.restartPolicy in ['Always', 'OnFailure'])"

	// noPods is true of a group of which no Pod is made as it stands, so that the API server refuses none.
	noPods = "(has(g.suspend) && g.suspend) || (has(g.maxReplicas) && g.maxReplicas <= 0) || " +
		"((!has(g.replicas) || g.replicas <= 0) && (!has(g.minReplicas) || g.minReplicas <= 0))"
)

var noPriorities = allGroups(noPriority)

// Groups change whenever the autoscaler scales them, and with them all that is around them.
var groupRules = []Rule{
	eachGroup("RC-038", Required, "has(g.template.spec) && has(g.template.spec.containers) && size(g.template.spec.containers) > 0", "template.spec.containers: give at least one container; the first runs Ray"),
	eachGroup("RC-040", "", "!has(g.minReplicas) || g.minReplicas >= 0", "minReplicas must be at least 0"),
	eachGroup("RC-041", "", "!has(g.maxReplicas) || g.maxReplicas >= 0", "maxReplicas must be at least 0"),
	eachGroup("RC-042", "", "!has(g.minReplicas) || !has(g.maxReplicas) || g.minReplicas <= g.maxReplicas", "minReplicas must not exceed maxReplicas"),
	eachGroup("RC-043", Forbidden, "!has(g.resources) || size(g.resources) == 0 || !has(g.rayStartParams) || "+resourceParams+".all(p, "+strings.ReplaceAll(noParam, "self.", "g.")+")",
		givenTwice),
	eachGroup("RC-044", "", noLabelsParam, "rayStartParams.labels: move it to the field labels of the group"),
	eachGroup("RC-047", "", "!has(g.idleTimeoutSeconds) || g.idleTimeoutSeconds >= 0", "idleTimeoutSeconds must be at least 0"),
	{ID: "RC-048", Part: ClusterSpec, Field: ".workerGroupSpecs", Reason: Forbidden,
		Valid:   allGroups(noIdleTimeout) + " || " + autoscalerV2,
		NoWorse: noMoreGroups(noIdleTimeout),
		Says:    "needs the autoscaler v2: set autoscalerOptions.version to v2, or use autoscalerOptions.idleTimeoutSeconds for all groups"},
	{ID: "RC-049", Part: ClusterSpec, Field: versionField, Reason: Required,
		Valid:   hasVersion + " || " + noPriorities,
		NoWorse: noMoreGroups(noPriority),
		Says:    needsVersion("priority of a worker group", "2.56.0")},
	{ID: "RC-050", Part: ClusterSpec, Field: versionField,
		Valid:   "!" + hasVersion + " || " + goodVersion + " || " + noPriorities,
		NoWorse: sameVersion + " && " + noMoreGroups(noPriority),
		Says:    needsVersion("priority of a worker group", "2.56.0")},
	{ID: "RC-051", Part: ClusterSpec, Field: versionField,
		Valid:   "!" + hasVersion + " || !" + goodVersion + " || self.rayVersion.matches('" + fromRay256 + "') || " + noPriorities,
		NoWorse: sameVersion + " && " + noMoreGroups(noPriority),
		Says:    needsVersion("priority of a worker group", "2.56.0")},
	{ID: "RC-052", Part: ClusterSpec, Field: ".workerGroupSpecs", Reason: Forbidden,
		Valid:   noPriorities + " || " + autoscalerV2,
		NoWorse: noMoreGroups(noPriority),
		Says:    "needs the autoscaler v2: set autoscalerOptions.version to v2"},
	{ID: "RC-072", Part: ClusterSpec, Field: ".workerGroupSpecs", Reason: Forbidden,
		Valid:   "!" + autoscaling + " || " + allGroups(notSuspended),
		NoWorse: noMoreGroups(notSuspended),
		Says:    "a group cannot be suspended while enableInTreeAutoscaling is true; set maxReplicas to 0 instead"},
	{ID: "RC-075", Part: ClusterSpec, Field: ".workerGroupSpecs",
		Valid:   "!" + autoscaling + " || !" + versionIsV2 + " || " + allGroups(neverRestarts),
		NoWorse: noMoreGroups(neverRestarts),
		Says:    "must be Never or unset with the autoscaler v2, which replaces Pods by itself"},
	eachGroup("RC-502", "", "g.groupName == '' || "+isLabelValue("g.groupName"),
		"groupName becomes a label of the Pods: use at most 63 letters, digits, dashes and dots, with a letter or digit at both ends"),
	eachGroup("RC-560", "", "!has(g.template.spec) || !has(g.template.spec.restartPolicy) || g.template.spec.restartPolicy in "+restartPolicies, "template.spec.restartPolicy: "+policiesOfRestart),
	underscoreInPods(RayCluster, "spec", "1"),
	underscoreInPods(RayJob, "spec.rayClusterSpec", "7"),
	underscoreInPods(RayService, "spec.rayClusterConfig", "7"),
	underscoreInPods(RayCronJob, "spec.jobTemplate.rayClusterSpec", "16"),
}

// eachGroup is a rule on each worker group, g. It stands around the list, from where managedBy and clusterSelector are seen, so that its message
// says which field of a group it is about. An update
// passes that brings in no more groups that break the rule; which groups they are would take comparing each with each, beyond any budget.
// The Go rules do.
func eachGroup(id string, reason Reason, fine, says string) Rule {
	r := Rule{ID: id, Part: ClusterSpec, Field: ".workerGroupSpecs", Reason: reason, Says: says, OwnWords: true}
	return r.onGroups("workerGroupSpecs", fine)
}

// onGroups is the rule with a condition on each group of a list. Of a group without Pods a rule on Pods asks nothing, but when it gets
// some it is still the same group that was wrong before.
func (r Rule) onGroups(list, fine string) Rule {
	asked := fine
	if OfKubernetes(r.ID) {
		asked = noPods + " || " + fine
	}
	groups := "self." + list
	all := groups + ".all(g, " + asked + ")"
	r.Valid = "!(" + present("self", list) + ") || " + all
	r.Update = "!(" + present("self", list) + ") || (" + present("oldSelf", list) + " ? " +
		groups + ".filter(g, !(" + asked + ")).size() <= " + inOld(groups) + ".filter(g, !(" + fine + ")).size() : " + all + ")"
	return r
}

// underscoreInPods looks at the first 50 characters of the name of the cluster, a dash and the name of the group, which are part
// of the names of Pods. The name of the cluster and the dash are longer than the name of the object by what is added.
func underscoreInPods(part Part, spec, added string) Rule {
	groups := spec + ".workerGroupSpecs"
	r := Rule{ID: "RC-503", Part: part, Field: "." + groups, OwnWords: true,
		Says: "groupName becomes part of Pod names, which cannot have an underscore; use a dash"}
	return r.onGroups(groups, "!g.groupName.contains('_') || self.metadata.name.size() + "+added+" + g.groupName.indexOf('_') >= 50")
}

// What the head group and worker groups have in common.

const (
	oneContainer   = "has(self.spec) && has(self.spec.containers) && size(self.spec.containers) > 0"
	resourceParams = "['num-cpus', 'num-gpus', 'memory', 'resources']"
	noParam        = "!(p in self.rayStartParams) || self.rayStartParams[p] == ''"
)

func resourcesOnce(id, node string) Rule {
	return Rule{ID: id, Part: ClusterSpec, Node: node, Field: ".resources", Reason: Forbidden, OwnWords: true,
		Valid:   "!has(self.resources) || size(self.resources) == 0 || !has(self.rayStartParams) || " + resourceParams + ".all(p, " + noParam + ")",
		NoWorse: noMore(resourceParams, "p", noParam),
		Says:    givenTwice}
}

const (
	givenTwice        = "rayStartParams gives resources already; keep one of the two"
	namesOfContainers = "use at most 63 lower-case letters, digits and dashes, with a letter or digit at both ends"
	restartPolicies   = "['', 'Always', 'OnFailure', 'Never']"
	policiesOfRestart = `supported values: "Always", "OnFailure", "Never"`
)

// containerNamed is true of a container whose name is that of a container in Kubernetes, or missing.
func containerNamed(c string) string { return c + ".name == '' || " + isLabel(c+".name") }

// isLabelValue and isLabel are true of a text of that form that is not empty. The estimate of their cost counts the letters of the regular
// expression for each letter of the text, so they have few.
func isLabelValue(text string) string {
	return "(" + text + ".size() <= 63 && " + text + ".matches(r'^\\w[-\\w.]*$') && !" + text + ".startsWith('_') && !" +
		text + ".endsWith('_') && !" + text + ".endsWith('-') && !" + text + ".endsWith('.'))"
}

func isLabel(text string) string {
	return "(" + text + ".size() <= 63 && " + text + ".matches(r'^[-a-z\\d]+$') && !" + text + ".startsWith('-') && !" + text + ".endsWith('-'))"
}

const labelKey = "k.size() <= 317 && k.matches('^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$')"

func restartPolicy(id, node string) Rule {
	return Rule{ID: id, Part: ClusterSpec, Node: node, Ratchet: ByServer,
		Valid: "self in " + restartPolicies,
		Says:  policiesOfRestart}
}
