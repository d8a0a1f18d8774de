package validation

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// validateDeletion checks what is deleted after the job ended, and when.
func validateDeletion(j *job, path *field.Path) field.ErrorList {
	errs := validateTTL(j, path.Child("ttlSecondsAfterFinished"))
	s := j.spec.DeletionStrategy
	if s == nil {
		return errs
	}
	path = path.Child("deletionStrategy")
	if !j.options.enabled(GateDeletionPolicy) {
		errs = append(errs, forbidden("RJ-025", path, GateDeletionPolicy.missing()))
	}
	rulesPath := path.Child("deletionRules")
	errs = append(errs, validateDeletionForm(s, path)...)
	errs = append(errs, validateLegacyDeletion(j, s, path)...)
	if len(s.DeletionRules) > 0 && j.spec.ShutdownAfterJobFinishes {
		errs = append(errs, forbidden("RJ-026", rulesPath, "cannot go with shutdownAfterJobFinishes; keep the rules"))
	}
	return append(errs, validateDeletionRules(j, s.DeletionRules, rulesPath)...)
}

func validateTTL(j *job, path *field.Path) field.ErrorList {
	switch ttl := j.spec.TTLSecondsAfterFinished; {
	case ttl < 0:
		return field.ErrorList{invalid("RJ-023", path, ttl, "must be at least 0")}
	case ttl > 0 && !j.spec.ShutdownAfterJobFinishes:
		return field.ErrorList{invalid("RJ-024", path, ttl, "needs shutdownAfterJobFinishes: true")}
	}
	return nil
}

// validateDeletionForm lets the strategy be given by rules or by the older pair, and by one of them.
func validateDeletionForm(s *rayv1.DeletionStrategy, path *field.Path) field.ErrorList {
	legacy := s.OnSuccess != nil || s.OnFailure != nil
	switch {
	case s.DeletionRules != nil && len(s.DeletionRules) == 0:
		return field.ErrorList{required("RJ-001", path.Child("deletionRules"), "give at least one rule, or remove the list")}
	case len(s.DeletionRules) > 0 && legacy:
		return field.ErrorList{forbidden("RJ-011", path, "onSuccess and onFailure cannot go with deletionRules; keep the rules")}
	case len(s.DeletionRules) == 0 && (s.OnSuccess == nil || s.OnFailure == nil):
		return field.ErrorList{required("RJ-012", path, "give deletionRules, or both onSuccess and onFailure")}
	}
	return nil
}

var deletionPolicies = []rayv1.DeletionPolicyType{rayv1.DeleteCluster, rayv1.DeleteWorkers, rayv1.DeleteSelf, rayv1.DeleteNone}

// touchesCluster reports whether the policy deletes a cluster or a part of it.
func touchesCluster(p rayv1.DeletionPolicyType) bool {
	return p == rayv1.DeleteCluster || p == rayv1.DeleteWorkers
}

func validateLegacyDeletion(j *job, s *rayv1.DeletionStrategy, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	workers, none := false, false
	for _, side := range []struct {
		name              string
		policy            *rayv1.DeletionPolicy
		missing, selected string
	}{
		{"onSuccess", s.OnSuccess, "RJ-029", "RJ-031"},
		{"onFailure", s.OnFailure, "RJ-030", "RJ-032"},
	} {
		if side.policy == nil {
			continue
		}
		policyPath := path.Child(side.name, "policy")
		if side.policy.Policy == nil {
			errs = append(errs, required(side.missing, policyPath, "say what to delete: DeleteCluster, DeleteWorkers, DeleteSelf or DeleteNone"))
			continue
		}
		policy := *side.policy.Policy
		errs = append(errs, notIn("RJ-003", policyPath, policy, deletionPolicies...)...)
		if j.selects && touchesCluster(policy) {
			errs = append(errs, invalid(side.selected, policyPath, string(policy), "cannot go with clusterSelector, whose cluster belongs to someone else; use DeleteSelf or DeleteNone"))
		}
		workers = workers || policy == rayv1.DeleteWorkers
		none = none || policy == rayv1.DeleteNone
	}
	if workers && j.autoscaling() {
		errs = append(errs, forbidden("RJ-033", path, "DeleteWorkers cannot go with enableInTreeAutoscaling, since the autoscaler would make them anew; use DeleteCluster"))
	}
	if none && j.spec.ShutdownAfterJobFinishes {
		errs = append(errs, forbidden("RJ-034", path, "DeleteNone contradicts shutdownAfterJobFinishes: true; remove one of the two"))
	}
	return errs
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
func (w deletionWhen) rule(jobStatus, deploymentStatus string) string {
	if w.field == "jobStatus" {
		return jobStatus
	}
	return deploymentStatus
}

func validateDeletionRules(j *job, list []rayv1.DeletionRule, path *field.Path) field.ErrorList {
	type key struct {
		when   deletionWhen
		policy rayv1.DeletionPolicyType
	}
	var errs field.ErrorList
	seen := map[key]bool{}
	for i := range list {
		r, p := &list[i], path.Index(i)
		errs = append(errs, validateDeletionRule(j, r, p)...)
		when, single := whenOf(&r.Condition)
		if !single {
			continue
		}
		k := key{when, r.Policy}
		if seen[k] {
			errs = append(errs, duplicate(when.rule("RJ-041", "RJ-042"), p, fmt.Sprintf("%s for %s", r.Policy, when.value), "give each policy once for each state; keep one of the rules"))
		}
		seen[k] = true
	}
	return append(errs, validateDeletionOrder(list, path)...)
}

func validateDeletionRule(j *job, r *rayv1.DeletionRule, path *field.Path) field.ErrorList {
	policyPath, conditionPath := path.Child("policy"), path.Child("condition")
	var errs field.ErrorList
	if r.Policy == "" {
		errs = append(errs, required("RJ-002", policyPath, "say what to delete: DeleteCluster, DeleteWorkers, DeleteSelf or DeleteNone"))
	} else {
		errs = append(errs, notIn("RJ-003", policyPath, r.Policy, deletionPolicies...)...)
	}
	c := &r.Condition
	switch {
	case c.JobStatus != nil && c.JobDeploymentStatus != nil:
		errs = append(errs, forbidden("RJ-013", conditionPath, "jobStatus and jobDeploymentStatus exclude each other; make two rules"))
	case c.JobStatus == nil && c.JobDeploymentStatus == nil:
		errs = append(errs, required("RJ-014", conditionPath, "give jobStatus or jobDeploymentStatus"))
	}
	if c.JobStatus != nil {
		errs = append(errs, notIn("RJ-004", conditionPath.Child("jobStatus"), *c.JobStatus, rayv1.JobStatusSucceeded, rayv1.JobStatusFailed)...)
	}
	if c.JobDeploymentStatus != nil {
		errs = append(errs, notIn("RJ-005", conditionPath.Child("jobDeploymentStatus"), *c.JobDeploymentStatus, rayv1.JobDeploymentStatusFailed)...)
	}
	if c.TTLSeconds < 0 {
		errs = append(errs, invalid("RJ-006", conditionPath.Child("ttlSeconds"), c.TTLSeconds, "must be at least 0"))
	}
	if j.selects && touchesCluster(r.Policy) {
		errs = append(errs, invalid("RJ-039", policyPath, string(r.Policy), "cannot go with clusterSelector, whose cluster belongs to someone else; use DeleteSelf or DeleteNone"))
	}
	if r.Policy == rayv1.DeleteWorkers && j.autoscaling() {
		errs = append(errs, invalid("RJ-040", policyPath, string(r.Policy), "cannot go with enableInTreeAutoscaling, since the autoscaler would make the workers anew; use DeleteCluster"))
	}
	return errs
}

// deletionOrder is from what deletes least to what deletes most.
var deletionOrder = []rayv1.DeletionPolicyType{rayv1.DeleteWorkers, rayv1.DeleteCluster, rayv1.DeleteSelf}

// validateDeletionOrder refuses a rule whose objects are gone before it is due.
func validateDeletionOrder(list []rayv1.DeletionRule, path *field.Path) field.ErrorList {
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
	var errs field.ErrorList
	for _, when := range order {
		var before rayv1.DeletionPolicyType
		for _, policy := range deletionOrder {
			at, given := ttl[when][policy]
			if !given {
				continue
			}
			if before != "" && ttl[when][before] > at {
				errs = append(errs, invalid(when.rule("RJ-043", "RJ-044"), path, fmt.Sprintf("%s after %ds, %s after %ds", policy, at, before, ttl[when][before]),
					fmt.Sprintf("for %s, ttlSeconds of %s must be at least that of %s", when.value, policy, before)))
			}
			before = policy
		}
	}
	return errs
}

func warnDeletion(j *job, path *field.Path) field.ErrorList {
	var warnings field.ErrorList
	if j.selects && j.spec.ShutdownAfterJobFinishes {
		warnings = append(warnings, invalid("RJ-507", path.Child("shutdownAfterJobFinishes"), true, "deletes nothing with clusterSelector; remove it"))
	}
	s := j.spec.DeletionStrategy
	if s == nil {
		return warnings
	}
	path = path.Child("deletionStrategy")
	rulesPath := path.Child("deletionRules")
	for _, side := range []struct {
		name   string
		policy *rayv1.DeletionPolicy
	}{{"onSuccess", s.OnSuccess}, {"onFailure", s.OnFailure}} {
		if side.policy == nil {
			continue
		}
		warnings = append(warnings, forbidden("RJ-522", path.Child(side.name), "is deprecated; use deletionRules"))
		if p := side.policy.Policy; j.selects && p != nil && *p == rayv1.DeleteSelf {
			warnings = append(warnings, invalid("RJ-507", path.Child(side.name, "policy"), string(*p), "deletes nothing with clusterSelector; remove it"))
		}
	}
	for i := range s.DeletionRules {
		if p := s.DeletionRules[i].Policy; j.selects && p == rayv1.DeleteSelf {
			warnings = append(warnings, invalid("RJ-507", rulesPath.Index(i).Child("policy"), string(p), "deletes nothing with clusterSelector; remove it"))
		}
	}
	if len(s.DeletionRules) == 0 {
		return warnings
	}
	warnings = append(warnings, warnUncovered(s.DeletionRules, rulesPath)...)
	return append(warnings, warnMootRules(s.DeletionRules, rulesPath)...)
}

// warnUncovered tells of an end of the job after which the cluster stays.
func warnUncovered(list []rayv1.DeletionRule, path *field.Path) field.ErrorList {
	covered := map[string]bool{}
	for i := range list {
		if when, single := whenOf(&list[i].Condition); single {
			covered[strings.ToUpper(when.value)] = true
		}
	}
	var warnings field.ErrorList
	if !covered["FAILED"] {
		warnings = append(warnings, required("RJ-521", path, "no rule is for a failed job, whose cluster is kept; add one for jobDeploymentStatus Failed"))
	}
	if !covered["SUCCEEDED"] {
		warnings = append(warnings, required("RJ-521", path, "no rule is for a job that succeeded, whose cluster is kept; add one for jobStatus SUCCEEDED"))
	}
	return warnings
}

func warnMootRules(list []rayv1.DeletionRule, path *field.Path) field.ErrorList {
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
	var warnings field.ErrorList
	if onlyNone {
		warnings = append(warnings, forbidden("RJ-523", path, "all rules are DeleteNone, which is the same as no deletionStrategy; remove it"))
	}
	for i := range list {
		when, single := whenOf(&list[i].Condition)
		if single && list[i].Policy == rayv1.DeleteCluster && self[due{when, list[i].Condition.TTLSeconds}] {
			warnings = append(warnings, forbidden("RJ-523", path.Index(i), "DeleteSelf is due at the same time and deletes the cluster too; remove this rule"))
		}
	}
	return warnings
}
