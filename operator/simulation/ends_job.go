package simulation

import (
	"fmt"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// jobEnds are the rules for RayJobs; the first that applies decides.
var jobEnds = []rule[*rayv1.RayJob]{
	isDeleted[*rayv1.RayJob],
	jobStrategyIsDue,
	jobHasEnded,
	jobHasDeadline,
	jobIsValidAgain,
	jobIsInvalidAndRuns,
	jobIsInvalidAndEnded,
	jobIsInvalid,
	jobIsSuspended,
	jobLacksCluster,
	jobAwaitsNamedJob,
	jobAwaitsResumption,
	jobAwaitsUser,
	jobContinues,
}

func jobStrategyIsDue(_ *world, j *rayv1.RayJob) (string, bool) {
	end := j.Status.EndTime
	return "has ended, and what its strategy deletes may be due later",
		j.Status.JobDeploymentStatus.IsTerminal() && j.Spec.DeletionStrategy != nil && end != nil && time.Since(end.Time) < time.Minute
}

func jobHasEnded(w *world, j *rayv1.RayJob) (string, bool) {
	st := &j.Status
	if !st.JobDeploymentStatus.IsTerminal() {
		return "", false
	}
	own := len(j.Spec.ClusterSelector) == 0
	keeps := own && j.Spec.ShutdownAfterJobFinishes && j.Spec.DeletionStrategy == nil && w.clusterObject(st.RayClusterName).Name != ""
	due := st.EndTime != nil && time.Since(st.EndTime.Time) > time.Duration(j.Spec.TTLSecondsAfterFinished)*time.Second
	return unless(!keeps, "is %s, and its cluster is not deleted (due %t)", st.JobDeploymentStatus, due), true
}

func jobHasDeadline(_ *world, j *rayv1.RayJob) (string, bool) {
	return "has a deadline, which ends it",
		j.Spec.ActiveDeadlineSeconds != nil && j.Status.StartTime != nil && !j.Spec.Suspend && j.Status.RayClusterName != ""
}

func isInvalid(j *rayv1.RayJob) bool {
	return j.Status.JobDeploymentStatus == rayv1.JobDeploymentStatusValidationFailed
}

func jobIsValidAgain(_ *world, j *rayv1.RayJob) (string, bool) {
	reported := isInvalid(j) && strings.Contains(j.Status.Message, "backoffLimit: Invalid value: -1")
	return "is valid and was not looked at", reported && (j.Spec.BackoffLimit == nil || *j.Spec.BackoffLimit >= 0)
}

func jobIsInvalidAndRuns(w *world, j *rayv1.RayJob) (string, bool) {
	st := &j.Status
	submits := !st.JobStatus.IsTerminal() && w.submits(j.Name, 10*time.Minute) // one that hangs never ends
	head := w.rays.of(st.RayClusterName)
	unrecorded := head != nil && head.has(st.JobId) && !st.JobStatus.IsTerminal()
	begins := j.Spec.SubmissionMode == rayv1.SidecarMode && !st.JobStatus.IsTerminal() && w.awaitsSidecar(st.RayClusterName)
	return "is invalid, and its job continues", isInvalid(j) && (w.runs(st.RayClusterName, st.JobId) || submits || unrecorded || begins)
}

// jobIsInvalidAndEnded is about a job that becomes Complete or Failed once its submitter has ended, or the time for that is over.
func jobIsInvalidAndEnded(_ *world, j *rayv1.RayJob) (string, bool) {
	return "is invalid, and its job has ended", isInvalid(j) && j.Status.JobStatus.IsTerminal()
}

func jobIsInvalid(_ *world, j *rayv1.RayJob) (string, bool) {
	return unless(j.Status.Reason != "" && j.Status.Message != "", "is invalid without a reason"), isInvalid(j)
}

func jobIsSuspended(_ *world, j *rayv1.RayJob) (string, bool) {
	state := j.Status.JobDeploymentStatus
	return unless(state == rayv1.JobDeploymentStatusSuspended, "is %s and not Suspended", state), j.Spec.Suspend
}

// jobLacksCluster is about a job whose message reports that the selected cluster is missing.
func jobLacksCluster(w *world, j *rayv1.RayJob) (string, bool) {
	selected := w.clusterObject(j.Spec.ClusterSelector[rayv1.LabelCluster])
	return "", len(j.Spec.ClusterSelector) > 0 && selected.Name == "" && j.Status.Message != ""
}

// jobAwaitsNamedJob is about a job that waits for the submission that the user has named.
func jobAwaitsNamedJob(w *world, j *rayv1.RayJob) (string, bool) {
	st := &j.Status
	waits := j.Spec.SubmissionMode == rayv1.InteractiveMode && st.JobDeploymentStatus == rayv1.JobDeploymentStatusRunning
	return "", waits && st.JobStatus == "" && st.Message != "" && !w.runs(st.RayClusterName, st.JobId)
}

// jobAwaitsResumption is about a job whose cluster has expired before it was ready.
func jobAwaitsResumption(w *world, j *rayv1.RayJob) (string, bool) {
	rc := w.clusterObject(j.Status.RayClusterName)
	expired := meta.IsStatusConditionTrue(rc.Status.Conditions, rayv1.RayClusterExpired)
	return unless(strings.Contains(j.Status.Message, "is suspended"), "says %q of its suspended cluster", j.Status.Message), expired && isSuspended(rc)
}

func jobAwaitsUser(_ *world, j *rayv1.RayJob) (string, bool) {
	state := j.Status.JobDeploymentStatus
	return unless(state == rayv1.JobDeploymentStatusWaiting, "is %s and not Waiting", state),
		j.Spec.SubmissionMode == rayv1.InteractiveMode && j.Spec.PreRunningDeadlineSeconds == nil
}

func jobContinues(_ *world, j *rayv1.RayJob) (string, bool) {
	return fmt.Sprintf("is %s, Ray says %q: %s", j.Status.JobDeploymentStatus, j.Status.JobStatus, j.Status.Message), true
}

// awaitsSidecar reports whether the head of a cluster may submit a job yet. The cluster exists, and not for so long that its submitter must hang.
func (w *world) awaitsSidecar(cluster string) bool {
	rc := w.clusterObject(cluster)
	return rc.Name != "" && time.Since(rc.CreationTimestamp.Time) < 20*time.Minute
}

// runs reports whether Ray on a cluster has the job and the job has not ended.
func (w *world) runs(cluster, id string) bool {
	head := w.rays.of(cluster)
	return head != nil && !head.final(id)
}

// submits reports whether the Kubernetes Job of a RayJob has not ended, and was made no longer ago than that.
func (w *world) submits(name string, ago time.Duration) bool {
	job, ok := w.store.Find(kindJob, types.NamespacedName{Namespace: namespace, Name: name}).(*batchv1.Job)
	return ok && !finished(job) && time.Since(job.CreationTimestamp.Time) < ago
}
