package jobplan

import rayv1 "github.com/raygate/raygate/api/ray/v1"

const (
	fresh        = rayv1.JobDeploymentStatusNew
	initializing = rayv1.JobDeploymentStatusInitializing
	waiting      = rayv1.JobDeploymentStatusWaiting
	running      = rayv1.JobDeploymentStatusRunning
	complete     = rayv1.JobDeploymentStatusComplete
	failed       = rayv1.JobDeploymentStatusFailed
	rejected     = rayv1.JobDeploymentStatusValidationFailed
	suspending   = rayv1.JobDeploymentStatusSuspending
	suspendedNow = rayv1.JobDeploymentStatusSuspended
	retrying     = rayv1.JobDeploymentStatusRetrying
)

// table is the life cycle: per state the rules in the order in which they are tried. Where a rule leads to Failed, Retrying
// may come of it.
var table = map[rayv1.JobDeploymentStatus][]rule{
	fresh: {
		{"Invalid", rejected, invalid, toInvalid},
		{"Begin", initializing, always, begin},
	},
	initializing: {
		{"GivingUp", failed, givenUp, goOnGivingUp},
		{"Invalid", rejected, invalid, toInvalid},
		{"EndedBefore", running, (*step).ended, toRunning},
		{"FirstLook", initializing, firstLook, look},
		{"Suspend", suspending, suspended, nil},
		{"HeadLost", failed, headLost, loseHead},
		{"ClusterLost", failed, clusterLost, loseCluster},
		{"RecordLost", failed, recordLost, loseRecord},
		{"DeadlineExceeded", failed, deadlinePassed, exceedDeadline},
		{"PreRunningDeadlineExceeded", failed, preRunningPassed, exceedPreRunning},
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
		{"Invalid", rejected, invalid, toInvalid},
		{"Suspend", suspending, suspended, nil},
		{"DeadlineExceeded", failed, deadlinePassed, exceedDeadline},
		{"PreRunningDeadlineExceeded", failed, preRunningPassed, exceedPreRunning},
		{"JobGiven", running, jobGiven, takeJob},
		{"JobAwaited", waiting, always, awaitJob},
	},
	running: {
		{"GivingUp", failed, givenUp, goOnGivingUp},
		// First what Ray says at the end: neither a deadline nor a suspension undoes a result.
		{"JobFailed", failed, jobFailed, concludeFailed},
		{"JobEnded", complete, jobEnded, conclude},
		{"JobFailedSubmitterHangs", failed, failedTransitionOver, concludeLate},
		{"JobEndedSubmitterHangs", complete, endedTransitionOver, concludeLate},
		{"SubmitterAwaited", running, (*step).ended, awaitSubmitter},
		{"Invalid", rejected, invalid, toInvalid},
		{"FirstLook", running, firstLook, look},
		{"Suspend", suspending, suspended, nil},
		{"HeadLost", failed, headLost, loseHead},
		{"ClusterLost", failed, clusterLost, loseCluster},
		{"RecordLost", failed, recordLost, loseRecord},
		{"SubmissionFailed", failed, submissionFailed, failSubmission},
		{"SubmitterFinished", failed, submitterTimedOut, exceedSubmitter},
		{"DeadlineExceeded", failed, deadlinePassed, exceedDeadline},
		{"StatusCheckTimeout", failed, checksTimedOut, exceedChecks},
		{"SelectedClusterMissing", running, selectedMissing, awaitSelected},
		{"ClusterMissing", running, clusterMissing, recreateCluster},
		{"SubmissionDue", running, submissionDue, submit},
		{"SubmitterMissing", running, submitterMissing, recreateSubmitter},
		{"Watch", running, always, watch},
	},
	suspending: {
		{"JobToStop", suspending, toStopFirst, stopFirst},
		{"ChildrenLeft", suspending, childrenLeft, deleteChildren},
		{"Suspended", suspendedNow, always, endAttempt},
	},
	suspendedNow: {
		{"Suspended", suspendedNow, suspended, nil},
		{"Resume", fresh, always, nil},
	},
	retrying: {
		{"JobToStop", retrying, toStopFirst, stopFirst},
		{"ChildrenLeft", retrying, childrenLeft, deleteChildren},
		{"Pause", retrying, tooSoon, pause},
		{"Retry", fresh, always, endAttempt},
	},
	rejected: {
		// An operator that validates at the end, too, leaves jobs here that are over.
		{"FailedBefore", failed, failedBefore, forgetInvalid},
		{"CompletedBefore", complete, completedBefore, forgetInvalid},
		{"GivingUp", failed, givenUp, goOnGivingUp},
		{"JobFailed", failed, jobFailed, concludeFailed},
		{"JobEnded", complete, jobEnded, conclude},
		{"FirstLook", rejected, firstLook, look},
		{"Suspend", suspending, suspendedMeanwhile, nil},
		{"DeadlineExceeded", failed, runsPastDeadline, exceedDeadline},
		{"Invalid", rejected, invalid, toInvalid},
		{"RepairedRunning", running, wasRunning, forgetInvalid},
		{"RepairedWaiting", waiting, wasWaiting, forgetInvalid},
		{"RepairedInitializing", initializing, wasInitializing, forgetInvalid},
		{"Repaired", fresh, always, forgetInvalid},
	},
	complete: {{"CleanUp", complete, always, cleanUp}},
	failed:   {{"CleanUp", failed, always, cleanUp}},
}
