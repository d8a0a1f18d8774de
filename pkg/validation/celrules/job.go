package celrules

// Pieces of CEL about self, a RayJobSpec.
const (
	jobSelects     = "(has(self.clusterSelector) && size(self.clusterSelector) > 0)"
	jobShutsDown   = "(has(self.shutdownAfterJobFinishes) && self.shutdownAfterJobFinishes)"
	jobSuspended   = "(has(self.suspend) && self.suspend)"
	jobAutoscales  = "(has(self.rayClusterSpec) && has(self.rayClusterSpec.enableInTreeAutoscaling) && self.rayClusterSpec.enableInTreeAutoscaling)"
	jobInSidecar   = "(has(self.submissionMode) && self.submissionMode == 'SidecarMode')"
	jobInteractive = "(has(self.submissionMode) && self.submissionMode == 'InteractiveMode')"
	jobRules       = "(has(self.deletionStrategy) && has(self.deletionStrategy.deletionRules) && size(self.deletionStrategy.deletionRules) > 0)"

	rulesField     = ".deletionStrategy.deletionRules"
	someoneElses   = "cannot go with clusterSelector, whose cluster belongs to someone else"
	headOfJob      = "self.rayClusterSpec.headGroupSpec.template"
	needsShutdown  = "needs shutdownAfterJobFinishes: true"
	tokenAlone     = "is possible for a RayCluster alone; use authOptions.mode token with a secret"
	ownerDecides   = ", which decides about upgrades; remove it"
	noRayCluster   = "!has(self.rayClusterSpec) || !has(self.rayClusterSpec.headGroupSpec.template.spec)"
	rayFrom26      = `^v?(2\\.([6-9]|[1-9][0-9]+)|([3-9]|[1-9][0-9]+)(\\.[0-9]+)?)([^0-9].*)?$`
	jobDescription = "describe the job: at least entrypoint, and rayClusterSpec or clusterSelector"
)

// policyIs is true if one side of the old form of the deletion strategy has one of the policies.
func policyIs(side, policies string) string {
	policy := "self.deletionStrategy." + side + ".policy"
	return "(" + present("self", "deletionStrategy."+side+".policy") + " && " + policy + " in " + policies + ")"
}

var jobSpecRules = []Rule{
	{ID: "RJ-022", Part: JobSpec, Field: ".suspend",
		Valid: "!" + jobSuspended + " || " + jobShutsDown,
		Says:  needsShutdown},
	atLeast("RJ-023", "ttlSecondsAfterFinished", "0", "must be at least 0"),
	atLeast("RJ-057", "activeDeadlineSeconds", "1", "must be above 0"),
	atLeast("RJ-059", "backoffLimit", "0", "must be at least 0"),
	{ID: "RJ-024", Part: JobSpec, Field: ".ttlSecondsAfterFinished",
		Valid: "!has(self.ttlSecondsAfterFinished) || self.ttlSecondsAfterFinished <= 0 || " + jobShutsDown,
		Says:  needsShutdown},
	{ID: "RJ-026", Part: JobSpec, Field: rulesField, Reason: Forbidden,
		Valid: "!" + jobRules + " || !" + jobShutsDown,
		Says:  "cannot go with shutdownAfterJobFinishes; keep the rules"},
	sidePolicy("RJ-029", "onSuccess"),
	sidePolicy("RJ-030", "onFailure"),
	sideSelects("RJ-031", "onSuccess"),
	sideSelects("RJ-032", "onFailure"),
	{ID: "RJ-033", Part: JobSpec, Field: ".deletionStrategy", Reason: Forbidden,
		Valid: "!" + jobAutoscales + " || !(" + policyIs("onSuccess", "['DeleteWorkers']") + " || " + policyIs("onFailure", "['DeleteWorkers']") + ")",
		Says:  "DeleteWorkers cannot go with enableInTreeAutoscaling, since the autoscaler would make them anew; use DeleteCluster"},
	{ID: "RJ-034", Part: JobSpec, Field: ".deletionStrategy", Reason: Forbidden,
		Valid: "!" + jobShutsDown + " || !(" + policyIs("onSuccess", "['DeleteNone']") + " || " + policyIs("onFailure", "['DeleteNone']") + ")",
		Says:  "DeleteNone contradicts shutdownAfterJobFinishes: true; remove one of the two"},
	{ID: "RJ-039", Part: JobSpec, Field: rulesField,
		Valid: "!" + jobSelects + " || !" + jobRules + " || self.deletionStrategy.deletionRules.all(r, !(r.policy in ['DeleteCluster', 'DeleteWorkers']))",
		Says:  someoneElses + "; use DeleteSelf or DeleteNone"},
	{ID: "RJ-040", Part: JobSpec, Field: rulesField,
		Valid: "!" + jobAutoscales + " || !" + jobRules + " || self.deletionStrategy.deletionRules.all(r, r.policy != 'DeleteWorkers')",
		Says:  "cannot go with enableInTreeAutoscaling, since the autoscaler would make the workers anew; use DeleteCluster"},
	onceForEach("RJ-041", "jobStatus", "jobDeploymentStatus"),
	onceForEach("RJ-042", "jobDeploymentStatus", "jobStatus"),
	inOrder("RJ-043", "jobStatus", "jobDeploymentStatus"),
	inOrder("RJ-044", "jobDeploymentStatus", "jobStatus"),
	{ID: "RJ-045", Part: JobSpec, Field: ".suspend",
		Valid: "!" + jobSuspended + " || !" + jobSelects,
		Says:  someoneElses},
	{ID: "RJ-046", Part: JobSpec, Field: ".rayClusterSpec", Reason: Required,
		Valid: "has(self.rayClusterSpec) || " + jobSelects,
		Says:  "describe the cluster to make, or name one that exists in clusterSelector"},
	{ID: "RJ-047", Part: JobSpec, Node: "clusterSelector", Reason: Required,
		Valid: "size(self) == 0 || ('ray.io/cluster' in self && self['ray.io/cluster'] != '')",
		Says:  "give the name of the RayCluster under the key ray.io/cluster"},
	{ID: "RJ-048", Part: JobSpec, Field: ".submissionMode",
		Valid: "!" + jobInSidecar + " || !" + jobSelects,
		Says:  "needs a head Pod of its own and cannot go with clusterSelector; use K8sJobMode or HTTPMode"},
	{ID: "RJ-049", Part: JobSpec, Field: ".backoffLimit",
		Valid: "!" + jobSelects + " || !has(self.backoffLimit) || self.backoffLimit <= 0",
		Says:  "must be 0 with clusterSelector, since each try takes a new cluster"},
	{ID: "RJ-050", Part: JobSpec, Field: ".backoffLimit",
		Valid: "!" + jobInteractive + " || !has(self.backoffLimit) || self.backoffLimit <= 0",
		Says:  "must be 0 in InteractiveMode, where the user submits the job"},
	{ID: "RJ-051", Part: JobSpec, Field: ".submitterPodTemplate", Reason: Forbidden,
		Valid: "!" + jobInSidecar + " || !has(self.submitterPodTemplate)",
		Says:  "the submitter is a container of the head Pod in SidecarMode; remove it"},
	{ID: "RJ-053", Part: JobSpec, Field: ".rayClusterSpec.headGroupSpec.template.spec.restartPolicy",
		Valid: "!" + jobInSidecar + " || " + noRayCluster + " || !has(" + headOfJob + ".spec.restartPolicy) || " + headOfJob + ".spec.restartPolicy in ['', 'Never']",
		Says:  "must be Never or unset in SidecarMode, where the job ends with the head Pod"},
	{ID: "RJ-054", Part: JobSpec, Node: "rayClusterSpec.authOptions", Field: ".enableK8sTokenAuth",
		Valid: "!has(self.enableK8sTokenAuth) || !self.enableK8sTokenAuth",
		Says:  tokenAlone},
	ofSubmitter("RJ-509", ".submitterPodTemplate.spec.restartPolicy", Required,
		"!has(self.submitterPodTemplate) || !("+submitterRuns+") || (has(self.submitterPodTemplate.spec.restartPolicy) && self.submitterPodTemplate.spec.restartPolicy != '')",
		"set Never or OnFailure, as a Job demands"),
	ofSubmitter("RJ-509", ".submitterPodTemplate.spec.restartPolicy", "",
		"!has(self.submitterPodTemplate) || !("+submitterRuns+") || !has(self.submitterPodTemplate.spec.restartPolicy) || self.submitterPodTemplate.spec.restartPolicy in ['', 'Never', 'OnFailure']",
		`supported values: "Never", "OnFailure"`),
	ofSubmitter("RJ-510", ".submitterPodTemplate.spec.containers", Required,
		"!has(self.submitterPodTemplate) || ("+submitterRuns+")",
		"give at least one container; the first submits the job"),
	ofSubmitter("RJ-511", ".submitterConfig.backoffLimit", "",
		"!("+present("self", "submitterConfig.backoffLimit")+") || self.submitterConfig.backoffLimit >= 0",
		"must be at least 0"),
	{ID: "RJ-516", Part: JobSpec, Field: ".metadata", Reason: Forbidden, OwnWords: true,
		Valid: "!has(self.metadata) || size(self.metadata) == 0 || !has(self.submissionMode) || !(self.submissionMode in ['K8sJobMode', 'SidecarMode']) || !has(self.rayClusterSpec) || !has(self.rayClusterSpec.rayVersion)" +
			" || self.rayClusterSpec.rayVersion == '' || self.rayClusterSpec.rayVersion.matches('" + rayFrom26 + "')",
		Says: "needs rayClusterSpec.rayVersion 2.6.0 or later"},
	{ID: "RJ-530", Part: JobSpec, Field: ".rayClusterSpec.upgradeStrategy.type", Reason: Forbidden,
		Valid: jobSelects + " || !(" + present("self", "rayClusterSpec.upgradeStrategy.type") + ")",
		Says:  "the cluster belongs to a RayJob" + ownerDecides},
	{ID: "RC-525", Part: JobSpec, Field: ".rayClusterSpec.headGroupSpec.template.spec.initContainers",
		Valid: "!" + jobInSidecar + " || " + noRayCluster + " || !has(" + headOfJob + ".spec.initContainers) || " + headOfJob + ".spec.initContainers.all(c, c.name != 'ray-job-submitter')",
		Says:  "the operator adds a container of this name in SidecarMode; use another name"},
	{ID: "RJ-533", Part: JobSpec, Field: ".rayClusterSpec.headGroupSpec.template.spec.containers",
		Valid: "!" + jobInSidecar + " || " + noRayCluster + " || !has(" + headOfJob + ".spec.containers) || " + headOfJob + ".spec.containers.all(c, c.name != 'ray-job-submitter')",
		Says:  "the operator adds a container of this name in SidecarMode; use another name"},
}

// atLeast is the lower bound of a number.
func atLeast(id, field, least, says string) Rule {
	return Rule{ID: id, Part: JobSpec, Field: "." + field, Unchanged: []string{field},
		Valid: "!has(self." + field + ") || self." + field + " >= " + least,
		Says:  says}
}

// ofSubmitter is a rule on what becomes a Job, which is made in K8sJobMode alone.
func ofSubmitter(id, field string, reason Reason, valid, says string) Rule {
	return Rule{ID: id, Part: JobSpec, Field: field, Reason: reason,
		Valid: "(has(self.submissionMode) && self.submissionMode != 'K8sJobMode') || " + valid,
		Says:  says}
}

var submitterRuns = "has(self.submitterPodTemplate.spec) && has(self.submitterPodTemplate.spec.containers) && size(self.submitterPodTemplate.spec.containers) > 0"

func sidePolicy(id, side string) Rule {
	return Rule{ID: id, Part: JobSpec, Node: "deletionStrategy." + side, Field: ".policy", Reason: Required,
		Valid: "has(self.policy)",
		Says:  "say what to delete: DeleteCluster, DeleteWorkers, DeleteSelf or DeleteNone"}
}

func sideSelects(id, side string) Rule {
	return Rule{ID: id, Part: JobSpec, Field: ".deletionStrategy." + side + ".policy",
		Valid: "!" + jobSelects + " || !" + policyIs(side, "['DeleteCluster', 'DeleteWorkers']"),
		Says:  someoneElses + "; use DeleteSelf or DeleteNone"}
}

// only is true of a deletion rule whose condition has one of the two states alone.
func only(rule, state, other string) string {
	return "has(" + rule + ".condition." + state + ") && !has(" + rule + ".condition." + other + ")"
}

func onceForEach(id, state, other string) Rule {
	return Rule{ID: id, Part: JobSpec, Node: "deletionStrategy.deletionRules", Ratchet: ByServer,
		Valid: "self.all(a, !(" + only("a", state, other) + ") || self.exists_one(b, " + only("b", state, other) +
			" && a.policy == b.policy && a.condition." + state + " == b.condition." + state + "))",
		Says: "give each policy once for each state; keep one of the rules"}
}

func inOrder(id, state, other string) Rule {
	return Rule{ID: id, Part: JobSpec, Node: "deletionStrategy.deletionRules", OwnWords: true, Ratchet: ByServer,
		Valid: "self.all(a, !(" + only("a", state, other) + ") || self.all(b, !(" + only("b", state, other) + ") || a.condition." + state + " != b.condition." + state +
			" || !((a.policy == 'DeleteWorkers' && b.policy in ['DeleteCluster', 'DeleteSelf']) || (a.policy == 'DeleteCluster' && b.policy == 'DeleteSelf'))" +
			" || a.condition.ttlSeconds <= b.condition.ttlSeconds))",
		Says: "for each state, ttlSeconds of DeleteSelf must be at least that of DeleteCluster, and that at least that of DeleteWorkers"}
}
