package rayjob

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/archive"
	"github.com/raygate/raygate/operator/internal/dashboards"
	"github.com/raygate/raygate/operator/internal/jobplan"
	"github.com/raygate/raygate/operator/internal/reconcile"
	"github.com/raygate/raygate/operator/internal/report"
)

// actionHistory is the action of events about the history.
const actionHistory = "KeepHistory"

// observeHistory finds out what became of the record of the attempt, once that is over.
func (r *Reconciler) observeHistory(_ context.Context, s *scope) (reconcile.Outcome, error) {
	if r.config.Archive == nil {
		return reconcile.Outcome{}, nil
	}
	if !jobplan.Over(s.job) {
		r.over.since(s, "history", "")
		r.followLog(s)
		return reconcile.Outcome{}, nil
	}
	k := archive.KeyOfJob(s.job)
	s.history = r.config.Archive.Outcome(k)
	says := k.Run()
	if s.job.DeletionTimestamp != nil {
		says += " deleted" // the last chance
	}
	s.in.History = jobplan.History{Wanted: true, Stored: s.history.Done, Since: r.over.since(s, "history", says)}
	waited := s.now.Sub(s.in.History.Since) >= s.in.Limits.History
	switch {
	case s.history.Lost != "":
		r.lost(s, "the record of the attempt is incomplete: "+s.history.Lost)
	case s.history.Failure != "" && waited:
		r.lost(s, "the attempt could not be recorded in time: "+s.history.Failure)
	case !s.history.Done && waited:
		r.lost(s, "the attempt could not be recorded in time: the history store does not answer")
	}
	return reconcile.Outcome{}, nil
}

// followLog begins to store the log of a job that has run for some time.
func (r *Reconciler) followLog(s *scope) {
	at, ok := r.siteOfJob(s)
	if !ok || s.in.Ray.Status != rayv1.JobStatusRunning {
		return
	}
	s.after(r.config.Archive.Follow(archive.KeyOfJob(s.job), s.job.Status.JobId, at, s.in.Ray.Since))
}

// lost reports a loss once. It does not concern the status of the RayJob.
func (r *Reconciler) lost(s *scope, text string) {
	if r.said.News(s.job.UID, actionHistory, text) {
		s.events = append(s.events, report.Warning("HistoryIncomplete", actionHistory, text))
	}
}

// keepHistory begins to store the record, or looks again when the next attempt is due.
func (r *Reconciler) keepHistory(_ context.Context, s *scope) {
	if s.history.Retry > 0 {
		s.after(s.history.Retry)
	}
	subject := archive.JobSubject(s.job, s.cluster, s.now)
	if st, ok := r.siteOfJob(s); ok {
		subject.Site = &st
	}
	key := client.ObjectKeyFromObject(s.job)
	r.config.Archive.Keep(subject, func() { r.waker.Wake(key) })
}

// siteOfJob returns the dashboard that has the log; false if there is none.
func (r *Reconciler) siteOfJob(s *scope) (dashboards.Site, bool) {
	if s.cluster == nil || s.job.Status.DashboardURL == "" || s.job.Status.JobId == "" {
		return dashboards.Site{}, false
	}
	return dashboards.SiteOf(s.cluster, s.job.Status.DashboardURL), true
}
