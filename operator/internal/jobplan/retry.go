package jobplan

import (
	"time"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// fresh is how old an answer of Ray may be that decides whether a cluster is kept.
const fresh = 10 * time.Second

// keepWanted reports whether the user wants the next attempt on the same cluster, where it gets an ID of its own. The head of a cluster with
// a sidecar belongs to one attempt.
func (s *step) keepWanted() bool {
	return s.in.Job.Annotations[rayv1.AnnotationRetryOn] == string(rayv1.RetryOnSameCluster) && s.in.Job.Status.JobDeploymentStatus == retrying &&
		!s.selects() && s.spec.JobId == "" && (s.mode(rayv1.K8sJobMode) || s.byOperator()) && s.in.Cluster.alive() && s.in.Cluster.Ready
}

// keepsCluster reports whether the next attempt runs on the cluster of this one. Ray must have reported lately that the job has ended, so that
// two attempts never run side by side.
func (s *step) keepsCluster() bool {
	ray := s.in.Ray
	return s.keepWanted() && ray.FailingSince.IsZero() && ray.answeredSince(s.in.Now.Add(-fresh)) && ray.Status.IsTerminal()
}

// keepUndecided reports whether Ray has to be asked first. A dashboard that does not answer costs the cluster.
func keepUndecided(s *step) bool {
	ray := s.in.Ray
	return s.keepWanted() && ray.FailingSince.IsZero() && !ray.answeredSince(s.in.Now.Add(-fresh))
}

func askAgain(s *step) {
	s.act(Poll, Refresh)
	s.plan.Waits = "Ray to say whether the cluster can run the next attempt"
	s.lookAt(s.in.Now.Add(time.Second))
}
