package job

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/pkg/validation/cel"
	"github.com/raygate/raygate/pkg/validation/rule"
)

var rj025 = rule.New(rule.Rule{ID: "RJ-025", Field: "deletionStrategy", Condition: "set and gate RayJobDeletionPolicy off", Peer: rule.BySpec, Depends: "gate RayJobDeletionPolicy"})
var rj026 = rule.New(rule.Rule{ID: "RJ-026", Field: "deletionStrategy.deletionRules", Condition: "given with shutdownAfterJobFinishes", Peer: rule.BySpec, Reads: []string{"shutdownAfterJobFinishes"},
	Remedy: "cannot go with shutdownAfterJobFinishes; keep the rules",
	CEL:    []rule.CEL{{Field: cel.RulesField, Reason: rule.Forbidden, When: cel.JobRules, Valid: "!" + cel.JobShutsDown}}})

// checkDeletion checks what is deleted after the end of the job, and when.
func checkDeletion(out *rule.Report, j *Spec, path *field.Path) {
	ttl, ttlPath := j.spec.TTLSecondsAfterFinished, path.Child("ttlSecondsAfterFinished")
	out.When(ttl < 0).Invalid(rj023, ttlPath, ttl)
	out.When(ttl > 0 && !j.spec.ShutdownAfterJobFinishes).Invalid(rj024, ttlPath, ttl)
	out.When(j.selects && j.spec.ShutdownAfterJobFinishes).Invalid(rj507, path.Child("shutdownAfterJobFinishes"), true)
	s := j.spec.DeletionStrategy
	if s == nil {
		return
	}
	path = path.Child("deletionStrategy")
	out.When(!j.options.Enabled(rule.GateDeletionPolicy)).Forbidden(rj025, path, rule.GateDeletionPolicy.Missing())
	checkDeletionForm(out, s, path)
	checkLegacyDeletion(out, j, s, path)
	if len(s.DeletionRules) == 0 {
		return
	}
	rulesPath := path.Child("deletionRules")
	out.When(j.spec.ShutdownAfterJobFinishes).Forbidden(rj026, rulesPath)
	for i := range s.DeletionRules {
		checkDeletionRule(out, j, &s.DeletionRules[i], rulesPath.Index(i))
	}
	dues := duesOf(s.DeletionRules)
	checkDeletionOrder(out, dues, rulesPath)
	checkUncovered(out, dues, rulesPath)
	checkMootRules(out, s.DeletionRules, dues, rulesPath)
}

var rj023 = rule.New(rule.Rule{ID: "RJ-023", Field: "ttlSecondsAfterFinished", Condition: "below 0", Peer: rule.BySpec, Remedy: "must be at least 0",
	CEL: []rule.CEL{cel.AtLeast("ttlSecondsAfterFinished", "0", "must be at least 0")}})
var rj024 = rule.New(rule.Rule{ID: "RJ-024", Field: "ttlSecondsAfterFinished", Condition: "above 0 without shutdownAfterJobFinishes", Peer: rule.BySpec, Reads: []string{"shutdownAfterJobFinishes"},
	Remedy: "needs shutdownAfterJobFinishes: true",
	CEL:    []rule.CEL{{Field: ".ttlSecondsAfterFinished", Valid: "!has(self.ttlSecondsAfterFinished) || self.ttlSecondsAfterFinished <= 0 || " + cel.JobShutsDown}}})

var rj001 = rule.New(rule.Rule{ID: "RJ-001", Field: "deletionStrategy.deletionRules", Condition: "present and empty", Peer: rule.BySchema, Remedy: "give at least one rule, or remove the list",
	Marker: rule.InSchema})
var rj011 = rule.New(rule.Rule{ID: "RJ-011", Field: "deletionStrategy", Condition: "onSuccess or onFailure together with deletionRules", Peer: rule.BySchemaAndSpec, Same: []string{"RJ-027"},
	Remedy: "onSuccess and onFailure cannot go with deletionRules; keep the rules",
	Marker: rule.InCEL})
var rj012 = rule.New(rule.Rule{ID: "RJ-012", Field: "deletionStrategy", Condition: "neither deletionRules nor both onSuccess and onFailure", Peer: rule.BySchemaAndSpec, Same: []string{"RJ-028", "RJ-035"},
	Remedy: "give deletionRules, or both onSuccess and onFailure",
	Marker: rule.InCEL})

// checkDeletionForm requires either rules or the older pair of fields, not both.
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

// touchesCluster reports whether the policy deletes a cluster or a part of it.
func touchesCluster(p rayv1.DeletionPolicyType) bool {
	return p == rayv1.DeleteCluster || p == rayv1.DeleteWorkers
}

var rj003 = rule.NewEnum(rule.Rule{ID: "RJ-003", Field: "deletionStrategy: deletionRules[i].policy, onSuccess.policy, onFailure.policy", Peer: rule.BySchema, Marker: rule.InSchema}, rayv1.DeleteCluster, rayv1.DeleteWorkers, rayv1.DeleteSelf, rayv1.DeleteNone)
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
	CEL:    []rule.CEL{{Field: ".deletionStrategy", Reason: rule.Forbidden, When: cel.JobAutoscales, Valid: "!(" + cel.PolicyIs("onSuccess", "['DeleteWorkers']") + " || " + cel.PolicyIs("onFailure", "['DeleteWorkers']") + ")"}}})
var rj034 = rule.New(rule.Rule{ID: "RJ-034", Field: "deletionStrategy", Condition: "onSuccess or onFailure is DeleteNone with shutdownAfterJobFinishes", Peer: rule.BySpec, Reads: []string{"shutdownAfterJobFinishes"},
	Remedy: "DeleteNone contradicts shutdownAfterJobFinishes: true; remove one of the two",
	CEL:    []rule.CEL{{Field: ".deletionStrategy", Reason: rule.Forbidden, When: cel.JobShutsDown, Valid: "!(" + cel.PolicyIs("onSuccess", "['DeleteNone']") + " || " + cel.PolicyIs("onFailure", "['DeleteNone']") + ")"}}})

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
		rj003.Check(out, policyPath, policy)
		out.When(j.selects && touchesCluster(policy)).Invalid(side.selected, policyPath, string(policy), "cannot go with clusterSelector, whose cluster belongs to someone else; use DeleteSelf or DeleteNone")
		out.When(j.selects && policy == rayv1.DeleteSelf).Invalid(rj507, policyPath, string(policy))
		workers = workers || policy == rayv1.DeleteWorkers
		none = none || policy == rayv1.DeleteNone
	}
	out.When(workers && j.autoscaling()).Forbidden(rj033, path)
	out.When(none && j.spec.ShutdownAfterJobFinishes).Forbidden(rj034, path)
}

// deletionWhen is the condition of a deletion rule without its time, and its policy.
type deletionWhen struct {
	field, value string
	policy       rayv1.DeletionPolicyType
}

// of is the same condition for another policy.
func (w deletionWhen) of(p rayv1.DeletionPolicyType) deletionWhen {
	w.policy = p
	return w
}

// rule picks between the two ids of a rule that has one for each kind of state.
func (w deletionWhen) rule(jobStatus, deploymentStatus *rule.Rule) *rule.Rule {
	if w.field == "jobStatus" {
		return jobStatus
	}
	return deploymentStatus
}

// due is a deletion rule with one state, as it should be, at its place in the list.
type due struct {
	deletionWhen
	ttl   int32
	index int
}

func duesOf(list []rayv1.DeletionRule) []due {
	var dues []due
	for i := range list {
		switch c := &list[i].Condition; {
		case c.JobStatus != nil && c.JobDeploymentStatus == nil:
			dues = append(dues, due{deletionWhen{"jobStatus", string(*c.JobStatus), list[i].Policy}, c.TTLSeconds, i})
		case c.JobStatus == nil && c.JobDeploymentStatus != nil:
			dues = append(dues, due{deletionWhen{"jobDeploymentStatus", string(*c.JobDeploymentStatus), list[i].Policy}, c.TTLSeconds, i})
		}
	}
	return dues
}

var rj041 = rule.New(rule.Rule{ID: "RJ-041", Field: "deletionStrategy.deletionRules[i]", Condition: "second rule with the same policy and jobStatus", Peer: rule.BySpec,
	Remedy: "give each policy once for each state; keep one of the rules",
	CEL:    []rule.CEL{cel.OnceForEach("jobStatus", "jobDeploymentStatus")}})
var rj042 = rule.New(rule.Rule{ID: "RJ-042", Field: "deletionStrategy.deletionRules[i]", Condition: "second rule with the same policy and jobDeploymentStatus", Peer: rule.BySpec,
	Remedy: "give each policy once for each state; keep one of the rules",
	CEL:    []rule.CEL{cel.OnceForEach("jobDeploymentStatus", "jobStatus")}})

var rj002 = rule.New(rule.Rule{ID: "RJ-002", Field: "deletionStrategy.deletionRules[i].policy, .condition", Condition: "absent", Peer: rule.BySchema,
	Remedy: "say what to delete: DeleteCluster, DeleteWorkers, DeleteSelf or DeleteNone",
	Marker: rule.InSchema})
var rj004 = rule.NewEnum(rule.Rule{ID: "RJ-004", Field: "deletionStrategy.deletionRules[i].condition.jobStatus", Peer: rule.BySchema, Marker: rule.InSchema}, rayv1.JobStatusSucceeded, rayv1.JobStatusFailed)
var rj005 = rule.NewEnum(rule.Rule{ID: "RJ-005", Field: "deletionStrategy.deletionRules[i].condition.jobDeploymentStatus", Peer: rule.BySchema, Marker: rule.InSchema}, rayv1.JobDeploymentStatusFailed)
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
	CEL:    []rule.CEL{{Field: cel.RulesField, When: cel.JobSelects, Valid: "!" + cel.JobRules + " || self.deletionStrategy.deletionRules.all(r, !(r.policy in ['DeleteCluster', 'DeleteWorkers']))"}}})
var rj040 = rule.New(rule.Rule{ID: "RJ-040", Field: "deletionStrategy.deletionRules[i].policy", Condition: "DeleteWorkers with autoscaling", Peer: rule.BySpec, Reads: []string{"rayClusterSpec.enableInTreeAutoscaling"},
	Remedy: "cannot go with enableInTreeAutoscaling, since the autoscaler would make the workers anew; use DeleteCluster",
	CEL:    []rule.CEL{{Field: cel.RulesField, When: cel.JobAutoscales, Valid: "!" + cel.JobRules + " || self.deletionStrategy.deletionRules.all(r, r.policy != 'DeleteWorkers')"}}})

func checkDeletionRule(out *rule.Report, j *Spec, r *rayv1.DeletionRule, path *field.Path) {
	policyPath, conditionPath := path.Child("policy"), path.Child("condition")
	if r.Policy == "" {
		out.Required(rj002, policyPath)
	} else {
		rj003.Check(out, policyPath, r.Policy)
	}
	c := &r.Condition
	switch {
	case c.JobStatus != nil && c.JobDeploymentStatus != nil:
		out.Forbidden(rj013, conditionPath)
	case c.JobStatus == nil && c.JobDeploymentStatus == nil:
		out.Required(rj014, conditionPath)
	}
	rj004.CheckGiven(out, conditionPath.Child("jobStatus"), c.JobStatus)
	rj005.CheckGiven(out, conditionPath.Child("jobDeploymentStatus"), c.JobDeploymentStatus)
	out.When(c.TTLSeconds < 0).Invalid(rj006, conditionPath.Child("ttlSeconds"), c.TTLSeconds)
	out.When(j.selects && touchesCluster(r.Policy)).Invalid(rj039, policyPath, string(r.Policy))
	out.When(j.selects && r.Policy == rayv1.DeleteSelf).Invalid(rj507, policyPath, string(r.Policy))
	out.When(r.Policy == rayv1.DeleteWorkers && j.autoscaling()).Invalid(rj040, policyPath, string(r.Policy))
}

// deletionOrder orders the policies by how much they delete, the least first.
var deletionOrder = []rayv1.DeletionPolicyType{rayv1.DeleteWorkers, rayv1.DeleteCluster, rayv1.DeleteSelf}

var rj043 = rule.New(rule.Rule{ID: "RJ-043", Field: "deletionStrategy.deletionRules", Condition: "for one jobStatus, ttlSeconds not in the order DeleteWorkers, DeleteCluster, DeleteSelf", Peer: rule.BySpec,
	CEL: []rule.CEL{cel.InOrder("jobStatus", "jobDeploymentStatus")}})
var rj044 = rule.New(rule.Rule{ID: "RJ-044", Field: "deletionStrategy.deletionRules", Condition: "for one jobDeploymentStatus, ttlSeconds not in the order DeleteWorkers, DeleteCluster, DeleteSelf", Peer: rule.BySpec,
	CEL: []rule.CEL{cel.InOrder("jobDeploymentStatus", "jobStatus")}})

// checkDeletionOrder refuses a repeated rule, and a rule whose objects are deleted before it is due.
func checkDeletionOrder(out *rule.Report, dues []due, path *field.Path) {
	first := map[deletionWhen]int32{}
	for _, d := range dues {
		if _, given := first[d.deletionWhen]; given {
			out.Duplicate(d.rule(rj041, rj042), path.Index(d.index), fmt.Sprintf("%s for %s", d.policy, d.value))
		} else {
			first[d.deletionWhen] = d.ttl
		}
	}
	states := map[deletionWhen]bool{}
	for _, d := range dues {
		if when := d.of(""); !states[when] {
			states[when] = true
			checkOrderIn(out, when, first, path)
		}
	}
}

// checkOrderIn checks the rules for one state.
func checkOrderIn(out *rule.Report, when deletionWhen, first map[deletionWhen]int32, path *field.Path) {
	var before rayv1.DeletionPolicyType
	for _, policy := range deletionOrder {
		at, given := first[when.of(policy)]
		if !given {
			continue
		}
		if earlier := first[when.of(before)]; before != "" && earlier > at {
			out.Invalid(when.rule(rj043, rj044), path, fmt.Sprintf("%s after %ds, %s after %ds", policy, at, before, earlier), fmt.Sprintf("for %s, ttlSeconds of %s must be at least that of %s", when.value, policy, before))
		}
		before = policy
	}
}

var rj507 = rule.New(rule.Rule{ID: "RJ-507", Field: "shutdownAfterJobFinishes, deletionStrategy", Condition: "true, or DeleteSelf, with clusterSelector",
	Remedy: "deletes nothing with clusterSelector; remove it"})
var rj522 = rule.New(rule.Rule{ID: "RJ-522", Field: "deletionStrategy.onSuccess, .onFailure", Condition: "set", Remedy: "is deprecated; use deletionRules"})
var rj521 = rule.New(rule.Rule{ID: "RJ-521", Field: "deletionStrategy.deletionRules", Condition: "none for a failed job, or none for one that succeeded"})

// checkUncovered reports an outcome of the job after which the cluster stays.
func checkUncovered(out *rule.Report, dues []due, path *field.Path) {
	covered := map[string]bool{}
	for _, d := range dues {
		covered[strings.ToUpper(d.value)] = true
	}
	out.When(!covered["FAILED"]).Required(rj521, path, "no rule is for a failed job, whose cluster is kept; add one for jobDeploymentStatus Failed")
	out.When(!covered["SUCCEEDED"]).Required(rj521, path, "no rule is for a job that succeeded, whose cluster is kept; add one for jobStatus SUCCEEDED")
}

var rj523 = rule.New(rule.Rule{ID: "RJ-523", Field: "deletionStrategy.deletionRules", Condition: "only DeleteNone, or DeleteCluster at the time of DeleteSelf"})

func checkMootRules(out *rule.Report, list []rayv1.DeletionRule, dues []due, path *field.Path) {
	deletes := func(r rayv1.DeletionRule) bool { return r.Policy != rayv1.DeleteNone }
	out.When(!slices.ContainsFunc(list, deletes)).Forbidden(rj523, path, "all rules are DeleteNone, which is the same as no deletionStrategy; remove it")
	self := map[due]bool{}
	for _, d := range dues {
		if d.policy == rayv1.DeleteSelf {
			self[due{deletionWhen: d.deletionWhen, ttl: d.ttl}] = true
		}
	}
	for _, d := range dues {
		moot := d.policy == rayv1.DeleteCluster && self[due{deletionWhen: d.of(rayv1.DeleteSelf), ttl: d.ttl}]
		out.When(moot).Forbidden(rj523, path.Index(d.index), "DeleteSelf is due at the same time and deletes the cluster too; remove this rule")
	}
}
