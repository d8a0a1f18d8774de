package rayjob

import (
	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/report"
)

// actionFinish is the action of events about the end of an attempt.
const actionFinish = "Finish"

// eventsOf returns the events for a newly saved status: those of failures. KubeRay sends none of them. A success has none, since the condition
// Complete says the same.
func eventsOf(before, after *rayv1.RayJob) []report.Event {
	st := &after.Status
	failed := "job " + st.JobId + " on RayCluster " + st.RayClusterName + " failed"
	why := ": " + string(st.Reason) + ": " + st.Message
	switch {
	case !ends(before, after), st.JobDeploymentStatus == rayv1.JobDeploymentStatusComplete:
		return nil
	case st.JobDeploymentStatus == rayv1.JobDeploymentStatusRetrying:
		return []report.Event{report.Warning("RayJobRetrying", actionFinish, failed+" and is tried again"+why)}
	default:
		return []report.Event{report.Warning("RayJobFailed", actionFinish, failed+why)}
	}
}
