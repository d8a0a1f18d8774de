package rayjob

import (
	"cmp"
	"context"
	"maps"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/jobplan"
	"github.com/raygate/raygate/operator/internal/readiness"
	"github.com/raygate/raygate/operator/internal/reconcile"
	"github.com/raygate/raygate/operator/internal/report"
)

// mirrorTime is the minimum time between two status writes that differ only in the copy of the cluster's status.
const mirrorTime = 2 * time.Second

// persist saves the status if it changed, then sends the events.
func (r *Reconciler) persist(ctx context.Context, before *rayv1.RayJob, s *scope) error {
	after := s.job
	after.Status = nextStatus(before, s, r.known.since(s, "waits", s.plan.Waits))
	if !equality.Semantic.DeepEqual(before.Status, after.Status) {
		if wait := putOff(&before.Status, &after.Status, s.now); wait > 0 {
			s.after(wait)
			after.Status = before.Status
		} else {
			saved, again, err := r.versions.SaveStatus(ctx, r.config.Client, before, after)
			s.after(again)
			if !saved {
				report.Send(r.config.Recorder, before, report.Done(s.events))
				return err
			}
			if name := after.Status.RayClusterName; name != before.Status.RayClusterName && name != "" {
				r.begins(s, name)
			}
			if after.Status.JobDeploymentStatus != before.Status.JobDeploymentStatus {
				s.after(reconcile.Soon) // no watch covers the actions of the new state
			}
			s.events = append(s.events, eventsOf(before, after)...)
			if r.config.Metrics != nil && ends(before, after) {
				r.config.Metrics.ObserveEnd(before, after.Status.JobDeploymentStatus, s.now)
			}
		}
	}
	report.Send(r.config.Recorder, after, s.events)
	r.release(s, after)
	return nil
}

// begins records what no process has made for a new attempt, so that the API server is not asked for it. The name of the cluster is random. The
// Job of an earlier attempt is gone, and its creation finds one of another owner.
func (r *Reconciler) begins(s *scope, cluster string) {
	if !s.selects() {
		r.known.since(s, absent(&rayv1.RayCluster{}), cluster)
	}
	if s.mode() == rayv1.K8sJobMode {
		r.known.since(s, absent(&batchv1.Job{}), s.job.Name)
	}
}

// nextStatus returns the planned status. If an action was held, the state stays and the message has the reason.
func nextStatus(before *rayv1.RayJob, s *scope, waitsSince time.Time) rayv1.RayJobStatus {
	st := s.plan.Status
	if s.held && st.JobDeploymentStatus != before.Status.JobDeploymentStatus {
		before.Status.DeepCopyInto(&st)
	}
	problem, refusal := cmp.Or(s.problem, strings.Join(s.warnings, "; ")), ""
	if problem != "" && st.JobStatus == rayv1.JobStatusNew && !st.JobDeploymentStatus.IsTerminal() && !jobplan.GivesUp(&st) {
		st.Message, refusal = problem, s.problem
	}
	if s.plan.Rule != "" && !s.held {
		st.ObservedGeneration = before.Generation
	}
	mirror(s, &st)
	for _, t := range []**metav1.Time{
		&st.StartTime, &st.EndTime, &st.RayJobStatusInfo.StartTime, &st.RayJobStatusInfo.EndTime, &st.JobStatusCheckFailureStartTime,
	} {
		if *t != nil { // in stored precision, so that an unchanged status compares as equal
			*t = &metav1.Time{Time: (*t).Truncate(time.Second)}
		}
	}
	if !before.Status.JobDeploymentStatus.IsTerminal() { // jobs that KubeRay has ended get no conditions
		setConditions(&st, before.Generation, s.now, s.waits(waitsSince))
		readiness.RayJob(&st, before, refusal, s.now.Truncate(time.Second))
	}
	return st
}

// told is how long a wait lasts before the status reports it: short waits are not worth a write.
const told = time.Minute

// waits returns what the RayJob waits for and since when, after told has passed.
func (s *scope) waits(since time.Time) string {
	if s.plan.Waits == "" {
		return ""
	}
	text := " for " + s.plan.Waits
	if c := meta.FindStatusCondition(s.job.Status.Conditions, rayv1.RayJobRunning); c != nil && strings.HasSuffix(c.Message, text) {
		return c.Message // as an earlier process reported it
	}
	if rest := told - s.now.Sub(since); rest > 0 {
		s.after(rest)
		return ""
	}
	return "waiting since " + since.UTC().Format(time.RFC3339) + text
}

// mirror copies the status of an existing cluster if more than times differ.
func mirror(s *scope, st *rayv1.RayJobStatus) {
	if s.cluster == nil || st.RayClusterName != s.cluster.Name || st.JobDeploymentStatus.IsTerminal() && s.cluster.DeletionTimestamp != nil {
		return
	}
	switch st.JobDeploymentStatus {
	case rayv1.JobDeploymentStatusInitializing, rayv1.JobDeploymentStatusWaiting, rayv1.JobDeploymentStatusRunning, rayv1.JobDeploymentStatusValidationFailed:
	default:
		return
	}
	if !sameToUsers(&st.RayClusterStatus, &s.cluster.Status) {
		s.cluster.Status.DeepCopyInto(&st.RayClusterStatus)
	}
}

func sameToUsers(a, b *rayv1.RayClusterStatus) bool {
	return a.State == b.State && a.Reason == b.Reason &&
		a.ReadyWorkerReplicas == b.ReadyWorkerReplicas && a.AvailableWorkerReplicas == b.AvailableWorkerReplicas &&
		a.DesiredWorkerReplicas == b.DesiredWorkerReplicas && a.MinWorkerReplicas == b.MinWorkerReplicas &&
		a.MaxWorkerReplicas == b.MaxWorkerReplicas && maps.Equal(a.Endpoints, b.Endpoints) && a.Head == b.Head &&
		equality.Semantic.DeepEqual(a.Conditions, b.Conditions)
}

// putOff returns how long to wait for more changes of the cluster before the status is written, or 0.
func putOff(before, after *rayv1.RayJobStatus, now time.Time) time.Duration {
	b, a := *before, *after
	last := b.RayClusterStatus.LastUpdateTime
	ready := a.RayClusterStatus.State != b.RayClusterStatus.State
	b.RayClusterStatus, a.RayClusterStatus = rayv1.RayClusterStatus{}, rayv1.RayClusterStatus{}
	b.Conditions, a.Conditions = readiness.Without(b.Conditions), readiness.Without(a.Conditions) // they follow the cluster
	if ready || last == nil || !equality.Semantic.DeepEqual(b, a) {
		return 0
	}
	if age := now.Sub(last.Time); age >= 0 && age < mirrorTime {
		return mirrorTime - age
	}
	return 0
}

// release drops the poller's state that is no longer needed.
func (r *Reconciler) release(s *scope, after *rayv1.RayJob) {
	switch st := after.Status.JobDeploymentStatus; {
	case st.IsTerminal(), st == rayv1.JobDeploymentStatusNew, st == rayv1.JobDeploymentStatusSuspended:
		r.tracker.forget(after.UID)
	case !s.held && !s.asks(jobplan.Poll, jobplan.Submit, jobplan.Stop):
		r.tracker.unfollow(after.UID)
	}
}

// ends reports whether the attempt ends with this write.
func ends(before, after *rayv1.RayJob) bool {
	over := func(st rayv1.JobDeploymentStatus) bool {
		return st.IsTerminal() || st == rayv1.JobDeploymentStatusRetrying
	}
	return !over(before.Status.JobDeploymentStatus) && over(after.Status.JobDeploymentStatus)
}
