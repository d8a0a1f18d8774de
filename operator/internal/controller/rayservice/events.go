package rayservice

import (
	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/report"
	"github.com/raygate/raygate/operator/internal/serveplan"
)

// Actions of events.
const (
	actionUpdate    = "Update"
	actionReconcile = "Reconcile"
)

func eventDeployed(cluster string) report.Event {
	return report.Normal("UpdatedServeApplications", actionUpdate, "Sent serveConfigV2 to Ray Serve on RayCluster %s", cluster)
}

func eventCapacity(cluster string, percent int32) report.Event {
	return report.Normal("UpdatedServeTargetCapacity", actionUpdate, "Set the target capacity of RayCluster %s to %d percent", cluster, percent)
}

func eventNotDeployed(cluster string, capacity bool, why string) report.Event {
	if capacity {
		return report.Warning("FailedToUpdateTargetCapacity", actionUpdate, "RayCluster "+cluster+": "+why)
	}
	return report.Warning("FailedToUpdateServeApplications", actionUpdate, "RayCluster "+cluster+": "+why)
}

// eventsOf returns the events for decisions of a plan.
func eventsOf(p serveplan.Plan) []report.Event {
	var list []report.Event
	if p.TimedOut != "" {
		list = append(list, report.Warning("RayServiceInitializingTimeout", actionReconcile, p.TimedOut))
	}
	if p.Overdue != "" {
		list = append(list, report.Warning(rayv1.ReasonProgressDeadlineExceeded, actionReconcile, p.Overdue))
	}
	for _, e := range []struct{ reason, text string }{{rayv1.RayServiceUpgradePaused, p.Paused}, {rayv1.ReasonUpgradeResumed, p.Resumed}, {rayv1.ReasonUpgradeAborted, p.Aborted}} {
		if e.text != "" {
			list = append(list, report.Normal(e.reason, actionReconcile, "%s", e.text))
		}
	}
	return list
}
