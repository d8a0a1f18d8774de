package rayservice

import (
	"context"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/readiness"
	"github.com/raygate/raygate/operator/internal/reconcile"
	"github.com/raygate/raygate/operator/internal/report"
	"github.com/raygate/raygate/operator/internal/serveplan"
)

// persist saves the status if it changed, then sends the events.
func (r *Reconciler) persist(ctx context.Context, before *rayv1.RayService, s *scope) error {
	slices.Sort(s.refused)
	if !slices.Equal(s.refused, s.in.Refusals) {
		r.refusals.Set(before.UID, "", s.refused)
		s.after(reconcile.Soon)
	}
	after := s.service
	after.Status = s.plan.Status
	readiness.RayService(after, before.Status.Conditions, s.configuring(), s.now)
	s.events = append(s.events, eventsOf(s.plan)...)
	if gone := s.plan.RollbackImpossible; gone != "" && r.said.News(before.UID, "rollback", gone) {
		s.events = append(s.events, report.Warning("RollbackImpossible", actionReconcile, "RayCluster "+gone+" is gone; the upgrade goes on without it"))
	}
	if !serveplan.Differs(&before.Status, &after.Status) {
		report.Send(r.config.Recorder, after, s.events)
		return nil
	}
	if wait := r.putOff(before, after, s); wait > 0 {
		s.lookAgain = wait // the plan asks for a look at a status that is saved
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

// startTime is how long the status of a service that starts waits for the first endpoint, which follows an answer of the proxy on the head.
const startTime = maxProbePause + time.Second

// putOff returns how long to wait before the status is written, or 0. When a service starts, its Services, the choice of its first cluster and its
// first endpoint follow each other: one write is enough for them.
func (r *Reconciler) putOff(before, after *rayv1.RayService, s *scope) time.Duration {
	starts := before.Status.ActiveServiceStatus.RayClusterName == "" && s.plan.Services != "" && after.Status.NumServeEndpoints == 0 && !s.in.Strategy.Steps
	if troubled := len(s.refused)+len(s.errs) > 0 || len(report.Done(s.events)) < len(s.events); troubled || !starts {
		r.starting.Forget(before.UID)
		return 0
	}
	since, waits := r.starting.Get(before.UID, "")
	if !waits {
		since = s.now
		r.starting.Set(before.UID, "", since)
	}
	return max(0, startTime-s.now.Sub(since))
}

// configuring reports whether Ray Serve on the active cluster has not reported on the present configuration yet.
func (s *scope) configuring() bool {
	return len(s.plan.Deploy) > 0 || s.in.Clusters[s.plan.Status.ActiveServiceStatus.RayClusterName].Serve.Busy
}
