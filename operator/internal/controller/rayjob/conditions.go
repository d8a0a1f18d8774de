package rayjob

import (
	"cmp"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/conditions"
)

// maxConditionMessage keeps the log in Ray's message out of conditions; status.message contains it.
const maxConditionMessage = 512

// setConditions derives the conditions from the rest of the status and from what the RayJob waits for. Their messages are stable.
func setConditions(st *rayv1.RayJobStatus, generation int64, now time.Time, waits string) {
	c := conditions.Editor{List: &st.Conditions, Generation: generation, Now: now.Truncate(time.Second)}
	line, _, _ := strings.Cut(st.Message, "\n")
	message := conditions.Clip(line, maxConditionMessage)
	reason := reasonOfRunning(st)
	runs := reason == rayv1.ReasonJobRunning
	c.Set(rayv1.RayJobRunning, conditions.Status(runs), reason, cmp.Or(waits, message))

	sets := func(kind string, on bool, reason, message, reasonOff string) {
		switch {
		case on:
			c.Set(kind, metav1.ConditionTrue, reason, message)
		case c.Find(kind) != nil:
			c.Set(kind, metav1.ConditionFalse, reasonOff, "")
		}
	}
	state := st.JobDeploymentStatus
	ended := rayv1.ReasonJobSucceeded
	if st.JobStatus != rayv1.JobStatusSucceeded {
		ended = rayv1.ReasonJobStopped
	}
	sets(rayv1.RayJobComplete, state == rayv1.JobDeploymentStatusComplete, ended, message, reason)
	sets(rayv1.RayJobFailed, state == rayv1.JobDeploymentStatusFailed, string(st.Reason), message, reason)
	sets(rayv1.RayJobSuspended, state == rayv1.JobDeploymentStatusSuspended, rayv1.ReasonJobSuspended, "", rayv1.ReasonJobResumed)
	sets(rayv1.RayJobInvalidSpec, state == rayv1.JobDeploymentStatusValidationFailed, rayv1.ReasonJobInvalid, message, rayv1.ReasonJobRepaired)
	sets(rayv1.RayJobDashboardUnreachable, st.JobStatusCheckFailureStartTime != nil && !state.IsTerminal(),
		rayv1.ReasonDashboardNotAnswering, "Ray cannot be asked about the job", rayv1.ReasonDashboardAnswers)
}

// reasonOfRunning returns the reason of the condition Running, true or false.
func reasonOfRunning(st *rayv1.RayJobStatus) string {
	switch st.JobDeploymentStatus {
	case rayv1.JobDeploymentStatusComplete, rayv1.JobDeploymentStatusFailed:
		return rayv1.ReasonJobEnded
	case rayv1.JobDeploymentStatusSuspending, rayv1.JobDeploymentStatusSuspended:
		return rayv1.ReasonJobSuspended
	case rayv1.JobDeploymentStatusRetrying:
		return rayv1.ReasonJobRetrying
	case rayv1.JobDeploymentStatusWaiting:
		return rayv1.ReasonJobAwaited
	case rayv1.JobDeploymentStatusRunning, rayv1.JobDeploymentStatusInitializing, rayv1.JobDeploymentStatusValidationFailed, rayv1.JobDeploymentStatusNew:
	}
	switch { // also in Initializing, where a sidecar may have begun, and if the spec of a running job became invalid
	case st.JobStatus == rayv1.JobStatusRunning:
		return rayv1.ReasonJobRunning
	case st.JobStatus == rayv1.JobStatusPending:
		return rayv1.ReasonJobPending
	case st.JobStatus.IsTerminal():
		return rayv1.ReasonJobEnded
	case st.JobDeploymentStatus == rayv1.JobDeploymentStatusRunning:
		return rayv1.ReasonJobNotSubmitted
	case st.JobDeploymentStatus == rayv1.JobDeploymentStatusValidationFailed:
		return rayv1.ReasonJobInvalid
	default:
		return rayv1.ReasonClusterNotReady
	}
}
