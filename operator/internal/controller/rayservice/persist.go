package rayservice

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/reconcile"
	"github.com/raygate/raygate/operator/internal/report"
	"github.com/raygate/raygate/operator/internal/serveplan"
)

// persist saves the status if it says something new, then sends the events.
func (r *Reconciler) persist(ctx context.Context, before *rayv1.RayService, s *scope) error {
	slices.Sort(s.refused)
	if !slices.Equal(s.refused, s.in.Refusals) {
		r.refusals.Set(before.UID, "", s.refused)
		s.after(reconcile.Soon)
	}
	after := s.service
	after.Status = s.plan.Status
	s.events = append(s.events, eventsOf(s.plan)...)
	if gone := s.plan.RollbackImpossible; gone != "" && r.said.News(before.UID, "rollback", gone) {
		s.events = append(s.events, report.Warning("RollbackImpossible", actionReconcile, "RayCluster "+gone+" is gone; the upgrade goes on without it"))
	}
	if !serveplan.Differs(&before.Status, &after.Status) {
		report.Send(r.config.Recorder, after, s.events)
		return nil
	}
	after.Status.LastUpdateTime = &metav1.Time{Time: s.now}
	saved, again, err := r.versions.SaveStatus(ctx, r.config.Client, before, after)
	s.after(again)
	if !saved {
		report.Send(r.config.Recorder, before, report.Done(s.events))
		return err
	}
	report.Send(r.config.Recorder, after, s.events)
	return nil
}

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

// eventsOf tell of what a plan has decided.
func eventsOf(p serveplan.Plan) []report.Event {
	var list []report.Event
	if p.TimedOut != "" {
		list = append(list, report.Warning("RayServiceInitializingTimeout", actionReconcile, p.TimedOut))
	}
	if p.Overdue != "" {
		list = append(list, report.Warning(rayv1.ReasonProgressDeadlineExceeded, actionReconcile, p.Overdue))
	}
	return list
}
