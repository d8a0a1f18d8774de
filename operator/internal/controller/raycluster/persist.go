package raycluster

import (
	"context"
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/report"
)

// settleTime is the minimum time between two status writes that contain only progress: counters, addresses, readiness of the head.
// Other changes are written at once, see urgent.
const settleTime = 2 * time.Second

// persist saves the status if it changed, then sends the events.
func (r *Reconciler) persist(ctx context.Context, before *rayv1.RayCluster, s *scope) error {
	if s.deleting {
		report.Send(r.config.Recorder, s.cluster, s.events)
		return nil
	}
	if s.madeService != "" {
		s.events = append(s.events, report.Normal("CreatedService", actionCreate, "Created Service %s", s.madeService))
	}
	updateStatus(s)
	after := s.cluster
	if !statusDiffers(&before.Status, &after.Status) {
		r.tell(s)
		return nil
	}
	if wait := putOff(before, s); wait > 0 {
		s.after(wait)
		report.Send(r.config.Recorder, after, report.Done(s.events)) // the next run produces the others again
		return nil
	}
	stamp(&before.Status, &after.Status, s.now)
	saved, again, err := r.versions.SaveStatus(ctx, r.config.Client, before, after)
	s.after(again)
	if !saved {
		report.Send(r.config.Recorder, after, report.Done(s.events))
		return err
	}
	r.tell(s)
	if r.config.Metrics != nil && provisioned(after) && !provisioned(before) {
		r.config.Metrics.ObserveProvisioned(after, s.now.Sub(after.CreationTimestamp.Time))
	}
	return nil
}

// tell sends the events of a stored status.
func (r *Reconciler) tell(s *scope) {
	report.Send(r.config.Recorder, s.cluster, s.events)
	texts := make([]string, len(s.children))
	for i, f := range s.children {
		texts[i] = f.message
	}
	r.said.Say(s.cluster.UID, saidChildren, texts...)
	for reason, messages := range s.warned {
		r.said.Say(s.cluster.UID, reason, messages...)
	}
}

// putOff returns how long to wait for more changes before the status is written, or 0. It uses the time of the last write in the
// object, so that a restart of the operator does not reset the wait.
func putOff(before *rayv1.RayCluster, s *scope) time.Duration {
	if urgent(&before.Status, &s.cluster.Status) {
		return 0
	}
	last := before.CreationTimestamp.Time
	if t := before.Status.LastUpdateTime; t != nil && t.After(last) {
		last = t.Time
	}
	if age := s.now.Sub(last); age >= 0 && age < settleTime { // a time in the future comes from another clock and is ignored
		return settleTime - age
	}
	return 0
}

// urgent reports whether users or other controllers may wait for the change.
func urgent(before, after *rayv1.RayClusterStatus) bool {
	if before.State != after.State || before.Reason != after.Reason || completes(before, after) {
		return true
	}
	const upgrade = rayv1.RayClusterUpgradeInProgress // its message has numbers
	if meta.IsStatusConditionTrue(before.Conditions, upgrade) != meta.IsStatusConditionTrue(after.Conditions, upgrade) {
		return true
	}
	for _, kind := range []string{
		rayv1.RayClusterInvalidSpec, rayv1.RayClusterReplicaFailure, rayv1.RayClusterStalled,
		rayv1.RayClusterProvisioned, rayv1.RayClusterSuspending, rayv1.RayClusterSuspended,
		rayv1.RayClusterBatchSchedulerProblem, rayv1.RayClusterChildFailure,
		rayv1.RayClusterExpired,
	} {
		b, a := meta.FindStatusCondition(before.Conditions, kind), meta.FindStatusCondition(after.Conditions, kind)
		if isTrue(b) != isTrue(a) || isTrue(a) && b.Message != a.Message {
			return true
		}
	}
	return false
}

// completes reports whether the workers now match the spec: the desired number is ready, or none is left.
func completes(before, after *rayv1.RayClusterStatus) bool {
	complete := func(st *rayv1.RayClusterStatus) bool {
		return st.ReadyWorkerReplicas == st.DesiredWorkerReplicas && st.AvailableWorkerReplicas == st.DesiredWorkerReplicas
	}
	changed := before.ReadyWorkerReplicas != after.ReadyWorkerReplicas || before.AvailableWorkerReplicas != after.AvailableWorkerReplicas ||
		before.DesiredWorkerReplicas != after.DesiredWorkerReplicas
	return changed && complete(after)
}

func isTrue(c *metav1.Condition) bool { return c != nil && c.Status == metav1.ConditionTrue }

func provisioned(rc *rayv1.RayCluster) bool {
	return meta.IsStatusConditionTrue(rc.Status.Conditions, rayv1.RayClusterProvisioned)
}

// statusDiffers compares all fields except the times of earlier writes.
func statusDiffers(a, b *rayv1.RayClusterStatus) bool {
	x, y := *a, *b
	x.LastUpdateTime, y.LastUpdateTime = nil, nil
	x.StateTransitionTimes, y.StateTransitionTimes = nil, nil
	return !equality.Semantic.DeepEqual(x, y)
}

// stamp sets the time of the write and of a change of the state.
func stamp(before, after *rayv1.RayClusterStatus, now time.Time) {
	after.LastUpdateTime = new(metav1.NewTime(now))
	if after.State == before.State || after.State == "" {
		return
	}
	times := maps.Clone(after.StateTransitionTimes)
	if times == nil {
		times = map[rayv1.ClusterState]*metav1.Time{}
	}
	times[after.State] = new(metav1.NewTime(now))
	after.StateTransitionTimes = times
}
