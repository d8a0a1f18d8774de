package examples

import (
	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/pkg/validation"
)

func deletionRule(p rayv1.DeletionPolicyType, status rayv1.JobStatus, ttl int32) rayv1.DeletionRule {
	return rayv1.DeletionRule{Policy: p, Condition: rayv1.DeletionCondition{JobStatus: &status, TTLSeconds: ttl}}
}

func failedRule(p rayv1.DeletionPolicyType, ttl int32) rayv1.DeletionRule {
	return rayv1.DeletionRule{Policy: p, Condition: rayv1.DeletionCondition{JobDeploymentStatus: new(rayv1.JobDeploymentStatusFailed), TTLSeconds: ttl}}
}

// staged deletes by these rules in place of shutdownAfterJobFinishes.
func staged(rules ...rayv1.DeletionRule) func(*job) {
	return func(rj *job) {
		rj.Spec.ShutdownAfterJobFinishes = false
		rj.Spec.DeletionStrategy = &rayv1.DeletionStrategy{DeletionRules: rules}
	}
}

func legacy(success, failure rayv1.DeletionPolicyType) func(*job) {
	return func(rj *job) {
		rj.Spec.ShutdownAfterJobFinishes = false
		rj.Spec.DeletionStrategy = &rayv1.DeletionStrategy{OnSuccess: &rayv1.DeletionPolicy{Policy: &success}, OnFailure: &rayv1.DeletionPolicy{Policy: &failure}}
	}
}

func deletion() []row[job] {
	const s = "spec.deletionStrategy"
	const self, cluster, workers, none = rayv1.DeleteSelf, rayv1.DeleteCluster, rayv1.DeleteWorkers, rayv1.DeleteNone
	const good, bad = rayv1.JobStatusSucceeded, rayv1.JobStatusFailed
	on := func(p rayv1.DeletionPolicyType) rayv1.DeletionRule { return deletionRule(p, good, 0) }
	fail := failedRule(cluster, 0)
	rule0 := s + ".deletionRules[0]"
	first := func(f func(*rayv1.DeletionRule)) func(*job) {
		return all(staged(on(cluster), fail), func(rj *job) { f(&rj.Spec.DeletionStrategy.DeletionRules[0]) })
	}
	usual := staged(on(cluster), fail)
	scaled := func(on bool) func(*job) {
		return func(rj *job) { rj.Spec.RayClusterSpec.EnableInTreeAutoscaling = &on }
	}
	shutdown := func(on bool) func(*job) { return func(rj *job) { rj.Spec.ShutdownAfterJobFinishes = on } }
	return []row[job]{
		{ID: "RJ-001", Name: "empty list", Mutate: staged([]rayv1.DeletionRule{}...), Before: usual, GoOnly: true, WantFields: at(s + ".deletionRules")},
		{ID: "RJ-002", Name: "no policy", Mutate: first(func(r *rayv1.DeletionRule) { r.Policy = "" }), Fix: usual, WantFields: at(rule0 + ".policy")},
		{ID: "RJ-003", Name: "unknown policy", Mutate: first(func(r *rayv1.DeletionRule) { r.Policy = "DeleteAll" }), Fix: usual, WantFields: at(rule0 + ".policy")},
		{ID: "RJ-003", Name: "unknown policy on success", Mutate: legacy("DeleteAll", cluster), Fix: legacy(cluster, cluster), WantFields: at(s + ".onSuccess.policy")},
		{ID: "RJ-004", Name: "stopped", Mutate: staged(on(cluster), fail, deletionRule(self, rayv1.JobStatusStopped, 0)), Fix: usual, WantFields: at(s + ".deletionRules[2].condition.jobStatus")},
		{ID: "RJ-005", Name: "complete", Mutate: first(func(r *rayv1.DeletionRule) {
			r.Condition = rayv1.DeletionCondition{JobDeploymentStatus: new(rayv1.JobDeploymentStatusComplete)}
		}), Fix: usual, WantFields: at(rule0 + ".condition.jobDeploymentStatus")},
		{ID: "RJ-006", Name: "negative", Mutate: first(func(r *rayv1.DeletionRule) { r.Condition.TTLSeconds = -10 }), Fix: usual, WantFields: at(rule0 + ".condition.ttlSeconds")},
		{ID: "RJ-011", Name: "both forms", Mutate: all(legacy(cluster, cluster), func(rj *job) { rj.Spec.DeletionStrategy.DeletionRules = []rayv1.DeletionRule{on(cluster), fail} }), Fix: usual, WantFields: at(s)},
		{ID: "RJ-012", Name: "empty", Mutate: func(rj *job) { rj.Spec.DeletionStrategy = &rayv1.DeletionStrategy{} }, Fix: usual, WantFields: at(s)},
		{ID: "RJ-012", Name: "one half", Mutate: all(legacy(cluster, cluster), func(rj *job) { rj.Spec.DeletionStrategy.OnFailure = nil }), Fix: legacy(cluster, cluster), WantFields: at(s)},
		{ID: "RJ-013", Name: "two states", Mutate: first(func(r *rayv1.DeletionRule) {
			r.Condition.JobDeploymentStatus = new(rayv1.JobDeploymentStatusFailed)
		}), Fix: usual, WantFields: at(rule0 + ".condition")},
		{ID: "RJ-014", Name: "no state", Mutate: first(func(r *rayv1.DeletionRule) { r.Condition.JobStatus = nil }), Fix: usual, WantFields: at(rule0 + ".condition")},
		{ID: "RJ-023", Name: "negative", Mutate: func(rj *job) { rj.Spec.TTLSecondsAfterFinished = -1 }, Fix: func(rj *job) { rj.Spec.TTLSecondsAfterFinished = 1 }, WantFields: at("spec.ttlSecondsAfterFinished")},
		{ID: "RJ-024", Name: "kept cluster", Mutate: all(shutdown(false), func(rj *job) { rj.Spec.TTLSecondsAfterFinished = 5 }), Fix: shutdown(true), WantFields: at("spec.ttlSecondsAfterFinished")},
		{ID: "RJ-025", Name: "gate off", Mutate: usual, WantFields: at(s), Options: gate(validation.GateDeletionPolicy, false)},
		{ID: "RJ-026", Name: "shut down too", Mutate: all(usual, shutdown(true)), Fix: shutdown(false), WantFields: at(s + ".deletionRules")},
		{ID: "RJ-029", Name: "no policy", Mutate: all(legacy(cluster, cluster), func(rj *job) { rj.Spec.DeletionStrategy.OnSuccess.Policy = nil }), Fix: legacy(cluster, cluster), WantFields: at(s + ".onSuccess.policy")},
		{ID: "RJ-030", Name: "no policy", Mutate: all(legacy(cluster, cluster), func(rj *job) { rj.Spec.DeletionStrategy.OnFailure.Policy = nil }), Fix: legacy(cluster, cluster), WantFields: at(s + ".onFailure.policy")},
		{ID: "RJ-031", Name: "selected cluster", Mutate: all(selects, legacy(cluster, none)), Fix: legacy(self, none), WantFields: at(s + ".onSuccess.policy")},
		{ID: "RJ-032", Name: "selected cluster", Mutate: all(selects, legacy(none, workers)), Fix: legacy(none, none), WantFields: at(s + ".onFailure.policy")},
		{ID: "RJ-033", Name: "autoscaling", Mutate: all(scaled(true), legacy(workers, cluster)), Fix: scaled(false), WantFields: at(s)},
		{ID: "RJ-034", Name: "none and all", Mutate: all(legacy(cluster, none), shutdown(true)), Fix: shutdown(false), WantFields: at(s)},
		{ID: "RJ-039", Name: "selected cluster", Mutate: all(selects, staged(on(cluster))), Fix: staged(on(self)), WantFields: at(rule0 + ".policy")},
		{ID: "RJ-040", Name: "autoscaling", Mutate: all(scaled(true), staged(on(workers), fail)), Fix: scaled(false), WantFields: at(rule0 + ".policy")},
		{ID: "RJ-041", Name: "twice", Mutate: staged(on(cluster), fail, on(cluster)), Fix: usual, WantFields: at(s + ".deletionRules[2]")},
		{ID: "RJ-042", Name: "twice", Mutate: staged(on(cluster), fail, fail), Fix: usual, WantFields: at(s + ".deletionRules[2]")},
		{ID: "RJ-043", Name: "20, 10", Mutate: staged(deletionRule(workers, good, 20), deletionRule(cluster, good, 10), fail), Fix: staged(deletionRule(workers, good, 10), deletionRule(cluster, good, 20), deletionRule(self, good, 30), fail), WantFields: at(s + ".deletionRules")},
		{ID: "RJ-043", Name: "cluster left out", Mutate: staged(deletionRule(self, good, 5), deletionRule(workers, good, 20), fail), Fix: staged(deletionRule(self, good, 20), deletionRule(workers, good, 20), fail), WantFields: at(s + ".deletionRules")},
		{ID: "RJ-044", Name: "20, 10", Mutate: staged(on(cluster), failedRule(cluster, 20), failedRule(self, 10)), Fix: staged(on(cluster), failedRule(cluster, 10), failedRule(self, 20)), WantFields: at(s + ".deletionRules")},
		{ID: "RJ-507", Name: "selected cluster", Mutate: all(selects, shutdown(true)), Fix: shutdown(false), WantFields: at("spec.shutdownAfterJobFinishes"), Warning: true},
		{ID: "RJ-507", Name: "self", Mutate: all(selects, staged(on(self), failedRule(none, 0))), Fix: staged(on(none), failedRule(none, 0)), WantFields: at(rule0 + ".policy"), Warning: true},
		{ID: "RJ-521", Name: "no failure", Mutate: staged(on(cluster)), Fix: usual, WantFields: at(s + ".deletionRules"), Warning: true},
		{ID: "RJ-521", Name: "no success", Mutate: staged(deletionRule(cluster, bad, 0)), Fix: staged(on(cluster), deletionRule(cluster, bad, 0)), WantFields: at(s + ".deletionRules"), Warning: true},
		{ID: "RJ-522", Name: "deprecated", Mutate: legacy(cluster, cluster), Fix: usual, WantFields: at(s+".onSuccess", s+".onFailure"), Warning: true},
		{ID: "RJ-523", Name: "only none", Mutate: staged(on(none), failedRule(none, 0)), Fix: usual, WantFields: at(s + ".deletionRules"), Warning: true},
		{ID: "RJ-523", Name: "at one time", Mutate: staged(on(cluster), on(self), fail), Fix: staged(on(cluster), deletionRule(self, good, 10), fail), WantFields: at(rule0), Warning: true},
	}
}
