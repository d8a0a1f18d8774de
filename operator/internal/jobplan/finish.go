package jobplan

import (
	"math"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// finish ends the attempt in the state of the rule, and turns a retryable failure into a retry.
func (s *step) finish(reason rayv1.JobFailedReason, message string) {
	s.plan.Actions, s.plan.After, s.plan.Waits = nil, time.Millisecond, ""
	s.status.Reason, s.status.Message = reason, clip(message)
	succeeded, failures := count(s.status.Succeeded), count(s.status.Failed)
	if s.status.JobDeploymentStatus == failed {
		failures = min(failures, math.MaxInt32-1) + 1
	} else if s.status.JobStatus == rayv1.JobStatusSucceeded {
		succeeded = min(succeeded, math.MaxInt32-1) + 1
	}
	s.status.Succeeded, s.status.Failed = &succeeded, &failures
	if s.status.JobDeploymentStatus == failed && s.retryable(reason, failures) {
		s.recordAttempt(failures)
		s.status.JobDeploymentStatus = retrying
		return
	}
	s.status.EndTime = s.now()
}

// maxAttempts limits the attempts that the status keeps.
const maxAttempts = 10

// recordAttempt adds the attempt with this number to those that were retried.
func (s *step) recordAttempt(number int32) {
	st := s.status
	list := append(slices.Clone(st.PreviousAttempts), rayv1.RayJobAttempt{
		Attempt: number, RayClusterName: st.RayClusterName, JobId: st.JobId, StartTime: st.StartTime,
		EndTime: new(metav1.NewTime(s.in.Now.Truncate(time.Second))), Reason: st.Reason,
	})
	st.PreviousAttempts = list[max(0, len(list)-maxAttempts):]
}

func count(n *int32) int32 {
	if n == nil {
		return 0
	}
	return max(*n, 0)
}

// retryable reports whether the failure may be retried. A deadline limits all attempts together, an unreachable dashboard may hide
// a running job, and Ray would also reject the submission on another cluster.
func (s *step) retryable(reason rayv1.JobFailedReason, failures int32) bool {
	switch {
	case s.spec.BackoffLimit == nil || failures > *s.spec.BackoffLimit:
		return false
	case reason == rayv1.DeadlineExceeded || reason == rayv1.JobStatusCheckTimeoutExceeded:
		return false
	case reason == rayv1.SubmissionFailed && s.in.Submit.Refused:
		return false
	default:
		return s.in.Invalid == ""
	}
}

// toStopFirst reports whether a Ray job has not been requested to stop yet. Its cluster is deleted right after, so one request is
// enough.
func toStopFirst(s *step) bool { return s.runs() && !s.in.Stop.Done }

// stopFirst ends the program by a signal before its Pods are deleted.
func stopFirst(s *step) { s.act(Stop) }

// killTime is how long Ray may take to kill a program that ignores the signal, and to report that.
const killTime = 5 * time.Second

// stopEnd returns until when a suspension waits for a job that Ray was asked to stop; zero if it does not wait.
func (s *step) stopEnd() time.Time {
	wanted, _ := rayv1.ExpiryOf(s.in.Job.Annotations)
	if stop := s.in.Stop; wanted.SuspendGrace > 0 && stop.Done && !stop.Failed {
		return stop.DoneAt.Add(wanted.SuspendGrace + killTime)
	}
	return time.Time{}
}

// stopAwaited reports whether the program still has time to save its state.
func stopAwaited(s *step) bool {
	return s.in.Now.Before(s.stopEnd()) && s.runs() && !s.in.Ray.Status.IsTerminal()
}

func awaitStop(s *step) {
	s.act(Poll)
	s.plan.Waits = "the job to end after the signal to stop"
	s.lookAt(s.stopEnd())
}

func (s *step) hasJobObject() bool {
	return s.mode(rayv1.K8sJobMode) || s.mode(rayv1.InteractiveMode)
}

func childrenLeft(s *step) bool {
	return !s.selects() && s.in.Cluster.Found && !s.keepsCluster() || s.hasJobObject() && s.in.Submitter.Found
}

// deleteChildren requests both deletions, each until the object is gone; deletions in progress are not repeated.
func deleteChildren(s *step) {
	switch {
	case s.keepsCluster():
		s.act(Poll)
	case !s.selects() && s.in.Cluster.alive():
		s.act(DeleteCluster)
	}
	if s.hasJobObject() && s.in.Submitter.Found {
		s.act(DeleteSubmitter)
	}
	s.plan.Waits = "the RayCluster and the Job of the attempt to be gone"
}

// nextAttempt returns the earliest start of the next attempt.
func (s *step) nextAttempt() time.Time {
	if s.status.StartTime == nil || s.in.Limits.Retry <= 0 {
		return time.Time{}
	}
	delay := min(s.in.Limits.Retry<<min(max(count(s.status.Failed)-1, 0), 16), max(s.in.Limits.MaxRetry, s.in.Limits.Retry))
	return s.status.StartTime.Add(delay)
}

func tooSoon(s *step) bool {
	t := s.nextAttempt()
	return !t.IsZero() && s.in.Now.Before(t) && !t.After(s.in.Now.Add(s.in.Limits.MaxRetry)) // ignores a time that is too far away because the clock was set back
}

func pause(s *step) {
	if s.keepsCluster() {
		s.act(Poll)
	}
	s.plan.Waits = "the time of the next attempt"
	s.lookAt(s.nextAttempt())
}

// endAttempt clears the status of the attempt. It keeps the counts of attempts and the start of the last one, and the name of a cluster for
// the next attempt.
func endAttempt(s *step) {
	old, cluster := s.plan.Status, ""
	if s.keepsCluster() {
		cluster = old.RayClusterName
	} else {
		s.act(Release)
	}
	s.plan.Status = rayv1.RayJobStatus{
		JobDeploymentStatus: old.JobDeploymentStatus, RayClusterName: cluster, StartTime: old.StartTime, EndTime: old.EndTime,
		Succeeded: old.Succeeded, Failed: old.Failed, PreviousAttempts: old.PreviousAttempts, ObservedGeneration: old.ObservedGeneration, Conditions: old.Conditions,
	}
	if old.JobDeploymentStatus == newJob {
		s.plan.After = time.Millisecond
	}
}

// suspendedMeanwhile reports whether an attempt with resources is suspended. A queue may need these even if the spec is invalid.
func suspendedMeanwhile(s *step) bool { return suspendWanted(s) && s.hasCluster() }

// hasCluster is true before an attempt on the cluster of the one before has an ID.
func (s *step) hasCluster() bool { return s.status.RayClusterName != "" && s.status.StartTime != nil }

func failedBefore(s *step) bool {
	return s.status.EndTime != nil && s.status.JobStatus != rayv1.JobStatusSucceeded && s.status.JobStatus != rayv1.JobStatusStopped
}

func completedBefore(s *step) bool { return s.status.EndTime != nil }

func runsPastDeadline(s *step) bool { return s.hasCluster() && deadlinePassed(s) }

func wasRunning(s *step) bool {
	return wasInitializing(s) && s.status.DashboardURL != "" && s.status.JobId != ""
}

func wasWaiting(s *step) bool {
	return wasInitializing(s) && s.status.DashboardURL != "" && s.mode(rayv1.InteractiveMode)
}

func wasInitializing(s *step) bool {
	return s.hasCluster() && (s.status.JobId != "" || s.mode(rayv1.InteractiveMode))
}

// forgetInvalid clears the reason; the next reconcile sets the state's own.
func forgetInvalid(s *step) {
	if s.status.Reason == rayv1.ValidationFailed {
		s.status.Reason, s.status.Message = "", ""
	}
	s.plan.After = time.Millisecond
}
