package jobplan

import (
	"k8s.io/apimachinery/pkg/api/meta"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// expired returns why the own cluster of an interactive job was suspended or deleted by its annotations; empty if it was not. The status has a copy
// of the reason before it happens; see package expiryplan.
func (s *step) expired() string {
	if !interactive(s) || s.selects() || s.in.Cluster.alive() && !s.in.Cluster.Suspended {
		return ""
	}
	conditions := s.status.RayClusterStatus.Conditions
	if !meta.IsStatusConditionTrue(conditions, rayv1.RayClusterExpired) {
		return ""
	}
	return meta.FindStatusCondition(conditions, rayv1.RayClusterExpired).Message
}

// clusterExpired reports whether the job can no longer run: its cluster was deleted, or suspended while the job ran.
func clusterExpired(s *step) bool {
	return s.expired() != "" && (!s.in.Cluster.alive() || s.seen())
}

func endExpired(s *step) {
	done := "deleted"
	if s.in.Cluster.alive() {
		done = "suspended while the job ran"
	}
	s.giveUp(rayv1.DeadlineExceeded, "RayCluster "+s.status.RayClusterName+" was "+done+": "+s.expired())
}

func clusterSuspended(s *step) bool { return s.expired() != "" }

// awaitResumed does not ask Ray about the job: without a head it would soon count as unreachable.
func awaitResumed(s *step) {
	s.status.JobStatusCheckFailureStartTime = nil
	s.waitFor("RayCluster " + s.status.RayClusterName + " to be resumed")
	s.lookAtDeadlines()
}

// waitFor sets what the job waits for. If the cluster of an interactive job is suspended, its user has to resume it: the message has the reason.
func (s *step) waitFor(what string) {
	if !interactive(s) {
		s.plan.Waits = what
		return
	}
	why := s.expired()
	if why == "" {
		s.status.Message, s.plan.Waits = "", what
		return
	}
	s.status.Message = clip("RayCluster " + s.status.RayClusterName + " is suspended: " + why + "; resume it to submit a job")
}
