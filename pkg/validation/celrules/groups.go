package celrules

// What the API server estimates for a rule on a group counts once for each of the groups that maxItems allows.

// Conditions that rules make on each group, g.
const (
	noIdleTimeout = "!has(g.idleTimeoutSeconds)"
	noPriority    = "!has(g.priority) || g.priority == 0"
	noLabelsParam = "!has(g.rayStartParams) || !('labels' in g.rayStartParams)"
	notSuspended  = "!has(g.suspend) || !g.suspend"
	noCollector   = "!has(g.template.spec) || !has(g.template.spec.containers) || g.template.spec.containers.all(c, c.name != 'ray-history-collector')"
	neverRestarts = "!has(g.template.spec) || !has(g.template.spec.restartPolicy) || !(g.template.spec.restartPolicy in ['Always', 'OnFailure'])"
)

var noPriorities = allGroups(noPriority)

// Groups change whenever the autoscaler scales them, and with them all that is around them.
var groupRules = []Rule{
	{ID: "RC-038", Part: ClusterSpec, Node: "workerGroupSpecs[].template", Field: ".spec.containers", Reason: Required,
		Valid: oneContainer,
		Says:  "give at least one container; the first runs Ray"},
	{ID: "RC-042", Part: ClusterSpec, Node: "workerGroupSpecs[]", Field: ".minReplicas", OwnWords: true, Unchanged: []string{"minReplicas", "maxReplicas"},
		Valid: "self.minReplicas <= self.maxReplicas",
		Says:  "must not exceed maxReplicas"},
	resourcesOnce("RC-043", "workerGroupSpecs[]"),
	{ID: "RC-044", Part: ClusterSpec, Field: ".workerGroupSpecs",
		Valid:   allGroups(noLabelsParam),
		NoWorse: noMoreGroups(noLabelsParam),
		Says:    "move it to the field labels of the group"},
	labelKeys("RC-045", "workerGroupSpecs[]"),
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
	{ID: "RC-090", Part: ClusterSpec, Field: ".workerGroupSpecs",
		Valid:   "!has(self.historyServerOptions) || " + allGroups(noCollector),
		NoWorse: noMoreGroups(noCollector),
		Says:    "the operator adds a container of this name with historyServerOptions; use another name"},
	{ID: "RC-502", Part: ClusterSpec, Node: "workerGroupSpecs[].groupName", OwnWords: true, Ratchet: ByServer,
		Valid: "self == '' || self.matches('" + labelValue + "')",
		Says:  "becomes a label of the Pods: use letters, digits, dashes and dots, with a letter or digit at both ends"},
	restartPolicy("RC-560", "workerGroupSpecs[].template.spec.restartPolicy"),
	underscoreInPods(RayCluster, "spec", "1"),
	underscoreInPods(RayJob, "spec.rayClusterSpec", "7"),
	underscoreInPods(RayService, "spec.rayClusterConfig", "7"),
	underscoreInPods(RayCronJob, "spec.jobTemplate.rayClusterSpec", "16"),
}

// underscoreInPods looks at the first 50 characters of the name of the cluster, a dash and the name of the group, which are part
// of the names of Pods. The name of the cluster and the dash are longer than the name of the object by what is added.
func underscoreInPods(part Part, spec, added string) Rule {
	groups := spec + ".workerGroupSpecs"
	fine := "!g.groupName.contains('_') || !g.groupName.matches('" + labelValue + "') || self.metadata.name.size() + " + added + " + g.groupName.indexOf('_') >= 50"
	return Rule{ID: "RC-503", Part: part, Field: "." + groups,
		Valid:   "!(" + present("self", groups) + ") || self." + groups + ".all(g, " + fine + ")",
		NoWorse: noMore("self."+groups, "g", fine),
		Says:    "becomes part of Pod names, which cannot have an underscore; use a dash"}
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
		Says:    "rayStartParams gives resources already; keep one of the two"}
}

func labelKeys(id, node string) Rule {
	return Rule{ID: id, Part: ClusterSpec, Node: node + ".labels", OwnWords: true,
		Valid:  "self.all(k, " + labelKey + ")",
		Update: "self.all(k, k in oldSelf || (" + labelKey + "))",
		Says:   "keys must have at most 63 letters, digits, dashes, underscores and dots, with a letter or digit at both ends, after an optional DNS name and a slash"}
}

const labelKey = "k.size() <= 317 && k.matches('^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$')"

func restartPolicy(id, node string) Rule {
	return Rule{ID: id, Part: ClusterSpec, Node: node, Ratchet: ByServer,
		Valid: "self in ['', 'Always', 'OnFailure', 'Never']",
		Says:  `supported values: "Always", "OnFailure", "Never"`}
}
