package jobplan

import (
	"time"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

const (
	// patience is how long to wait for the cleanup of an attempt before it ends nevertheless.
	patience = 2 * time.Minute
	// settling is how long a submission may be in progress before Ray has a record of it: Ray takes up to 10 seconds to find an
	// agent.
	settling = 12 * time.Second
	// logTime is how long a submitter may take to write the rest of the log of a stopped job.
	logTime = 30 * time.Second
)

// giveUp ends the attempt for a reason other than a result of Ray. The RayJob stays in its state until its job can no longer run
// or be submitted. reason and message already contain the cause. They are saved before Ray is requested to stop the job, so that a
// restarted operator knows the cause.
func (s *step) giveUp(reason rayv1.JobFailedReason, message string) {
	s.status.Reason, s.status.Message = reason, clip(message)
	if s.windDown() {
		s.stay()
		if !s.givesUp() {
			s.plan.Actions, s.plan.After = []Action{Poll}, time.Millisecond
		}
		return
	}
	if s.seen() {
		s.status.JobStatus = rayv1.JobStatusFailed // lost, or its state is unknown
		if s.in.Stop.Failed && !s.in.Stop.Missing {
			message += "; it may still run, since it could not be stopped: " + s.in.Stop.Message
		}
	}
	s.finish(reason, message)
	if s.sidecarWaits() {
		s.act(DeleteCluster)
	}
}

func (s *step) givesUp() bool { return GivesUp(&s.in.Job.Status) }

// GivesUp reports whether a saved status has the cause for giving up an attempt that has not ended.
func GivesUp(st *rayv1.RayJobStatus) bool {
	return st.Reason != "" && st.Reason != rayv1.ValidationFailed && !st.JobDeploymentStatus.IsTerminal()
}

// givenUp reports whether the attempt is being given up, unless the job succeeded meanwhile.
func givenUp(s *step) bool { return s.givesUp() && s.status.JobStatus != rayv1.JobStatusSucceeded }

func goOnGivingUp(s *step) { s.giveUp(s.status.Reason, s.status.Message) }

// windDown requests the next action against a job that may still run or be submitted, and reports whether there is one. A job that
// runs in Ray is stopped first, so that its submitter ends by itself with a complete log. Otherwise the submitter is deleted
// first, because it could submit after Ray was queried. All of it is limited by patience.
func (s *step) windDown() bool {
	if s.lasted(s.in.EndingSince, patience) {
		return false
	}
	switch {
	case s.runs():
		if s.stopped() && s.deleted() {
			return false
		}
		s.act(Poll, Stop)
		s.plan.Waits = "Ray to stop the job"
	case s.submitterLives() && s.ended() && !s.lasted(s.in.Ray.Since, logTime):
		s.act(Poll)
		s.plan.Waits = "the submitter to end"
	case s.submitterLives():
		s.act(Poll, DeleteSubmitter)
		s.plan.Waits = "the Pods of the submitter to end"
	case s.mayHaveJob() && !s.stopped():
		s.act(Poll, Stop)
		s.plan.Waits = "Ray to say that it does not have the job"
	case s.sidecarWaits():
		s.act(DeleteCluster)
		s.plan.Waits = "the RayCluster, whose head would submit the job, to be deleted"
	default:
		return false
	}
	s.lookAtPods()
	return true
}

func (s *step) deleted() bool { return s.in.Job.DeletionTimestamp != nil }

// reachable reports whether the job has a dashboard to query.
func (s *step) reachable() bool {
	return s.in.Cluster.alive() && s.status.JobId != "" && s.address() != ""
}

// runs reports whether Ray runs the job, as far as known, and accepts requests.
func (s *step) runs() bool {
	stop := s.in.Stop
	failing := !s.in.Ray.FailingSince.IsZero() || s.in.Submitter.HeadLost || stop.Failed && !s.in.Ray.AskedAt.After(stop.DoneAt)
	return s.seen() && s.reachable() && !s.in.Ray.Unknown && !failing
}

// submitterLives reports whether a Kubernetes Job, or a Pod of one, may still submit.
func (s *step) submitterLives() bool {
	return s.hasJobObject() && (s.in.Submitter.Pods || s.in.Submitter.Found && !s.in.Submitter.finished())
}

// mayHaveJob reports whether Ray may have the job, or get it from a submission in progress.
func (s *step) mayHaveJob() bool {
	submit := s.in.Submit
	switch {
	case s.ended(), s.sidecarWaits(), s.in.Submitter.HeadLost, !s.reachable(), s.status.DashboardURL == "" && !s.givesUp():
		return false
	case !s.in.Ray.Unknown:
		return true
	case s.byOperator():
		arrived := submit.DoneAt
		if submit.Failed {
			arrived = arrived.Add(settling)
		}
		return submit.Asked && !submit.Done || !submit.Refused && !s.in.Ray.AskedAt.After(arrived)
	case s.mode(rayv1.K8sJobMode):
		return !s.leftUnknown()
	default:
		return false
	}
}

// stopped reports whether Ray has stopped the job, or has had no record of it for long enough.
func (s *step) stopped() bool {
	switch stop := s.in.Stop; {
	case !stop.Done:
		return false
	case stop.Missing:
		return s.lasted(stop.FailingSince, settling)
	case stop.Failed:
		return false
	default:
		return s.in.Ray.askedSince(stop.DoneAt) || s.deleted()
	}
}

// sidecarWaits reports whether the head contains a submitter that may still submit the job later. The cluster is then deleted with
// the attempt.
func (s *step) sidecarWaits() bool {
	sub := s.in.Submitter
	waits := s.status.JobStatus == rayv1.JobStatusNew && !sub.HeadLost
	return s.mode(rayv1.SidecarMode) && !s.selects() && s.in.Cluster.alive() && !sub.finished() && (waits || sub.HeadReturns)
}

// Finalize returns the plan for a RayJob that is being deleted. Without actions, its finalizer can be removed. Its own cluster is
// deleted with it, so one request to stop the job is enough. On a selected cluster, the job and its submitter must be ended
// explicitly.
func Finalize(in Input) Plan {
	s := newStep(in)
	state := s.status.JobDeploymentStatus
	switch {
	case s.ended(), state.IsTerminal(), state == suspended, state == newJob:
	case s.selects():
		s.windDown()
	case s.reachable() && s.status.DashboardURL != "" && !s.in.Stop.Done:
		s.act(Stop)
		s.lookAt(in.Now.Add(2 * settling)) // the result triggers an earlier reconcile
	}
	if len(s.plan.Actions) == 0 && s.began() && historyAwaited(s) {
		keepHistory(s)
	}
	return s.plan
}
