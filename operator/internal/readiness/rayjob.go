package readiness

import (
	"time"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/conditions"
)

// RayJob sets the three conditions of a job. They follow from its other conditions, and from its cluster while the job waits for that.
// refusal is why a child of the job cannot be created; empty if none is refused.
//
// Ready is True after the job has succeeded or was stopped. A job that may still run is in progress, also between attempts.
func RayJob(st *rayv1.RayJobStatus, rj *rayv1.RayJob, refusal string, now time.Time) {
	c := edit(&st.Conditions, rj.Generation, now)
	verdictOnJob(st, rj, c, refusal).apply(c)
}

func verdictOnJob(st *rayv1.RayJobStatus, rj *rayv1.RayJob, c conditions.Editor, refusal string) verdict {
	switch st.JobDeploymentStatus {
	case rayv1.JobDeploymentStatusComplete:
		reason, message := said(c, rayv1.RayJobComplete)
		return ready(reason, message)
	case rayv1.JobDeploymentStatusFailed:
		return stalled(said(c, rayv1.RayJobFailed))
	case rayv1.JobDeploymentStatusValidationFailed:
		return stalled(said(c, rayv1.RayJobInvalidSpec))
	case rayv1.JobDeploymentStatusSuspended:
		return suspended(rj)
	case rayv1.JobDeploymentStatusInitializing:
		if o := obstacleOf(st.RayClusterName, &st.RayClusterStatus); o.Reason != "" && refusal == "" {
			return of(o)
		}
	case rayv1.JobDeploymentStatusNew, rayv1.JobDeploymentStatusWaiting, rayv1.JobDeploymentStatusRunning,
		rayv1.JobDeploymentStatusSuspending, rayv1.JobDeploymentStatusRetrying:
	}
	if refusal != "" {
		return of(refused(rayv1.ReasonChildRefused, refusal))
	}
	return progressing(said(c, rayv1.RayJobRunning))
}

// said returns the reason and the message of a condition.
func said(c conditions.Editor, kind string) (reason, message string) {
	if found := c.Find(kind); found != nil {
		return found.Reason, found.Message
	}
	return rayv1.ReasonUnknown, ""
}

// obstacleOf returns what a cluster waits for, or why it is stalled, as its own conditions have it; the zero value for neither.
func obstacleOf(name string, st *rayv1.RayClusterStatus) Obstacle {
	c := edit(&st.Conditions, 0, time.Time{})
	for _, kind := range []string{rayv1.ConditionStalled, rayv1.ConditionReconciling} {
		found := c.Find(kind)
		if found == nil {
			continue
		}
		if o := (Obstacle{found.Reason, "RayCluster " + name + ": " + found.Message}); o.stalls() == (kind == rayv1.ConditionStalled) {
			return o
		}
	}
	return Obstacle{}
}
