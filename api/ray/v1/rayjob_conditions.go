package v1

// Condition types of a RayJob, of which KubeRay has none. They follow from jobStatus, jobDeploymentStatus and reason, and all but
// RayJobRunning are absent before they are True for the first time.
const (
	// RayJobRunning is True while Ray runs the program. Otherwise its reason names the missing part.
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
	// ReasonJobRunning means that Ray runs the program.
	ReasonJobRunning = "JobRunning"
	// ReasonClusterNotReady means that the RayCluster is not ready yet.
	ReasonClusterNotReady = "ClusterNotReady"
	// ReasonJobAwaited means that spec.jobId is missing in InteractiveMode.
	ReasonJobAwaited = "JobAwaited"
	// ReasonJobNotSubmitted means that the job has not been submitted to Ray yet.
	ReasonJobNotSubmitted = "JobNotSubmitted"
	// ReasonJobPending means that Ray has not started the program yet.
	ReasonJobPending = "JobPending"
	// ReasonJobEnded means that the program has ended, or that the operator gave up on it.
	ReasonJobEnded = "JobEnded"
	// ReasonJobRetrying means that an attempt failed and the next one has not begun.
	ReasonJobRetrying = "JobRetrying"
	// ReasonJobSuspended means that the job is suspended, or is being suspended. It is also the reason of RayJobSuspended.
	ReasonJobSuspended = "JobSuspended"
	// ReasonJobInvalid means that the object breaks rules. It is also the reason of RayJobInvalidSpec.
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
	// ReasonJobStopped means that the Ray job was stopped by a request to Ray.
	ReasonJobStopped = "JobStopped"
	// ReasonDashboardNotAnswering and ReasonDashboardAnswers are those of RayJobDashboardUnreachable.
	ReasonDashboardNotAnswering = "DashboardNotAnswering"
	// ReasonDashboardAnswers means that the dashboard answers again.
	ReasonDashboardAnswers = "DashboardAnswers"
)
