package jobplan

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// record copies Ray's answer to the status. A final state never changes.
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
		s.status.JobStatus = rayv1.JobStatusFailed // as in KubeRay
	}
	s.recordTimes()
}

// recordTimes copies the times that Ray reports.
func (s *step) recordTimes() {
	info, ray := &s.status.RayJobStatusInfo, &s.in.Ray
	if !ray.StartTime.IsZero() {
		info.StartTime = &metav1.Time{Time: ray.StartTime}
	}
	if !ray.EndTime.IsZero() {
		info.EndTime = &metav1.Time{Time: ray.EndTime}
	}
}

// failingSince returns since when the dashboard is unreachable or rejects the job, as far as this process knows; zero if neither.
// A failed submission that took effect nevertheless does not count.
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

// submitterHolds reports whether the RayJob waits for its submitter, which still writes the end of the log. Suspension does not
// wait, and without its cluster a submitter has no log to write.
func (s *step) submitterHolds() bool {
	switch {
	case !s.spec.SubmissionMode.HasSubmitter(), s.in.Submitter.finished(), s.spec.Suspend, !s.in.Cluster.alive():
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

func concludeFailed(s *step) { s.conclude(rayv1.AppFailed) }

func concludeEnded(s *step) { s.conclude("") }

// conclude also deletes a submitter whose cluster is gone, which would wait for its dashboard forever.
func (s *step) conclude(reason rayv1.JobFailedReason) {
	s.finish(reason, s.status.Message)
	if s.submitterLives() && !s.in.Cluster.alive() {
		s.act(KillSubmitter)
	}
}

// transitionEnd returns the deadline of a submitter: for its log after the end, or for submitting again a job that Ray has lost.
func (s *step) transitionEnd() time.Time { return after(s.in.Ray.Since, s.in.Limits.Transition) }

// endedTransitionOver reports whether the wait for the submitter is over. The log is also lost with Ray, because a submitter that
// Kubernetes replaces would submit the job again.
func endedTransitionOver(s *step) bool {
	lost := s.mode(rayv1.K8sJobMode) && (s.in.Ray.Unknown || s.lasted(s.in.Ray.FailingSince, logLost))
	return s.ended() && (lost || s.passed(s.transitionEnd()))
}

// logLost is how long Ray may be unreachable before the wait for the end of a log stops.
const logLost = 10 * time.Second

func failedTransitionOver(s *step) bool {
	return s.status.JobStatus == rayv1.JobStatusFailed && endedTransitionOver(s)
}

// concludeLate deletes the submitter, which would submit the job again if the head lost its record.
func concludeLate(s *step) {
	s.finish(rayv1.JobDeploymentStatusTransitionGracePeriodExceeded, "the job ended, and its submitter did not end in time after it")
	if s.submitterLives() {
		s.act(KillSubmitter)
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

// clusterLost reports whether the cluster of a started job is gone. It includes a sidecar that may have submitted the job before
// Ray was queried, because a new head would submit it again.
func clusterLost(s *step) bool {
	unseen := s.mode(rayv1.SidecarMode) && s.status.JobStatus == rayv1.JobStatusNew && SidecarMayHaveSubmitted(&s.in.Job.Status)
	return (s.seen() || unseen) && !s.in.Cluster.alive()
}

// SidecarMayHaveSubmitted reports whether the head Pod, which contains the submitter, was on a node. Ray may have had the job
// before the first query.
func SidecarMayHaveSubmitted(st *rayv1.RayJobStatus) bool {
	return st.JobDeploymentStatus != initializing || st.JobStatus != rayv1.JobStatusNew || st.RayClusterStatus.Head.PodIP != ""
}

func loseCluster(s *step) {
	s.giveUp(rayv1.AppFailed, "RayCluster "+s.status.RayClusterName+" was deleted while the job ran")
}

// recordLost reports whether Ray has lost the job, including one that Ray accepted from this process and then does not know. As in
// KubeRay, a Kubernetes Job that has not ended has some time to submit the job again.
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

// startedAgain reports whether a sidecar in another head Pod has submitted the job a second time.
func (s *step) startedAgain() bool {
	before, now := s.status.RayJobStatusInfo.StartTime, s.in.Ray.StartTime.Truncate(time.Second)
	return s.mode(rayv1.SidecarMode) && s.seen() && !s.givesUp() && before != nil && now.After(before.Time)
}

func loseRecord(s *step) {
	s.giveUp(rayv1.AppFailed, "Ray has no record of job "+s.status.JobId+" any more; its head was replaced without GCS fault tolerance")
}

// firstLook delays a suspension or a deadline until this process has queried Ray once, successfully or not: the job may have ended
// while no operator ran.
func firstLook(s *step) bool {
	submits := s.tracked() || s.mode(rayv1.SidecarMode) || s.in.Submitter.Found
	if s.in.Ray.askedSince(time.Time{}) || s.ended() || !submits || !s.reachable() {
		return false
	}
	return suspendWanted(s) || deadlinePassed(s) || s.in.Job.Status.JobDeploymentStatus == initializing && preRunningPassed(s)
}

// address returns that of the dashboard, which is not stored before the cluster is ready.
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

// tracked reports whether the dashboard is polled about the job: while it runs, also if its spec became invalid.
func (s *step) tracked() bool {
	state := s.in.Job.Status.JobDeploymentStatus
	return state == running || state == validationFailed && s.continues()
}

// continues reports whether the job of an attempt continues, or begins, without the operator.
func (s *step) continues() bool { return wasRunning(s) || sidecarSubmits(s) }

func exceedDeadline(s *step) {
	s.giveUp(rayv1.DeadlineExceeded, "the job did not end within activeDeadlineSeconds")
}

// outage is how long this process must observe an outage before it counts; time without an operator does not count.
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

// recreateCluster creates the cluster again. Nothing has run yet, so nothing is lost.
func recreateCluster(s *step) {
	createCluster(s)
	s.act(Poll)
}

func watch(s *step) {
	if !s.selects() {
		s.act(EnsureHeadService)
	}
	s.act(Poll)
	if s.passed(s.submitterEnd()) || s.unsubmitted() || s.in.Submitter.finished() && s.answerAwaited() {
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

// answerAwaited reports whether Ray has to be asked about a job whose submitter has finished. It schedules a look at Pods that have not ended
// and at the time of the last submission.
func (s *step) answerAwaited() bool {
	last := s.lastSubmission()
	s.lookAt(last)
	if s.in.Submitter.Pods {
		s.lookAtPods()
	}
	return !s.in.Now.Before(last) && !s.in.Ray.askedSince(last)
}

// lookAtLimits schedules a reconcile for the next limit of this state.
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
