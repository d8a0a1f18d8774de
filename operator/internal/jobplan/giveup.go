package jobplan

import (
	"time"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

const (
	// patience is how long to wait for what an attempt leaves behind, before it ends all the same.
	patience = 2 * time.Minute
	// settling is how long a submission may be on its way that Ray does not know of: Ray takes 10 seconds to find an agent for it.
	settling = 12 * time.Second
	// logTime is how long a submitter has to write the end of the log of a job that was stopped.
	logTime = 30 * time.Second
)

// giveUp ends the attempt for another reason than a result of Ray. The RayJob stays in its state until nothing can run or submit the job any more;
// reason and message already say why it ends. They are saved before Ray is asked to stop the job: the operator may be killed after the request,
// and the next one has to know that the job was stopped for this reason.
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
		s.status.JobStatus = rayv1.JobStatusFailed // it is lost, or nobody knows whether it stopped
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

// GivesUp reports whether a saved status says what an attempt is given up for that has not ended.
func GivesUp(st *rayv1.RayJobStatus) bool {
	return st.Reason != "" && st.Reason != rayv1.ValidationFailed && !st.JobDeploymentStatus.IsTerminal()
}

// givenUp leaves a job alone that succeeded all the same.
func givenUp(s *step) bool { return s.givesUp() && s.status.JobStatus != rayv1.JobStatusSucceeded }

func goOnGivingUp(s *step) { s.giveUp(s.status.Reason, s.status.Message) }

// windDown asks for the next thing to do about what may still run or submit the job, and reports whether there is one. A job that Ray runs is
// stopped first: its submitter then ends by itself, with a complete log. Otherwise the submitter goes first, or it could submit after Ray was
// asked. Either may take no longer than patience.
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
	default:
		return false
	}
	s.lookAt(s.in.Now.Add(2 * time.Second)) // Pods are not watched
	return true
}

func (s *step) deleted() bool { return s.in.Job.DeletionTimestamp != nil }

// reachable reports whether there is a dashboard to ask about the job.
func (s *step) reachable() bool {
	return s.in.Cluster.alive() && s.status.JobId != "" && s.address() != ""
}

// runs reports whether Ray is known to run the job, and takes requests.
func (s *step) runs() bool {
	stop := s.in.Stop
	failing := !s.in.Ray.FailingSince.IsZero() || s.in.Submitter.HeadLost || stop.Failed && !s.in.Ray.AskedAt.After(stop.DoneAt)
	return s.seen() && s.reachable() && !s.in.Ray.Unknown && !failing
}

// submitterLives reports whether there is a Kubernetes Job, or a Pod of one, that may submit.
func (s *step) submitterLives() bool {
	return s.hasJobObject() && (s.in.Submitter.Pods || s.in.Submitter.Found && !s.in.Submitter.finished())
}

// mayHaveJob reports whether Ray may have the job, or get it from a submission that is on its way.
func (s *step) mayHaveJob() bool {
	submit := s.in.Submit
	switch {
	case s.ended(), s.sidecarWaits(), s.in.Submitter.HeadLost, !s.reachable(), s.status.DashboardURL == "" && !s.givesUp():
		return false
	case !s.in.Ray.Unknown:
		return true
	case s.mode(rayv1.HTTPMode):
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

// sidecarWaits is about a cluster whose head holds a submitter that has not submitted yet, and may do so later. So the cluster goes with the attempt.
func (s *step) sidecarWaits() bool {
	sub := s.in.Submitter
	return s.mode(rayv1.SidecarMode) && !s.selects() && s.in.Cluster.alive() && s.status.JobStatus == rayv1.JobStatusNew && !sub.finished() && !sub.HeadLost
}

// Finalize is what to do before the finalizer of a RayJob that is being deleted can go: without actions, nothing. A cluster of its own goes with
// the RayJob, so that one request to stop the job is enough. On the cluster of somebody else nothing else ends the job, nor what submits it.
func Finalize(in Input) Plan {
	s := newStep(in)
	state := s.status.JobDeploymentStatus
	switch {
	case s.ended(), state.IsTerminal(), state == suspended, state == newJob:
	case s.selects():
		s.windDown()
	case s.reachable() && s.status.DashboardURL != "" && !s.in.Stop.Done:
		s.act(Stop)
		s.lookAt(in.Now.Add(2 * settling)) // its end brings an earlier one
	}
	return s.plan
}
