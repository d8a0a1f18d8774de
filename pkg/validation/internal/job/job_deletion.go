package job

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/pkg/validation/cel"
	"github.com/raygate/raygate/pkg/validation/rule"
)

var rj025 = rule.New(rule.Rule{ID: "RJ-025", Field: "deletionStrategy", Condition: "set and gate RayJobDeletionPolicy off", Peer: rule.BySpec, Depends: "gate RayJobDeletionPolicy"})
var rj026 = rule.New(rule.Rule{ID: "RJ-026", Field: "deletionStrategy.deletionRules", Condition: "given with shutdownAfterJobFinishes", Peer: rule.BySpec, Reads: []string{"shutdownAfterJobFinishes"},
	Remedy: "cannot go with shutdownAfterJobFinishes; keep the rules",
	CEL:    []rule.CEL{{Field: cel.RulesField, Reason: rule.Forbidden, Valid: "!" + cel.JobRules + " || !" + cel.JobShutsDown}}})

// checkDeletion looks at what is deleted after the job ended, and when.
func checkDeletion(out *rule.Report, j *Spec, path *field.Path) {
	checkTTL(out, j, path.Child("ttlSecondsAfterFinished"))
	if j.selects && j.spec.ShutdownAfterJobFinishes {
		out.Invalid(rj507, path.Child("shutdownAfterJobFinishes"), true)
	}
	s := j.spec.DeletionStrategy
	if s == nil {
		return
	}
	path = path.Child("deletionStrategy")
	if !j.options.Enabled(rule.GateDeletionPolicy) {
		out.Forbidden(rj025, path, rule.GateDeletionPolicy.Missing())
	}
	checkDeletionForm(out, s, path)
	checkLegacyDeletion(out, j, s, path)
	if len(s.DeletionRules) == 0 {
		return
	}
	rulesPath := path.Child("deletionRules")
	if j.spec.ShutdownAfterJobFinishes {
		out.Forbidden(rj026, rulesPath)
	}
	checkDeletionRules(out, j, s.DeletionRules, rulesPath)
	checkUncovered(out, s.DeletionRules, rulesPath)
	checkMootRules(out, s.DeletionRules, rulesPath)
}

var rj023 = rule.New(rule.Rule{ID: "RJ-023", Field: "ttlSecondsAfterFinished", Condition: "below 0", Peer: rule.BySpec, Remedy: "must be at least 0",
	CEL: []rule.CEL{cel.AtLeast("ttlSecondsAfterFinished", "0", "must be at least 0")}})
var rj024 = rule.New(rule.Rule{ID: "RJ-024", Field: "ttlSecondsAfterFinished", Condition: "above 0 without shutdownAfterJobFinishes", Peer: rule.BySpec, Reads: []string{"shutdownAfterJobFinishes"},
	Remedy: "needs shutdownAfterJobFinishes: true",
	CEL:    []rule.CEL{{Field: ".ttlSecondsAfterFinished", Valid: "!has(self.ttlSecondsAfterFinished) || self.ttlSecondsAfterFinished <= 0 || " + cel.JobShutsDown}}})

func checkTTL(out *rule.Report, j *Spec, path *field.Path) {
	switch ttl := j.spec.TTLSecondsAfterFinished; {
	case ttl < 0:
		out.Invalid(rj023, path, ttl)
	case ttl > 0 && !j.spec.ShutdownAfterJobFinishes:
		out.Invalid(rj024, path, ttl)
	}
}

var rj001 = rule.New(rule.Rule{ID: "RJ-001", Field: "deletionStrategy.deletionRules", Condition: "present and empty", Peer: rule.BySchema, Remedy: "give at least one rule, or remove the list",
	Marker: rule.InSchema})
var rj011 = rule.New(rule.Rule{ID: "RJ-011", Field: "deletionStrategy", Condition: "onSuccess or onFailure together with deletionRules", Peer: rule.BySchemaAndSpec, Same: []string{"RJ-027"},
	Remedy: "onSuccess and onFailure cannot go with deletionRules; keep the rules",
	Marker: rule.InCEL})
var rj012 = rule.New(rule.Rule{ID: "RJ-012", Field: "deletionStrategy", Condition: "neither deletionRules nor both onSuccess and onFailure", Peer: rule.BySchemaAndSpec, Same: []string{"RJ-028", "RJ-035"},
	Remedy: "give deletionRules, or both onSuccess and onFailure",
	Marker: rule.InCEL})

// checkDeletionForm lets the strategy be given by rules or by the older pair, and by one of them.
func checkDeletionForm(out *rule.Report, s *rayv1.DeletionStrategy, path *field.Path) {
	legacy := s.OnSuccess != nil || s.OnFailure != nil
	switch {
	case s.DeletionRules != nil && len(s.DeletionRules) == 0:
		out.Required(rj001, path.Child("deletionRules"))
	case len(s.DeletionRules) > 0 && legacy:
		out.Forbidden(rj011, path)
	case len(s.DeletionRules) == 0 && (s.OnSuccess == nil || s.OnFailure == nil):
		out.Required(rj012, path)
	}
}

var deletionPolicies = []rayv1.DeletionPolicyType{rayv1.DeleteCluster, rayv1.DeleteWorkers, rayv1.DeleteSelf, rayv1.DeleteNone}

// touchesCluster reports whether the policy deletes a cluster or a part of it.
func touchesCluster(p rayv1.DeletionPolicyType) bool {
	return p == rayv1.DeleteCluster || p == rayv1.DeleteWorkers
}

var rj003 = rule.New(rule.Rule{ID: "RJ-003", Field: "deletionStrategy: deletionRules[i].policy, onSuccess.policy, onFailure.policy", Condition: "not DeleteCluster, DeleteWorkers, DeleteSelf, DeleteNone", Peer: rule.BySchema,
	Marker: rule.InSchema})
var rj029 = rule.New(rule.Rule{ID: "RJ-029", Field: "deletionStrategy.onSuccess.policy", Condition: "absent", Peer: rule.BySpec,
	CEL: []rule.CEL{cel.SidePolicy("onSuccess")}})
var rj030 = rule.New(rule.Rule{ID: "RJ-030", Field: "deletionStrategy.onFailure.policy", Condition: "absent", Peer: rule.BySpec,
	CEL: []rule.CEL{cel.SidePolicy("onFailure")}})
var rj031 = rule.New(rule.Rule{ID: "RJ-031", Field: "deletionStrategy.onSuccess.policy", Condition: "DeleteCluster or DeleteWorkers with clusterSelector", Peer: rule.BySpec, Reads: []string{"clusterSelector"},
	CEL: []rule.CEL{cel.SideSelects("onSuccess")}})
var rj032 = rule.New(rule.Rule{ID: "RJ-032", Field: "deletionStrategy.onFailure.policy", Condition: "DeleteCluster or DeleteWorkers with clusterSelector", Peer: rule.BySpec, Reads: []string{"clusterSelector"},
	CEL: []rule.CEL{cel.SideSelects("onFailure")}})
var rj033 = rule.New(rule.Rule{ID: "RJ-033", Field: "deletionStrategy", Condition: "onSuccess or onFailure is DeleteWorkers with autoscaling", Peer: rule.BySpec, Reads: []string{"rayClusterSpec.enableInTreeAutoscaling"},
	Remedy: "DeleteWorkers cannot go with enableInTreeAutoscaling, since the autoscaler would make them anew; use DeleteCluster",
	CEL:    []rule.CEL{{Field: ".deletionStrategy", Reason: rule.Forbidden, Valid: "!" + cel.JobAutoscales + " || !(" + cel.PolicyIs("onSuccess", "['DeleteWorkers']") + " || " + cel.PolicyIs("onFailure", "['DeleteWorkers']") + ")"}}})
var rj034 = rule.New(rule.Rule{ID: "RJ-034", Field: "deletionStrategy", Condition: "onSuccess or onFailure is DeleteNone with shutdownAfterJobFinishes", Peer: rule.BySpec, Reads: []string{"shutdownAfterJobFinishes"},
	Remedy: "DeleteNone contradicts shutdownAfterJobFinishes: true; remove one of the two",
	CEL:    []rule.CEL{{Field: ".deletionStrategy", Reason: rule.Forbidden, Valid: "!" + cel.JobShutsDown + " || !(" + cel.PolicyIs("onSuccess", "['DeleteNone']") + " || " + cel.PolicyIs("onFailure", "['DeleteNone']") + ")"}}})

func checkLegacyDeletion(out *rule.Report, j *Spec, s *rayv1.DeletionStrategy, path *field.Path) {
	workers, none := false, false
	for _, side := range []struct {
		name              string
		policy            *rayv1.DeletionPolicy
		missing, selected *rule.Rule
	}{
		{"onSuccess", s.OnSuccess, rj029, rj031},
		{"onFailure", s.OnFailure, rj030, rj032},
	} {
		if side.policy == nil {
			continue
		}
		out.Forbidden(rj522, path.Child(side.name))
		policyPath := path.Child(side.name, "policy")
		if side.policy.Policy == nil {
			out.Required(side.missing, policyPath, "say what to delete: DeleteCluster, DeleteWorkers, DeleteSelf or DeleteNone")
			continue
		}
		policy := *side.policy.Policy
		rule.OneOf(out, rj003, policyPath, policy, deletionPolicies...)
		if j.selects && touchesCluster(policy) {
			out.Invalid(side.selected, policyPath, string(policy), "cannot go with clusterSelector, whose cluster belongs to someone else; use DeleteSelf or DeleteNone")
		}
		if j.selects && policy == rayv1.DeleteSelf {
			out.Invalid(rj507, policyPath, string(policy))
		}
		workers = workers || policy == rayv1.DeleteWorkers
		none = none || policy == rayv1.DeleteNone
	}
	if workers && j.autoscaling() {
		out.Forbidden(rj033, path)
	}
	if none && j.spec.ShutdownAfterJobFinishes {
		out.Forbidden(rj034, path)
	}
}

// deletionWhen is the condition of a deletion rule without its time.
type deletionWhen struct{ field, value string }

func whenOf(c *rayv1.DeletionCondition) (deletionWhen, bool) {
	switch {
	case c.JobStatus != nil && c.JobDeploymentStatus == nil:
		return deletionWhen{"jobStatus", string(*c.JobStatus)}, true
	case c.JobStatus == nil && c.JobDeploymentStatus != nil:
		return deletionWhen{"jobDeploymentStatus", string(*c.JobDeploymentStatus)}, true
	}
	return deletionWhen{}, false
}

// rule picks between the two ids of a rule that has one for each kind of state.
func (w deletionWhen) rule(jobStatus, deploymentStatus *rule.Rule) *rule.Rule {
	if w.field == "jobStatus" {
		return jobStatus
	}
	return deploymentStatus
}

var rj041 = rule.New(rule.Rule{ID: "RJ-041", Field: "deletionStrategy.deletionRules[i]", Condition: "second rule with the same policy and jobStatus", Peer: rule.BySpec,
	Remedy: "give each policy once for each state; keep one of the rules",
	CEL:    []rule.CEL{cel.OnceForEach("jobStatus", "jobDeploymentStatus")}})
var rj042 = rule.New(rule.Rule{ID: "RJ-042", Field: "deletionStrategy.deletionRules[i]", Condition: "second rule with the same policy and jobDeploymentStatus", Peer: rule.BySpec,
	Remedy: "give each policy once for each state; keep one of the rules",
	CEL:    []rule.CEL{cel.OnceForEach("jobDeploymentStatus", "jobStatus")}})

func checkDeletionRules(out *rule.Report, j *Spec, list []rayv1.DeletionRule, path *field.Path) {
	type key struct {
		when   deletionWhen
		policy rayv1.DeletionPolicyType
	}
	seen := map[key]bool{}
	for i := range list {
		r, p := &list[i], path.Index(i)
		checkDeletionRule(out, j, r, p)
		when, single := whenOf(&r.Condition)
		if !single {
			continue
		}
		k := key{when, r.Policy}
		if seen[k] {
			out.Duplicate(when.rule(rj041, rj042), p, fmt.Sprintf("%s for %s", r.Policy, when.value))
		}
		seen[k] = true
	}
	checkDeletionOrder(out, list, path)
}

var rj002 = rule.New(rule.Rule{ID: "RJ-002", Field: "deletionStrategy.deletionRules[i].policy, .condition", Condition: "absent", Peer: rule.BySchema,
	Remedy: "say what to delete: DeleteCluster, DeleteWorkers, DeleteSelf or DeleteNone",
	Marker: rule.InSchema})
var rj004 = rule.New(rule.Rule{ID: "RJ-004", Field: "deletionStrategy.deletionRules[i].condition.jobStatus", Condition: "not SUCCEEDED, FAILED", Peer: rule.BySchema,
	Marker: rule.InSchema})
var rj005 = rule.New(rule.Rule{ID: "RJ-005", Field: "deletionStrategy.deletionRules[i].condition.jobDeploymentStatus", Condition: "not Failed", Peer: rule.BySchema,
	Marker: rule.InSchema})
var rj006 = rule.New(rule.Rule{ID: "RJ-006", Field: "deletionStrategy.deletionRules[i].condition.ttlSeconds", Condition: "below 0", Peer: rule.BySchemaAndSpec, Same: []string{"RJ-038"},
	Remedy: "must be at least 0",
	Marker: rule.InSchema})
var rj013 = rule.New(rule.Rule{ID: "RJ-013", Field: "deletionStrategy.deletionRules[i].condition", Condition: "both jobStatus and jobDeploymentStatus", Peer: rule.BySchemaAndSpec, Same: []string{"RJ-036"},
	Remedy: "jobStatus and jobDeploymentStatus exclude each other; make two rules",
	Marker: rule.InCEL})
var rj014 = rule.New(rule.Rule{ID: "RJ-014", Field: "deletionStrategy.deletionRules[i].condition", Condition: "neither jobStatus nor jobDeploymentStatus", Peer: rule.BySchemaAndSpec, Same: []string{"RJ-037"},
	Remedy: "give jobStatus or jobDeploymentStatus",
	Marker: rule.InCEL})
var rj039 = rule.New(rule.Rule{ID: "RJ-039", Field: "deletionStrategy.deletionRules[i].policy", Condition: "DeleteCluster or DeleteWorkers with clusterSelector", Peer: rule.BySpec, Reads: []string{"clusterSelector"},
	Remedy: "cannot go with clusterSelector, whose cluster belongs to someone else; use DeleteSelf or DeleteNone",
	CEL:    []rule.CEL{{Field: cel.RulesField, Valid: "!" + cel.JobSelects + " || !" + cel.JobRules + " || self.deletionStrategy.deletionRules.all(r, !(r.policy in ['DeleteCluster', 'DeleteWorkers']))"}}})
var rj040 = rule.New(rule.Rule{ID: "RJ-040", Field: "deletionStrategy.deletionRules[i].policy", Condition: "DeleteWorkers with autoscaling", Peer: rule.BySpec, Reads: []string{"rayClusterSpec.enableInTreeAutoscaling"},
	Remedy: "cannot go with enableInTreeAutoscaling, since the autoscaler would make the workers anew; use DeleteCluster",
	CEL:    []rule.CEL{{Field: cel.RulesField, Valid: "!" + cel.JobAutoscales + " || !" + cel.JobRules + " || self.deletionStrategy.deletionRules.all(r, r.policy != 'DeleteWorkers')"}}})

func checkDeletionRule(out *rule.Report, j *Spec, r *rayv1.DeletionRule, path *field.Path) {
	policyPath, conditionPath := path.Child("policy"), path.Child("condition")
	if r.Policy == "" {
		out.Required(rj002, policyPath)
	} else {
		rule.OneOf(out, rj003, policyPath, r.Policy, deletionPolicies...)
	}
	c := &r.Condition
	switch {
	case c.JobStatus != nil && c.JobDeploymentStatus != nil:
		out.Forbidden(rj013, conditionPath)
	case c.JobStatus == nil && c.JobDeploymentStatus == nil:
		out.Required(rj014, conditionPath)
	}
	rule.OneOfGiven(out, rj004, conditionPath.Child("jobStatus"), c.JobStatus, rayv1.JobStatusSucceeded, rayv1.JobStatusFailed)
	rule.OneOfGiven(out, rj005, conditionPath.Child("jobDeploymentStatus"), c.JobDeploymentStatus, rayv1.JobDeploymentStatusFailed)
	if c.TTLSeconds < 0 {
		out.Invalid(rj006, conditionPath.Child("ttlSeconds"), c.TTLSeconds)
	}
	if j.selects && touchesCluster(r.Policy) {
		out.Invalid(rj039, policyPath, string(r.Policy))
	}
	if j.selects && r.Policy == rayv1.DeleteSelf {
		out.Invalid(rj507, policyPath, string(r.Policy))
	}
	if r.Policy == rayv1.DeleteWorkers && j.autoscaling() {
		out.Invalid(rj040, policyPath, string(r.Policy))
	}
}

// deletionOrder is from what deletes least to what deletes most.
var deletionOrder = []rayv1.DeletionPolicyType{rayv1.DeleteWorkers, rayv1.DeleteCluster, rayv1.DeleteSelf}

var rj043 = rule.New(rule.Rule{ID: "RJ-043", Field: "deletionStrategy.deletionRules", Condition: "for one jobStatus, ttlSeconds not in the order DeleteWorkers, DeleteCluster, DeleteSelf", Peer: rule.BySpec,
	CEL: []rule.CEL{cel.InOrder("jobStatus", "jobDeploymentStatus")}})
var rj044 = rule.New(rule.Rule{ID: "RJ-044", Field: "deletionStrategy.deletionRules", Condition: "for one jobDeploymentStatus, ttlSeconds not in the order DeleteWorkers, DeleteCluster, DeleteSelf", Peer: rule.BySpec,
	CEL: []rule.CEL{cel.InOrder("jobDeploymentStatus", "jobStatus")}})

// checkDeletionOrder refuses a rule whose objects are gone before it is due.
func checkDeletionOrder(out *rule.Report, list []rayv1.DeletionRule, path *field.Path) {
	ttl := map[deletionWhen]map[rayv1.DeletionPolicyType]int32{}
	var order []deletionWhen
	for i := range list {
		when, single := whenOf(&list[i].Condition)
		if !single {
			continue
		}
		if ttl[when] == nil {
			ttl[when] = map[rayv1.DeletionPolicyType]int32{}
			order = append(order, when)
		}
		if _, given := ttl[when][list[i].Policy]; !given {
			ttl[when][list[i].Policy] = list[i].Condition.TTLSeconds
		}
	}
	for _, when := range order {
		var before rayv1.DeletionPolicyType
		for _, policy := range deletionOrder {
			at, given := ttl[when][policy]
			if !given {
				continue
			}
			if before != "" && ttl[when][before] > at {
				out.Invalid(when.rule(rj043, rj044), path, fmt.Sprintf("%s after %ds, %s after %ds", policy, at, before, ttl[when][before]), fmt.Sprintf("for %s, ttlSeconds of %s must be at least that of %s", when.value, policy, before))
			}
			before = policy
		}
	}
}

var rj507 = rule.New(rule.Rule{ID: "RJ-507", Field: "shutdownAfterJobFinishes, deletionStrategy", Condition: "true, or DeleteSelf, with clusterSelector",
	Remedy: "deletes nothing with clusterSelector; remove it"})
var rj522 = rule.New(rule.Rule{ID: "RJ-522", Field: "deletionStrategy.onSuccess, .onFailure", Condition: "set", Remedy: "is deprecated; use deletionRules"})
var rj521 = rule.New(rule.Rule{ID: "RJ-521", Field: "deletionStrategy.deletionRules", Condition: "none for a failed job, or none for one that succeeded"})

// checkUncovered tells of an end of the job after which the cluster stays.
func checkUncovered(out *rule.Report, list []rayv1.DeletionRule, path *field.Path) {
	covered := map[string]bool{}
	for i := range list {
		if when, single := whenOf(&list[i].Condition); single {
			covered[strings.ToUpper(when.value)] = true
		}
	}
	if !covered["FAILED"] {
		out.Required(rj521, path, "no rule is for a failed job, whose cluster is kept; add one for jobDeploymentStatus Failed")
	}
	if !covered["SUCCEEDED"] {
		out.Required(rj521, path, "no rule is for a job that succeeded, whose cluster is kept; add one for jobStatus SUCCEEDED")
	}
}

var rj523 = rule.New(rule.Rule{ID: "RJ-523", Field: "deletionStrategy.deletionRules", Condition: "only DeleteNone, or DeleteCluster at the time of DeleteSelf"})

func checkMootRules(out *rule.Report, list []rayv1.DeletionRule, path *field.Path) {
	type due struct {
		when deletionWhen
		ttl  int32
	}
	onlyNone := true
	self := map[due]bool{}
	for i := range list {
		onlyNone = onlyNone && list[i].Policy == rayv1.DeleteNone
		if when, single := whenOf(&list[i].Condition); single && list[i].Policy == rayv1.DeleteSelf {
			self[due{when, list[i].Condition.TTLSeconds}] = true
		}
	}
	if onlyNone {
		out.Forbidden(rj523, path, "all rules are DeleteNone, which is the same as no deletionStrategy; remove it")
	}
	for i := range list {
		when, single := whenOf(&list[i].Condition)
		if single && list[i].Policy == rayv1.DeleteCluster && self[due{when, list[i].Condition.TTLSeconds}] {
			out.Forbidden(rj523, path.Index(i), "DeleteSelf is due at the same time and deletes the cluster too; remove this rule")
		}
	}
}
