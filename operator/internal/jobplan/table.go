package jobplan

import rayv1 "github.com/raygate/raygate/api/ray/v1"

const (
	newJob           = rayv1.JobDeploymentStatusNew
	initializing     = rayv1.JobDeploymentStatusInitializing
	waiting          = rayv1.JobDeploymentStatusWaiting
	running          = rayv1.JobDeploymentStatusRunning
	complete         = rayv1.JobDeploymentStatusComplete
	failed           = rayv1.JobDeploymentStatusFailed
	validationFailed = rayv1.JobDeploymentStatusValidationFailed
	suspending       = rayv1.JobDeploymentStatusSuspending
	suspended        = rayv1.JobDeploymentStatusSuspended
	retrying         = rayv1.JobDeploymentStatusRetrying
)

// table is the life cycle: the rules of each state in the order of their evaluation. A rule that leads to Failed may result in
// Retrying.
var table = map[rayv1.JobDeploymentStatus][]rule{
	newJob: {
		{"Invalid", validationFailed, invalid, toInvalid},
		{"Begin", initializing, always, begin},
	},
	initializing: {
		{"GivingUp", failed, givenUp, goOnGivingUp},
		{"Invalid", validationFailed, invalid, toInvalid},
		{"EndedBefore", running, (*step).ended, toRunning},
		{"FirstLook", initializing, firstLook, look},
		{"Suspend", suspending, suspendWanted, nil},
		{"HeadLost", failed, headLost, loseHead},
		{"ClusterLost", failed, clusterLost, loseCluster},
		{"RecordLost", failed, recordLost, loseRecord},
		{"DeadlineExceeded", failed, deadlinePassed, exceedDeadline},
		{"PreRunningDeadlineExceeded", failed, preRunningPassed, exceedPreRunning},
		{"ClusterExpired", failed, clusterExpired, endExpired},
		{"SelectedClusterMissing", initializing, selectedMissing, awaitSelected},
		{"ClusterMissing", initializing, clusterMissing, createCluster},
		{"SidecarEnded", running, sidecarEnded, toRunning},
		{"ClusterNotReady", initializing, notReady, awaitReady},
		{"Interactive", waiting, interactive, toWaiting},
		{"SubmitterForeign", initializing, submitterForeign, awaitName},
		{"Ready", running, always, toRunning},
	},
	waiting: {
		{"GivingUp", failed, givenUp, goOnGivingUp},
		{"Invalid", validationFailed, invalid, toInvalid},
		{"Suspend", suspending, suspendWanted, nil},
		{"DeadlineExceeded", failed, deadlinePassed, exceedDeadline},
		{"PreRunningDeadlineExceeded", failed, preRunningPassed, exceedPreRunning},
		{"ClusterExpired", failed, clusterExpired, endExpired},
		{"JobGiven", running, jobGiven, takeJob},
		{"JobAwaited", waiting, always, awaitJob},
	},
	running: {
		{"GivingUp", failed, givenUp, goOnGivingUp},
		// Results of Ray come first: neither a deadline nor a suspension overrides a result.
		{"JobFailed", failed, jobFailed, concludeFailed},
		{"JobEnded", complete, jobEnded, concludeEnded},
		{"JobFailedSubmitterHangs", failed, failedTransitionOver, concludeLate},
		{"JobEndedSubmitterHangs", complete, endedTransitionOver, concludeLate},
		{"SubmitterAwaited", running, (*step).ended, awaitSubmitter},
		{"Invalid", validationFailed, invalid, toInvalid},
		{"FirstLook", running, firstLook, look},
		{"Suspend", suspending, suspendWanted, nil},
		{"ClusterExpired", failed, clusterExpired, endExpired},
		{"HeadLost", failed, headLost, loseHead},
		{"ClusterLost", failed, clusterLost, loseCluster},
		{"RecordLost", failed, recordLost, loseRecord},
		{"SubmissionFailed", failed, submissionFailed, failSubmission},
		{"SubmitterFinished", failed, submitterTimedOut, exceedSubmitter},
		{"DeadlineExceeded", failed, deadlinePassed, exceedDeadline},
		{"ClusterSuspended", running, clusterSuspended, awaitResumed},
		{"StatusCheckTimeout", failed, checksTimedOut, exceedChecks},
		{"SelectedClusterMissing", running, selectedMissing, awaitSelected},
		{"ClusterMissing", running, clusterMissing, recreateCluster},
		{"SubmissionDue", running, submissionDue, submit},
		{"SubmitterMissing", running, submitterMissing, recreateSubmitter},
		{"Watch", running, always, watch},
	},
	suspending: {
		{"JobToStop", suspending, toStopFirst, stopFirst},
		{"JobEnds", suspending, stopAwaited, awaitStop},
		{"HistoryAwaited", suspending, historyAwaited, keepHistory},
		{"ChildrenLeft", suspending, childrenLeft, deleteChildren},
		{"Suspended", suspended, always, endAttempt},
	},
	suspended: {
		{"Suspended", suspended, suspendWanted, nil},
		{"Resume", newJob, always, nil},
	},
	retrying: {
		{"JobToStop", retrying, toStopFirst, stopFirst},
		{"HistoryAwaited", retrying, historyAwaited, keepHistory},
		{"ClusterUndecided", retrying, keepUndecided, askAgain},
		{"ChildrenLeft", retrying, childrenLeft, deleteChildren},
		{"Pause", retrying, tooSoon, pause},
		{"Retry", newJob, always, endAttempt},
	},
	validationFailed: {
		// An operator that also validates finished jobs leaves them in this state.
		{"FailedBefore", failed, failedBefore, forgetInvalid},
		{"CompletedBefore", complete, completedBefore, forgetInvalid},
		{"GivingUp", failed, givenUp, goOnGivingUp},
		{"JobFailed", failed, jobFailed, concludeFailed},
		{"JobEnded", complete, jobEnded, concludeEnded},
		{"JobFailedSubmitterHangs", failed, failedTransitionOver, concludeLate},
		{"JobEndedSubmitterHangs", complete, endedTransitionOver, concludeLate},
		{"FirstLook", validationFailed, firstLook, look},
		{"Suspend", suspending, suspendedMeanwhile, nil},
		{"DeadlineExceeded", failed, runsPastDeadline, exceedDeadline},
		{"Invalid", validationFailed, invalid, toInvalid},
		{"RepairedRunning", running, wasRunning, forgetInvalid},
		{"RepairedWaiting", waiting, wasWaiting, forgetInvalid},
		{"RepairedInitializing", initializing, wasInitializing, forgetInvalid},
		{"Repaired", newJob, always, forgetInvalid},
	},
	complete: {{"CleanUp", complete, always, cleanUp}},
	failed:   {{"CleanUp", failed, always, cleanUp}},
}
