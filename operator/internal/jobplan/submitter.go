package jobplan

import (
	"time"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// leftUnknown reports whether the submitter has finished and Ray, queried after its last submission, does not know the job.
func (s *step) leftUnknown() bool {
	return s.spec.SubmissionMode.HasSubmitter() && s.in.Submitter.finished() && s.in.Ray.Unknown && s.in.Ray.answeredSince(s.lastSubmission())
}

// lastSubmission returns when no submission of a submitter that has finished can arrive any more. A Job can fail because its Pod is deleted,
// which can submit until it ends.
func (s *step) lastSubmission() time.Time {
	sub := s.in.Submitter
	switch {
	case !sub.Failed, !s.mode(rayv1.K8sJobMode), s.status.JobStatus != rayv1.JobStatusNew:
		return sub.FinishedSince
	case sub.PodsEndedSince.IsZero():
		return sub.FinishedSince.Add(patience)
	default:
		return sub.PodsEndedSince.Add(settling)
	}
}

// submissionFailed also covers a submitter that ended when its cluster was gone.
func submissionFailed(s *step) bool {
	unheard := s.selects() && !s.in.Cluster.alive() && s.in.Submitter.finished() && !s.seen()
	return s.leftUnknown() || unheard || s.byOperator() && s.in.Submit.Done && s.in.Submit.Refused && !s.seen()
}

func failSubmission(s *step) {
	switch {
	case !s.in.Submitter.finished():
		s.giveUp(rayv1.SubmissionFailed, "Ray refuses the job: "+s.in.Submit.Message)
	case s.in.Submitter.Failed:
		s.giveUp(rayv1.SubmissionFailed, "the submitter failed: "+s.in.Submitter.Message)
	default:
		s.giveUp(rayv1.AppFailed, "the submitter ended, and Ray does not know job "+s.status.JobId)
	}
}

// submitterEnd returns the deadline of a Ray job after its submitter succeeded; zero without one.
func (s *step) submitterEnd() time.Time {
	if !s.spec.SubmissionMode.HasSubmitter() || !s.in.Submitter.finished() || s.in.Submitter.Failed || s.in.Limits.SubmitterFinished <= 0 {
		return time.Time{}
	}
	return after(s.in.Submitter.FinishedSince, s.in.Limits.SubmitterFinished)
}

// submitterTimedOut waits for an answer after that deadline. checksTimedOut covers a dashboard that does not answer.
func submitterTimedOut(s *step) bool {
	end := s.submitterEnd()
	return s.passed(end) && s.in.Ray.answeredSince(end)
}

func exceedSubmitter(s *step) {
	s.giveUp(rayv1.JobDeploymentStatusTransitionGracePeriodExceeded, "the submitter ended well, and the Ray job did not end in time after it")
}

// unsubmitted reports whether the job has to be submitted in HTTPMode, according to the last answer.
func (s *step) unsubmitted() bool {
	return s.byOperator() && s.in.Ray.Unknown && !s.seen() && s.in.Ray.FailingSince.IsZero()
}

// submissionDue requires a query before the job is submitted again: a submission without an answer may have been accepted.
func submissionDue(s *step) bool {
	return s.unsubmitted() && (!s.in.Submit.Done || s.in.Ray.AskedAt.After(s.in.Submit.DoneAt))
}

func submit(s *step) {
	s.act(Poll, EnsureHeadService, Submit)
	if s.selects() {
		s.plan.Actions = []Action{Poll, Submit}
	}
	s.lookAtLimits()
}

func submitterMissing(s *step) bool {
	return s.mode(rayv1.K8sJobMode) && !s.in.Submitter.Found && !s.in.Submitter.Foreign && s.in.Ray.Unknown && !s.seen()
}

// recreateSubmitter replaces a Job that was deleted before it submitted. One that is deleted later is not replaced.
func recreateSubmitter(s *step) {
	s.act(Poll, EnsureSubmitter)
	s.lookAtLimits()
}
