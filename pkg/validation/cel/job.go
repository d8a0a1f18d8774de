package cel

import (
	"strings"

	"github.com/raygate/raygate/pkg/validation/rule"
)

// Pieces of CEL about self, a RayJobSpec.
const (
	JobSelects     = "(has(self.clusterSelector) && size(self.clusterSelector) > 0)"
	JobShutsDown   = "self.?shutdownAfterJobFinishes.orValue(false)"
	JobSuspended   = "self.?suspend.orValue(false)"
	JobAutoscales  = "self.?rayClusterSpec.?enableInTreeAutoscaling.orValue(false)"
	JobInSidecar   = "(self.?submissionMode.orValue('') == 'SidecarMode')"
	JobInteractive = "(self.?submissionMode.orValue('') == 'InteractiveMode')"
	JobRules       = "(has(self.deletionStrategy) && has(self.deletionStrategy.deletionRules) && size(self.deletionStrategy.deletionRules) > 0)"

	RulesField   = ".deletionStrategy.deletionRules"
	SomeoneElses = "cannot go with clusterSelector, whose cluster belongs to someone else"
	HeadOfJob    = "self.rayClusterSpec.headGroupSpec.template"
	TokenAlone   = "is possible for a RayCluster alone; use authOptions.mode token with a secret"
	OwnerDecides = ", which decides about upgrades; remove it"
	NoRayCluster = "!has(self.rayClusterSpec) || !has(self.rayClusterSpec.headGroupSpec.template.spec)"
	RayFrom26    = `^v?(2\\.([6-9]|[1-9][0-9]+)|([3-9]|[1-9][0-9]+)(\\.[0-9]+)?)([^0-9].*)?$`
)

// PolicyIs is true if one side of the old form of the deletion strategy has one of the policies.
func PolicyIs(side, policies string) string {
	policy := "self.deletionStrategy." + side + ".policy"
	return "(" + Present("self", "deletionStrategy."+side+".policy") + " && " + policy + " in " + policies + ")"
}

// AtLeast is the lower bound of a number.
func AtLeast(field, least, says string) rule.CEL {
	return rule.CEL{Field: "." + field, Unchanged: []string{field},
		Valid: "!has(self." + field + ") || self." + field + " >= " + least,
		Says:  says}
}

// OfSubmitter is a rule on a field of the submitter Job, which exists in K8sJobMode only.
func OfSubmitter(field string, reason rule.Reason, valid, says string) rule.CEL {
	part, _, _ := strings.Cut(field[1:], ".")
	return rule.CEL{Field: field, Reason: reason,
		When:  "has(self." + part + ")",
		Valid: "(has(self.submissionMode) && self.submissionMode != 'K8sJobMode') || " + valid,
		Says:  says}
}

// SubmitterRuns is true of a template of the submitter with a container.
var SubmitterRuns = "has(self.submitterPodTemplate.spec) && has(self.submitterPodTemplate.spec.containers) && size(self.submitterPodTemplate.spec.containers) > 0"

// SidePolicy requires a policy in one side of the old form of the deletion strategy.
func SidePolicy(side string) rule.CEL {
	return rule.CEL{Node: "deletionStrategy." + side, Field: ".policy", Reason: rule.Required,
		Valid: "has(self.policy)",
		Says:  "say what to delete: DeleteCluster, DeleteWorkers, DeleteSelf or DeleteNone"}
}

// SideSelects refuses to delete a cluster that the job does not own.
func SideSelects(side string) rule.CEL {
	return rule.CEL{Field: ".deletionStrategy." + side + ".policy",
		When:  JobSelects,
		Valid: "!" + PolicyIs(side, "['DeleteCluster', 'DeleteWorkers']"),
		Says:  SomeoneElses + "; use DeleteSelf or DeleteNone"}
}

// only is true of a deletion rule whose condition has only one of the two states.
func only(rule, state, other string) string {
	return "has(" + rule + ".condition." + state + ") && !has(" + rule + ".condition." + other + ")"
}

// OnceForEach refuses two deletion rules for one policy and state.
func OnceForEach(state, other string) rule.CEL {
	return rule.CEL{Node: "deletionStrategy.deletionRules", Ratchet: rule.ByServer,
		Valid: "self.all(a, !(" + only("a", state, other) + ") || self.exists_one(b, " + only("b", state, other) +
			" && a.policy == b.policy && a.condition." + state + " == b.condition." + state + "))",
		Says: "give each policy once for each state; keep one of the rules"}
}

// InOrder requires that nothing is deleted after the object that contains it.
func InOrder(state, other string) rule.CEL {
	return rule.CEL{Node: "deletionStrategy.deletionRules", OwnWords: true, Ratchet: rule.ByServer,
		Valid: "self.all(a, !(" + only("a", state, other) + ") || self.all(b, !(" + only("b", state, other) + ") || a.condition." + state + " != b.condition." + state +
			" || !((a.policy == 'DeleteWorkers' && b.policy in ['DeleteCluster', 'DeleteSelf']) || (a.policy == 'DeleteCluster' && b.policy == 'DeleteSelf'))" +
			" || a.condition.ttlSeconds <= b.condition.ttlSeconds))",
		Says: "for each state, ttlSeconds of DeleteSelf must be at least that of DeleteCluster, and that at least that of DeleteWorkers"}
}

// SpecIsThere also keeps rules on fields of the spec from being passed by by taking away all of it.
var SpecIsThere = []rule.CEL{{Field: ".spec", Reason: rule.Required, Valid: "has(self.spec)"}}

// HeadOfService is the template of the head, seen from the spec of a RayService.
const HeadOfService = "self.rayClusterConfig.headGroupSpec.template"

const inSteps = "NewClusterWithIncrementalUpgrade"

// OfServeService is a rule on a field of the Service that users call, which an upgrade in steps does not make.
func OfServeService(field, valid, says string) rule.CEL {
	return rule.CEL{Part: rule.RayService, Node: "spec", Field: ".serveService" + field, Unchanged: []string{"serveService" + field, "upgradeStrategy.type"},
		Valid: "!(" + Present("self", "serveService"+field) + ") || (" + Present("self", "upgradeStrategy.type") + " && self.upgradeStrategy.type == '" + inSteps + "') || " + valid,
		Says:  says}
}
