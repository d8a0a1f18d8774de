package jobplan

import (
	"time"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// Input is what a Plan depends on.
type Input struct {
	// Job is the RayJob as stored. It is not changed.
	Job *rayv1.RayJob
	// Now is the time.
	Now time.Time
	// Invalid is what is wrong with the object, in words; empty if nothing is.
	Invalid string
	// Suffix returns a random suffix for the names of an attempt.
	Suffix func() string

	// EndingSince is since when it is known that the attempt is given up, or that the RayJob is being deleted.
	EndingSince time.Time

	Cluster   Cluster
	Submitter Submitter
	Ray       Ray
	// Submit is the submission of HTTPMode, and Stop the request to stop the Ray job of this attempt.
	Submit, Stop Command

	Limits Limits
	// DeleteJob deletes the RayJob where shutdownAfterJobFinishes would delete its cluster: DELETE_RAYJOB_CR_AFTER_JOB_FINISHES.
	DeleteJob bool
	// IgnoreDeletionStrategy says that the feature gate RayJobDeletionPolicy is off.
	IgnoreDeletionStrategy bool
}

// Cluster is what was observed of the RayCluster that the status names, or the clusterSelector.
type Cluster struct {
	Found, Deleting, Ready bool
	// Dashboard is host:port of the dashboard; empty while there is no Service for it.
	Dashboard string
	// WorkersSuspended says that all worker groups are suspended.
	WorkersSuspended bool
}

func (c Cluster) alive() bool { return c.Found && !c.Deleting }

// Submitter is what was observed of the Kubernetes Job in K8sJobMode, or the container in SidecarMode.
type Submitter struct {
	Found bool
	// Pods says that Pods of a Job have not ended that is gone or finished. It is only known while an attempt is given up or the RayJob is deleted.
	Pods bool
	// Foreign says that an object that is not ours has the name of the Job.
	Foreign bool
	// HeadLost says that there is no head Pod any more, in SidecarMode.
	HeadLost bool
	// FinishedSince is since when it is known that it ended for good; zero before that.
	FinishedSince time.Time
	// Failed says that it ended badly, and Message how.
	Failed  bool
	Message string
}

func (s Submitter) finished() bool { return !s.FinishedSince.IsZero() }

// Ray is the last answer of the dashboard about the job of this attempt. The zero value means that it was not asked yet.
type Ray struct {
	// AskedAt is when the question was sent that the fields below answer. Zero means that there is no answer.
	AskedAt time.Time
	// Unknown says that Ray has no record of the job.
	Unknown bool
	// Since is since when it is known that Ray says so: that it has no record, or this status.
	Since time.Time
	// Status, Message, StartTime and EndTime are those of Ray. Times are zero if unknown.
	Status             rayv1.JobStatus
	Message            string
	StartTime, EndTime time.Time
	// FailingSince is since when the dashboard could not be asked, FailedAt when that was tried last, and Failure why. Zero
	// while it answers.
	FailingSince, FailedAt time.Time
	Failure                string
}

// answeredSince reports whether the dashboard answered a question that was sent at a moment or later.
func (r Ray) answeredSince(t time.Time) bool { return !r.AskedAt.IsZero() && !r.AskedAt.Before(t) }

// askedSince is answeredSince for questions that may have failed.
func (r Ray) askedSince(t time.Time) bool {
	return r.answeredSince(t) || !r.FailedAt.IsZero() && !r.FailedAt.Before(t)
}

// Command is what became of the last request of its kind to Ray.
type Command struct {
	// Asked says that there was a request.
	Asked bool
	// Done says that there was an answer, or that there will be none, and DoneAt when that was known.
	Done   bool
	DoneAt time.Time
	// Failed says that it failed for a reason that may pass, so that it may have had its effect; Refused that Ray will never
	// accept it; and Message why.
	Failed, Refused bool
	// Missing says that it failed because Ray has no record of the job.
	Missing bool
	Message string
	// FailingSince is since when the first of the failures in a row is known, also while the request is repeated.
	FailingSince time.Time
}

// Limits are durations that the operator is configured with.
type Limits struct {
	// Transition is how long a submitter may go on after the Ray job ended.
	Transition time.Duration
	// StatusCheck is how long the dashboard may be out of reach.
	StatusCheck time.Duration
	// SubmitterFinished is how long the Ray job may go on after its submitter ended well. 0 means for ever.
	SubmitterFinished time.Duration
	// Retry is the least time from the start of the first attempt to that of the second; it doubles with each further one up
	// to MaxRetry.
	Retry, MaxRetry time.Duration
}

// DefaultLimits are those of KubeRay 1.7, which knows none between attempts, but for SubmitterFinished: there it is 30 seconds, and
// fails jobs that would succeed.
func DefaultLimits() Limits {
	return Limits{
		Transition: 300 * time.Second, StatusCheck: 300 * time.Second,
		Retry: 2 * time.Second, MaxRetry: 5 * time.Minute,
	}
}
