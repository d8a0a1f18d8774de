package jobplan

import (
	"time"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// margin is added to the wait for a deletion, so that small differences between clocks cause no early reconcile.
const margin = 2 * time.Second

// severity orders policies by the extent of the deletion.
var severity = map[rayv1.DeletionPolicyType]int{
	rayv1.DeleteNone: 0, rayv1.DeleteWorkers: 1, rayv1.DeleteCluster: 2, rayv1.DeleteSelf: 3,
}

// deletion is a deletion policy with its delay in seconds.
type deletion struct {
	policy rayv1.DeletionPolicyType
	ttl    int32
}

// cleanUp requests the deletions that are due after the end. If several are due, it requests the most extensive one.
func cleanUp(s *step) {
	s.act(Release)
	if s.status.EndTime == nil { // set by hand, or the operator was killed: the end is now
		s.status.EndTime = s.now()
	}
	if s.in.History.missing() && s.began() {
		s.act(KeepHistory) // also if no deletion waits for it any more
	}
	switch s.dueDeletion() {
	case rayv1.DeleteWorkers:
		s.act(SuspendWorkers)
	case rayv1.DeleteCluster:
		if historyAwaited(s) && s.began() {
			s.lookAfter(s.in.History.Since, s.in.Limits.History)
			return
		}
		s.act(DeleteCluster)
	case rayv1.DeleteSelf:
		s.act(DeleteJob)
	}
}

// dueDeletion returns the most extensive deletion that is due, or DeleteNone. It schedules a reconcile for the others.
func (s *step) dueDeletion() rayv1.DeletionPolicyType {
	worst := rayv1.DeleteNone
	for _, d := range s.deletions() {
		at := s.status.EndTime.Add(time.Duration(d.ttl) * time.Second)
		switch {
		case !s.passed(at):
			s.lookAt(at.Add(margin))
		case !s.achieved(d.policy) && severity[d.policy] > severity[worst]:
			worst = d.policy
		}
	}
	return worst
}

// deletions returns those for the outcome. The cluster of a clusterSelector is never deleted.
func (s *step) deletions() []deletion {
	list := s.wantedDeletions()
	if !s.selects() {
		return list
	}
	var self []deletion
	for _, d := range list {
		if d.policy == rayv1.DeleteSelf && s.spec.DeletionStrategy != nil {
			self = append(self, d)
		}
	}
	return self
}

func (s *step) wantedDeletions() []deletion {
	ttl := s.spec.TTLSecondsAfterFinished
	switch strategy := s.spec.DeletionStrategy; {
	case strategy != nil && !s.in.IgnoreDeletionStrategy && len(strategy.DeletionRules) > 0:
		return s.matching(strategy.DeletionRules)
	case strategy != nil && !s.in.IgnoreDeletionStrategy:
		if !s.spec.ShutdownAfterJobFinishes {
			ttl = 0
		}
		return []deletion{{s.legacy(strategy), ttl}}
	case s.spec.ShutdownAfterJobFinishes && s.in.DeleteJob:
		return []deletion{{rayv1.DeleteSelf, ttl}}
	case s.spec.ShutdownAfterJobFinishes:
		return []deletion{{rayv1.DeleteCluster, ttl}}
	default:
		return nil
	}
}

func (s *step) matching(rules []rayv1.DeletionRule) []deletion {
	var list []deletion
	for _, r := range rules {
		c := r.Condition
		if c.JobStatus != nil && *c.JobStatus == s.status.JobStatus ||
			c.JobDeploymentStatus != nil && *c.JobDeploymentStatus == s.status.JobDeploymentStatus {
			list = append(list, deletion{r.Policy, c.TTLSeconds})
		}
	}
	return list
}

// legacy returns onSuccess after a success and onFailure after a failure, including one that Ray does not report. A stopped job is
// neither; it gets the less extensive policy of the two.
func (s *step) legacy(strategy *rayv1.DeletionStrategy) rayv1.DeletionPolicyType {
	success, failure := policyOf(strategy.OnSuccess), policyOf(strategy.OnFailure) //nolint:staticcheck // deprecated, and users have it
	switch {
	case s.status.JobStatus == rayv1.JobStatusSucceeded:
		return success
	case s.status.JobStatus == rayv1.JobStatusFailed, s.status.JobDeploymentStatus == failed:
		return failure
	case severity[success] < severity[failure]:
		return success
	default:
		return failure
	}
}

func policyOf(p *rayv1.DeletionPolicy) rayv1.DeletionPolicyType {
	if p == nil || p.Policy == nil {
		return rayv1.DeleteNone
	}
	return *p.Policy
}

// achieved reports whether a policy has nothing left to do.
func (s *step) achieved(p rayv1.DeletionPolicyType) bool {
	switch p {
	case rayv1.DeleteCluster:
		return !s.in.Cluster.alive()
	case rayv1.DeleteWorkers:
		return !s.in.Cluster.alive() || s.in.Cluster.WorkersSuspended
	case rayv1.DeleteSelf:
		return s.in.Job.DeletionTimestamp != nil
	default:
		return true
	}
}
