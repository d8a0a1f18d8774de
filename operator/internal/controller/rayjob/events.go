package rayjob

import (
	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/report"
)

// actionFinish is the action of events about the end of an attempt.
const actionFinish = "Finish"

// eventsOf returns the events for a newly saved status. KubeRay sends none of them.
func eventsOf(before, after *rayv1.RayJob) []report.Event {
	if !ends(before, after) {
		return nil
	}
	st := &after.Status
	what := "job " + st.JobId + " on RayCluster " + st.RayClusterName
	switch st.JobDeploymentStatus {
	case rayv1.JobDeploymentStatusComplete:
		return []report.Event{report.Normal("RayJobCompleted", actionFinish, "%s ended: %s", what, st.JobStatus)}
	case rayv1.JobDeploymentStatusRetrying:
		return []report.Event{report.Warning("RayJobRetrying", actionFinish, what+" failed and is tried again: "+string(st.Reason)+": "+st.Message)}
	default:
		return []report.Event{report.Warning("RayJobFailed", actionFinish, what+" failed: "+string(st.Reason)+": "+st.Message)}
	}
}
