package jobplan

import (
	"time"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// Input contains everything that a Plan depends on.
type Input struct {
	// Job is the stored RayJob. It is not modified.
	Job *rayv1.RayJob
	// Now is the current time.
	Now time.Time
	// Invalid summarizes the broken rules; empty for a valid object.
	Invalid string
	// Suffix returns a random suffix for the names of an attempt.
	Suffix func() string

	// EndingSince is since when this process knows that the attempt is given up or the RayJob is being deleted.
	EndingSince time.Time

	Cluster   Cluster
	Submitter Submitter
	Ray       Ray
	// Submit is the submission in HTTPMode, and Stop the request to stop the Ray job of this attempt.
	Submit, Stop Command
	// History is the record of the attempt.
	History History

	Limits Limits
	// DeleteJob deletes the RayJob where shutdownAfterJobFinishes would delete its cluster: DELETE_RAYJOB_CR_AFTER_JOB_FINISHES.
	DeleteJob bool
	// IgnoreDeletionStrategy is set if the feature gate RayJobDeletionPolicy is off.
	IgnoreDeletionStrategy bool
}

// Cluster is the observed state of the RayCluster in the status or the clusterSelector.
type Cluster struct {
	Found, Deleting, Ready bool
	// Suspended means that spec.suspend is true.
	Suspended bool
	// Dashboard is host:port of the dashboard; empty without a Service.
	Dashboard string
	// WorkersSuspended means that all worker groups are suspended.
	WorkersSuspended bool
}

func (c Cluster) alive() bool { return c.Found && !c.Deleting }

// Submitter is the observed state of the Kubernetes Job in K8sJobMode, or of the container in SidecarMode.
type Submitter struct {
	Found bool
	// Pods means that Pods of a deleted or finished Job have not ended. It is set only while an attempt is given up or the RayJob
	// is being deleted.
	Pods bool
	// Foreign means that an object of another owner has the name of the Job.
	Foreign bool
	// HeadLost means that the head Pod is gone, in SidecarMode.
	HeadLost bool
	// HeadReturns means that the cluster replaces the head Pod that is gone, since it never knew its address.
	HeadReturns bool
	// PodsEndedSince is since when this process knows that no Pod of the Job runs; zero if one does, or if that was not asked.
	PodsEndedSince time.Time
	// FinishedSince is since when this process knows that it ended for good; zero before that.
	FinishedSince time.Time
	// Failed means that it failed, with the cause in Message.
	Failed  bool
	Message string
}

func (s Submitter) finished() bool { return !s.FinishedSince.IsZero() }

// Ray is the last answer of the dashboard about the job of this attempt. The zero value means that it has not been asked yet.
type Ray struct {
	// AskedAt is when the request for the fields below was sent; zero without an answer.
	AskedAt time.Time
	// Unknown means that Ray has no record of the job.
	Unknown bool
	// Since is since when this process knows this status, or that Ray has no record.
	Since time.Time
	// Status, Message, StartTime and EndTime come from Ray. Times are zero if unknown.
	Status             rayv1.JobStatus
	Message            string
	StartTime, EndTime time.Time
	// FailingSince is the time of the first consecutive failure of the dashboard, FailedAt when the last failed request was sent,
	// and Failure its error. All are zero while the dashboard answers.
	FailingSince, FailedAt time.Time
	Failure                string
}

// answeredSince reports whether the dashboard answered a request that was sent at t or later.
func (r Ray) answeredSince(t time.Time) bool { return !r.AskedAt.IsZero() && !r.AskedAt.Before(t) }

// askedSince also counts failed requests.
func (r Ray) askedSince(t time.Time) bool {
	return r.answeredSince(t) || !r.FailedAt.IsZero() && !r.FailedAt.Before(t)
}

// Command is the result of the last request of its kind to Ray.
type Command struct {
	// Asked means that there was a request.
	Asked bool
	// Done means that there was an answer, or that there will be none. DoneAt is when that was known.
	Done   bool
	DoneAt time.Time
	// Failed means that it failed temporarily and may have taken effect. Refused means that Ray will never accept it. Message
	// contains the error.
	Failed, Refused bool
	// Missing means that it failed because Ray has no record of the job.
	Missing bool
	Message string
	// FailingSince is since when the first consecutive failure is known, also during a retry.
	FailingSince time.Time
}

// Limits are configurable durations.
type Limits struct {
	// Transition is how long a submitter may run after the end of the Ray job.
	Transition time.Duration
	// StatusCheck is how long the dashboard may be unreachable.
	StatusCheck time.Duration
	// SubmitterFinished is how long the Ray job may run after its submitter succeeded. 0 means no limit.
	SubmitterFinished time.Duration
	// Retry is the minimum time between the starts of the first and the second attempt. It doubles with each further attempt, up to
	// MaxRetry.
	Retry, MaxRetry time.Duration
	// History is how long a deletion waits for the record of an attempt.
	History time.Duration
}

// DefaultLimits returns those of KubeRay 1.7, except two. KubeRay has no delay between attempts. Its SubmitterFinished is 30
// seconds, which fails jobs that would succeed.
func DefaultLimits() Limits {
	return Limits{
		Transition: 300 * time.Second, StatusCheck: 300 * time.Second,
		Retry: 2 * time.Second, MaxRetry: 5 * time.Minute, History: time.Minute,
	}
}
