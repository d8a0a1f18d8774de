package v1

// Condition types of a RayJob, of which KubeRay has none. They follow from jobStatus, jobDeploymentStatus and reason, and all but
// RayJobRunning are absent before they are True for the first time.
const (
	// RayJobRunning is True while Ray runs the program. Its reason says what is missing otherwise.
	RayJobRunning = "Running"
	// RayJobSuspended is True while spec.suspend keeps the job from running and nothing of it is left.
	RayJobSuspended = "Suspended"
	// RayJobComplete turns True when the last attempt ended well, or was stopped, and stays.
	RayJobComplete = "Complete"
	// RayJobFailed turns True when the last attempt failed, and stays. Its reason is status.reason.
	RayJobFailed = "Failed"
	// RayJobInvalidSpec is True while the object breaks rules.
	RayJobInvalidSpec = "InvalidSpec"
	// RayJobDashboardUnreachable is True while Ray cannot be asked about the job.
	RayJobDashboardUnreachable = "DashboardUnreachable"
)

// Reasons of the condition RayJobRunning.
const (
	// ReasonJobRunning says that Ray runs the program.
	ReasonJobRunning = "JobRunning"
	// ReasonClusterNotReady says that the RayCluster is not ready yet.
	ReasonClusterNotReady = "ClusterNotReady"
	// ReasonJobAwaited says that spec.jobId is missing in InteractiveMode.
	ReasonJobAwaited = "JobAwaited"
	// ReasonJobNotSubmitted says that Ray has not got the job yet.
	ReasonJobNotSubmitted = "JobNotSubmitted"
	// ReasonJobPending says that Ray has not started the program yet.
	ReasonJobPending = "JobPending"
	// ReasonJobEnded says that the program has ended, or was given up on.
	ReasonJobEnded = "JobEnded"
	// ReasonJobRetrying says that an attempt failed and the next one has not begun.
	ReasonJobRetrying = "JobRetrying"
	// ReasonJobSuspended says that the job is suspended, or is being suspended. It is also the reason of RayJobSuspended.
	ReasonJobSuspended = "JobSuspended"
	// ReasonJobInvalid says that the object breaks rules. It is also the reason of RayJobInvalidSpec.
	ReasonJobInvalid = "InvalidRayJobSpec"
)

// Reasons of other conditions of a RayJob.
const (
	// ReasonJobResumed is that of RayJobSuspended when it turns False.
	ReasonJobResumed = "JobResumed"
	// ReasonJobRepaired is that of RayJobInvalidSpec when it turns False.
	ReasonJobRepaired = "SpecRepaired"
	// ReasonJobSucceeded and ReasonJobStopped are those of RayJobComplete.
	ReasonJobSucceeded = "JobSucceeded"
	// ReasonJobStopped says that the Ray job was stopped by a request to Ray.
	ReasonJobStopped = "JobStopped"
	// ReasonDashboardNotAnswering and ReasonDashboardAnswers are those of RayJobDashboardUnreachable.
	ReasonDashboardNotAnswering = "DashboardNotAnswering"
	// ReasonDashboardAnswers says that Ray can be asked again.
	ReasonDashboardAnswers = "DashboardAnswers"
)
