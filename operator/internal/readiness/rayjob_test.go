package readiness

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// jobOf returns a job in a state whose condition Running has this reason, changed, with its three conditions.
func jobOf(st rayv1.JobDeploymentStatus, running metav1.Condition, change func(*rayv1.RayJob)) *rayv1.RayJob {
	rj := &rayv1.RayJob{TypeMeta: typeOf("RayJob"), ObjectMeta: named()}
	rj.Status = rayv1.RayJobStatus{JobDeploymentStatus: st, ObservedGeneration: 1, Conditions: []metav1.Condition{running}}
	if st != rayv1.JobDeploymentStatusSuspended {
		rj.Status.RayClusterName, rj.Status.JobId = "demo-x2k4d", "demo-p4fzs"
	}
	refusal := ""
	if change != nil {
		change(rj)
		refusal, rj.Annotations = rj.Annotations["refusal"], nil
	}
	RayJob(&rj.Status, rj, refusal, now)
	return rj
}

// jobWith adds a condition.
func jobWith(c metav1.Condition) func(*rayv1.RayJob) {
	return func(rj *rayv1.RayJob) { put(&rj.Status.Conditions, c) }
}

func jobRefused(message string) func(*rayv1.RayJob) {
	return func(rj *rayv1.RayJob) {
		rj.Status.Message, rj.Annotations = message, map[string]string{"refusal": message}
	}
}

func jobCluster(conditions []metav1.Condition) func(*rayv1.RayJob) {
	return func(rj *rayv1.RayJob) { rj.Status.RayClusterStatus.Conditions = conditions }
}

// endedUnderKubeRay returns a job without conditions, which KubeRay does not write.
func endedUnderKubeRay(st rayv1.JobDeploymentStatus, message string) *rayv1.RayJob {
	rj := jobOf(st, metav1.Condition{}, nil)
	rj.Status.Conditions, rj.Status.Message = nil, message
	return rj
}

func jobStates() []state {
	const (
		initializing = rayv1.JobDeploymentStatusInitializing
		running      = rayv1.JobDeploymentStatusRunning
		failed       = rayv1.JobDeploymentStatusFailed
		complete     = rayv1.JobDeploymentStatusComplete
		suspended    = rayv1.JobDeploymentStatusSuspended
	)
	not := func(reason, message string) metav1.Condition { return isNot(rayv1.RayJobRunning, reason, message) }
	runs := is(rayv1.RayJobRunning, rayv1.ReasonJobRunning, "Job is currently running.")
	starts := not(rayv1.ReasonClusterNotReady, "waiting since 2026-03-01T12:00:00Z for RayCluster demo-x2k4d to be ready")
	ended := not(rayv1.ReasonJobEnded, "")
	rests := not(rayv1.ReasonJobSuspended, "")
	invalid := is(rayv1.RayJobInvalidSpec, rayv1.ReasonJobInvalid, "spec.entrypoint: Required value")
	const denied = `creating Job demo: admission webhook "jobs.example.com" denied the request: no owner label`
	const quota = `creating RayCluster demo-x2k4d: rayclusters.ray.io is forbidden: exceeded quota: team-a`
	return []state{
		{"new", inProgress, unobserved, &rayv1.RayJob{TypeMeta: typeOf("RayJob"), ObjectMeta: named()}},
		{"cluster-starts", inProgress, "", jobOf(initializing, starts, nil)},
		{"cluster-waits-for-a-node", inProgress, "", jobOf(initializing, starts, jobCluster(waitingCluster()))},
		{"cluster-image-missing", degraded, "", jobOf(initializing, starts, jobCluster(stuckCluster()))},
		{"cluster-waits-for-a-quota", inProgress, "", jobOf(initializing, not(rayv1.ReasonClusterNotReady, quota), jobRefused(quota))},
		{"submitter-denied", degraded, "", jobOf(running, not(rayv1.ReasonJobNotSubmitted, denied), jobRefused(denied))},
		{"interactive", inProgress, "", jobOf(rayv1.JobDeploymentStatusWaiting, not(rayv1.ReasonJobAwaited, ""), nil)},
		{"submitting", inProgress, "", jobOf(running, not(rayv1.ReasonJobNotSubmitted, ""), nil)},
		{"pending", inProgress, "", jobOf(running, not(rayv1.ReasonJobPending, ""), nil)},
		{"running", inProgress, "", jobOf(running, runs, nil)},
		{"running-while-a-worker-image-is-missing", inProgress, "", jobOf(running, runs, jobCluster(stuckCluster()))},
		{"dashboard-unreachable", inProgress, "", jobOf(running, runs, jobWith(is(rayv1.RayJobDashboardUnreachable, rayv1.ReasonDashboardNotAnswering, "")))},
		{"retrying", inProgress, "", jobOf(rayv1.JobDeploymentStatusRetrying, not(rayv1.ReasonJobRetrying, "the head Pod was lost"), nil)},
		{"complete", healthy, "", jobOf(complete, ended, jobWith(is(rayv1.RayJobComplete, rayv1.ReasonJobSucceeded, "Job finished successfully.")))},
		{"stopped", healthy, "", jobOf(complete, ended, jobWith(is(rayv1.RayJobComplete, rayv1.ReasonJobStopped, "Job was intentionally stopped.")))},
		{"failed", degraded, "", jobOf(failed, ended, jobWith(is(rayv1.RayJobFailed, string(rayv1.AppFailed), "Job entrypoint command failed with exit code 1")))},
		{"deadline-exceeded", degraded, "", jobOf(failed, ended, jobWith(is(rayv1.RayJobFailed, string(rayv1.DeadlineExceeded), "the job ran longer than 600 seconds")))},
		{"suspending", inProgress, "", jobOf(rayv1.JobDeploymentStatusSuspending, rests, nil)},
		{"suspended", onPurpose, "", jobOf(suspended, rests, jobWith(is(rayv1.RayJobSuspended, rayv1.ReasonJobSuspended, "")))},
		{"queued", inProgress, "", jobOf(suspended, rests, func(rj *rayv1.RayJob) {
			rj.Labels = queued
			put(&rj.Status.Conditions, is(rayv1.RayJobSuspended, rayv1.ReasonJobSuspended, ""))
		})},
		{"invalid", degraded, "", jobOf(rayv1.JobDeploymentStatusValidationFailed, not(rayv1.ReasonJobInvalid, ""), jobWith(invalid))},
		{"invalid-while-it-runs", degraded, "", jobOf(rayv1.JobDeploymentStatusValidationFailed, runs, jobWith(invalid))},
		{"edited", inProgress, unobserved, edited(jobOf(running, runs, nil))},
		{"deleted", inProgress, beingPruned, deleted(jobOf(running, runs, nil))},
		{"complete-under-kuberay", healthy, "Job finished successfully.", endedUnderKubeRay(complete, "Job finished successfully.")},
		{"failed-under-kuberay", degraded, "Job entrypoint command failed", endedUnderKubeRay(failed, "Job entrypoint command failed")},
	}
}
