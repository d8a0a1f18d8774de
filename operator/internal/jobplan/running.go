package jobplan

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// record takes the answer of Ray over. A state that is final stays.
func (s *step) record() {
	ray := &s.in.Ray
	switch since := s.failingSince(); {
	case !since.IsZero():
		if s.status.JobStatusCheckFailureStartTime == nil {
			s.status.JobStatusCheckFailureStartTime = &metav1.Time{Time: since}
		}
	case !ray.AskedAt.IsZero():
		s.status.JobStatusCheckFailureStartTime = nil
	}
	if ray.Status == "" || s.ended() || s.startedAgain() {
		return
	}
	s.status.JobStatus = ray.Status
	switch {
	case !s.givesUp():
		s.status.Message = clip(ray.Message)
	case ray.Status == rayv1.JobStatusSucceeded:
		s.status.Reason, s.status.Message = "", clip(ray.Message)
	case ray.Status == rayv1.JobStatusStopped && s.status.Reason == rayv1.JobDeploymentStatusTransitionGracePeriodExceeded:
		s.status.JobStatus = rayv1.JobStatusFailed // as with KubeRay
	}
	s.recordTimes()
}

// recordTimes takes over the times that Ray knows.
func (s *step) recordTimes() {
	info, ray := &s.status.RayJobStatusInfo, &s.in.Ray
	if !ray.StartTime.IsZero() {
		info.StartTime = &metav1.Time{Time: ray.StartTime}
	}
	if !ray.EndTime.IsZero() {
		info.EndTime = &metav1.Time{Time: ray.EndTime}
	}
}

// failingSince is since when the dashboard cannot be asked, or does not take the job, as far as this process knows; zero if
// neither. A submission that failed and had its effect all the same is none.
func (s *step) failingSince() time.Time {
	switch {
	case !s.in.Ray.FailingSince.IsZero():
		return s.in.Ray.FailingSince
	case s.in.Ray.Unknown:
		return s.in.Submit.FailingSince
	default:
		return time.Time{}
	}
}

// submitterHolds reports whether the RayJob waits for its submitter, which still writes the end of the log. A suspension
// does not wait for that, and a cluster that is gone ends it anyway.
func (s *step) submitterHolds() bool {
	switch {
	case !s.hasSubmitter(), s.in.Submitter.finished(), s.spec.Suspend, !s.in.Cluster.alive():
		return false
	case s.mode(rayv1.SidecarMode):
		return !s.in.Submitter.HeadLost
	default:
		return s.in.Submitter.Found
	}
}

func jobFailed(s *step) bool {
	return s.status.JobStatus == rayv1.JobStatusFailed && !s.submitterHolds()
}

func jobEnded(s *step) bool { return s.ended() && !s.submitterHolds() }

func concludeFailed(s *step) { s.finish(rayv1.AppFailed, s.status.Message) }

func conclude(s *step) { s.finish("", s.status.Message) }

// transitionEnd is when a submitter has to be done: with its log after the end, or with submitting a job again that Ray has lost.
func (s *step) transitionEnd() time.Time { return after(s.in.Ray.Since, s.in.Limits.Transition) }

// endedTransitionOver also holds where the log is lost with Ray, which gets the job again from a submitter that Kubernetes replaces.
func endedTransitionOver(s *step) bool {
	lost := s.mode(rayv1.K8sJobMode) && (s.in.Ray.Unknown || s.lasted(s.in.Ray.FailingSince, logLost))
	return s.ended() && (lost || s.passed(s.transitionEnd()))
}

// logLost is how long Ray is out of reach before nobody waits for the end of a log.
const logLost = 10 * time.Second

func failedTransitionOver(s *step) bool {
	return s.status.JobStatus == rayv1.JobStatusFailed && endedTransitionOver(s)
}

// concludeLate deletes the submitter, which would submit the job again if the head lost its record.
func concludeLate(s *step) {
	s.finish(rayv1.JobDeploymentStatusTransitionGracePeriodExceeded, "the job ended, and its submitter did not end in time after it")
	if s.submitterLives() {
		s.act(DeleteSubmitter)
	}
}

func awaitSubmitter(s *step) {
	s.act(Poll)
	s.plan.Waits = "the submitter to end after the job"
	s.lookAt(s.transitionEnd())
	s.lookAfter(s.in.Ray.FailingSince, logLost)
}

func headLost(s *step) bool { return s.mode(rayv1.SidecarMode) && s.in.Submitter.HeadLost }

func loseHead(s *step) { s.giveUp(rayv1.AppFailed, "the head Pod, which holds the submitter, is gone") }

// clusterLost also holds for a sidecar that may have submitted the job before Ray was asked about it: a new head would submit it again.
func clusterLost(s *step) bool {
	unseen := s.mode(rayv1.SidecarMode) && s.status.JobStatus == rayv1.JobStatusNew && SidecarMayHaveSubmitted(&s.in.Job.Status)
	return (s.seen() || unseen) && !s.in.Cluster.alive()
}

// SidecarMayHaveSubmitted reports whether the head Pod, which holds the submitter, was on a node. Ray may have had the job before anybody asked.
func SidecarMayHaveSubmitted(st *rayv1.RayJobStatus) bool {
	return st.JobDeploymentStatus != initializing || st.JobStatus != rayv1.JobStatusNew || st.RayClusterStatus.Head.PodIP != ""
}

func loseCluster(s *step) {
	s.giveUp(rayv1.AppFailed, "RayCluster "+s.status.RayClusterName+" was deleted while the job ran")
}

// recordLost also holds for a job that Ray accepted from this process and then does not know. A Kubernetes Job that has not ended may submit it
// again, as with KubeRay, and has some time for that.
func recordLost(s *step) bool {
	accepted := s.in.Submit.Done && !s.in.Submit.Failed && !s.in.Submit.Refused && s.in.Ray.AskedAt.After(s.in.Submit.DoneAt)
	switch {
	case s.startedAgain():
		return true
	case !s.in.Ray.Unknown, s.submitterLives() && !s.passed(s.transitionEnd()):
		return false
	default:
		return s.seen() || accepted && !s.ended()
	}
}

// startedAgain is about a sidecar in another head Pod, which has submitted the job a second time.
func (s *step) startedAgain() bool {
	before, now := s.status.RayJobStatusInfo.StartTime, s.in.Ray.StartTime.Truncate(time.Second)
	return s.mode(rayv1.SidecarMode) && s.seen() && !s.givesUp() && before != nil && now.After(before.Time)
}

func loseRecord(s *step) {
	s.giveUp(rayv1.AppFailed, "Ray has no record of job "+s.status.JobId+" any more; its head was started anew without GCS fault tolerance")
}

// leftUnknown: the submitter is done and Ray, asked after that, does not know the job.
func (s *step) leftUnknown() bool {
	return s.hasSubmitter() && s.in.Submitter.finished() && s.in.Ray.Unknown && s.in.Ray.answeredSince(s.in.Submitter.FinishedSince)
}

// submissionFailed also holds for a submitter that ended when there was no cluster any more that it could submit to.
func submissionFailed(s *step) bool {
	unheard := s.selects() && !s.in.Cluster.alive() && s.in.Submitter.finished() && !s.seen()
	return s.leftUnknown() || unheard || s.mode(rayv1.HTTPMode) && s.in.Submit.Done && s.in.Submit.Refused && !s.seen()
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

// submitterEnd is when a Ray job has to have ended that its submitter, which ended well, no longer follows.
func (s *step) submitterEnd() time.Time {
	if !s.hasSubmitter() || !s.in.Submitter.finished() || s.in.Submitter.Failed || s.in.Limits.SubmitterFinished <= 0 {
		return time.Time{}
	}
	return after(s.in.Submitter.FinishedSince, s.in.Limits.SubmitterFinished)
}

// submitterTimedOut waits for an answer after that moment. A dashboard that does not answer has the time of checksTimedOut.
func submitterTimedOut(s *step) bool {
	end := s.submitterEnd()
	return s.passed(end) && s.in.Ray.answeredSince(end)
}

func exceedSubmitter(s *step) {
	s.giveUp(rayv1.JobDeploymentStatusTransitionGracePeriodExceeded, "the submitter ended well, and the Ray job did not end in time after it")
}

// firstLook puts a suspension or a deadline off until this process has asked Ray once, with or without success: the job may have
// ended while there was no operator.
func firstLook(s *step) bool {
	submits := s.tracked() || s.mode(rayv1.SidecarMode) || s.in.Submitter.Found
	if s.in.Ray.askedSince(time.Time{}) || s.ended() || !submits || !s.reachable() {
		return false
	}
	return suspendWanted(s) || deadlinePassed(s) || s.in.Job.Status.JobDeploymentStatus == initializing && preRunningPassed(s)
}

// address is that of the dashboard, which is not stored before the cluster is ready.
func (s *step) address() string {
	if s.status.DashboardURL != "" {
		return s.status.DashboardURL
	}
	return s.in.Cluster.Dashboard
}

func look(s *step) {
	s.act(Poll)
	s.lookAt(s.in.Now.Add(time.Second))
}

// tracked reports whether Ray is asked about the job: while it runs, and if its spec became invalid meanwhile.
func (s *step) tracked() bool {
	state := s.in.Job.Status.JobDeploymentStatus
	return state == running || state == validationFailed && wasRunning(s)
}

func exceedDeadline(s *step) {
	s.giveUp(rayv1.DeadlineExceeded, "the job did not end within activeDeadlineSeconds")
}

// outage is how long this process has to see one before it counts: the time that the operator was away proves nothing.
const outage = 30 * time.Second

func checksTimedOut(s *step) bool {
	stored, limit := s.status.JobStatusCheckFailureStartTime, s.in.Limits.StatusCheck
	return stored != nil && s.passed(stored.Add(limit)) && s.lasted(s.failingSince(), min(outage, limit))
}

func exceedChecks(s *step) {
	why := s.in.Ray.Failure
	if why == "" {
		why = s.in.Submit.Message
	}
	if s.in.Submitter.Failed && s.status.JobStatus == rayv1.JobStatusNew {
		s.giveUp(rayv1.SubmissionFailed, "the submitter failed: "+s.in.Submitter.Message)
		return
	}
	s.giveUp(rayv1.JobStatusCheckTimeoutExceeded, "the dashboard could not be asked since "+
		s.status.JobStatusCheckFailureStartTime.UTC().Format(time.RFC3339)+", for more than "+s.in.Limits.StatusCheck.String()+": "+why)
}

// recreateCluster: nothing has run yet, so nothing is lost.
func recreateCluster(s *step) {
	createCluster(s)
	s.act(Poll)
}

// unsubmitted: HTTPMode has to submit the job, as far as the last answer goes.
func (s *step) unsubmitted() bool {
	return s.mode(rayv1.HTTPMode) && s.in.Ray.Unknown && !s.seen() && s.in.Ray.FailingSince.IsZero()
}

// submissionDue asks again before it submits again: a submission whose answer was lost may have been accepted.
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

// recreateSubmitter replaces a Job that was deleted before it submitted. One that is deleted later is not missed.
func recreateSubmitter(s *step) {
	s.act(Poll, EnsureSubmitter)
	s.lookAtLimits()
}

func watch(s *step) {
	if !s.selects() {
		s.act(EnsureHeadService)
	}
	s.act(Poll)
	if s.passed(s.submitterEnd()) || s.unsubmitted() || s.in.Submitter.finished() && !s.in.Ray.askedSince(s.in.Submitter.FinishedSince) {
		s.act(Refresh)
		s.lookAt(s.in.Now.Add(time.Second))
	}
	switch {
	case s.mode(rayv1.InteractiveMode) && s.in.Ray.Unknown:
		s.status.Message = "waiting for job " + s.status.JobId + " to be submitted"
	case s.seen() && s.in.Ray.Unknown:
		s.plan.Waits = "the submitter to submit the job again, of which Ray has lost the record"
	case !s.seen():
		s.status.Message = ""
		s.plan.Waits = "the job to be submitted"
	}
	s.lookAtLimits()
}

// lookAtLimits asks for a look when one of the limits passes that count in this state.
func (s *step) lookAtLimits() {
	s.lookAtDeadlines()
	s.lookAt(s.submitterEnd())
	if s.in.Ray.Unknown && s.submitterLives() {
		s.lookAt(s.transitionEnd()) // a submitter that hangs submits nothing
	}
	if t := s.status.JobStatusCheckFailureStartTime; t != nil {
		s.lookAt(t.Add(s.in.Limits.StatusCheck))
		s.lookAfter(s.in.Ray.FailingSince, outage)
	}
}
