package raycluster

import (
	"context"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// settleTime is how long progress (counters, addresses, readiness of the head) is gathered before it is written. What
// somebody waits for is written at once, see urgent.
const settleTime = 2 * time.Second

// persist saves the status if it changed, then sends the events. It asks to look again when it put the saving off.
func (r *Reconciler) persist(ctx context.Context, before *rayv1.RayCluster, s *scope) (time.Duration, error) {
	if s.deleting {
		r.send(s.cluster, s.events)
		return 0, nil
	}
	if s.madeService != "" {
		s.tell("CreatedService", actionCreate, "Created Service %s", s.madeService)
	}
	updateStatus(s)
	after, now := s.cluster, s.now
	if !statusDiffers(&before.Status, &after.Status) {
		r.memory.update(before, func(m *remembered) { m.changedSince = time.Time{} })
		r.send(after, s.events)
		return s.lookAgain, nil
	}
	if wait := r.putOff(before, s, now); wait > 0 {
		r.send(after, facts(s.events)) // the next run comes to the others again
		return soonest(wait, s.lookAgain), nil
	}
	stamp(&before.Status, &after.Status, now)
	err := r.client.Status().Update(ctx, after)
	switch {
	case apierrors.IsConflict(err):
		// Somebody changed the object meanwhile. The next run reads it again; nothing of theirs is overwritten.
		r.send(after, facts(s.events))
		return cacheLag, nil
	case apierrors.IsNotFound(err):
		return 0, nil
	case err != nil:
		r.send(after, facts(s.events))
		return 0, fmt.Errorf("saving status: %w", err)
	}
	r.memory.update(before, func(m *remembered) {
		m.changedSince = time.Time{}
		if after.ResourceVersion != before.ResourceVersion {
			m.replaced = before.ResourceVersion
		}
	})
	r.send(after, s.events)
	if r.metrics != nil && provisioned(after) && !provisioned(before) {
		r.metrics.ObserveProvisioned(after, now.Sub(after.CreationTimestamp.Time))
	}
	return s.lookAgain, nil
}

// putOff returns how long the status should still wait for more changes, zero for not at all.
func (r *Reconciler) putOff(before *rayv1.RayCluster, s *scope, now time.Time) time.Duration {
	if urgent(&before.Status, &s.cluster.Status) {
		return 0
	}
	var since time.Time
	r.memory.update(before, func(m *remembered) {
		if m.changedSince.IsZero() {
			m.changedSince = now
		}
		since = m.changedSince
	})
	return max(0, settleTime-now.Sub(since))
}

// urgent reports whether the difference is something that a user or another controller waits for.
func urgent(before, after *rayv1.RayClusterStatus) bool {
	if before.State != after.State {
		return true
	}
	for _, kind := range []string{
		rayv1.RayClusterInvalidSpec, rayv1.RayClusterReplicaFailure, rayv1.RayClusterStalled,
		rayv1.RayClusterProvisioned, rayv1.RayClusterSuspending, rayv1.RayClusterSuspended,
		rayv1.RayClusterBatchSchedulerProblem, rayv1.RayClusterChildFailure,
	} {
		b, a := meta.FindStatusCondition(before.Conditions, kind), meta.FindStatusCondition(after.Conditions, kind)
		if truth(b) != truth(a) || truth(a) && b.Message != a.Message {
			return true
		}
	}
	return false
}

func truth(c *metav1.Condition) bool { return c != nil && c.Status == metav1.ConditionTrue }

func provisioned(rc *rayv1.RayCluster) bool {
	return meta.IsStatusConditionTrue(rc.Status.Conditions, rayv1.RayClusterProvisioned)
}

// statusDiffers compares everything but the times of earlier writes.
func statusDiffers(a, b *rayv1.RayClusterStatus) bool {
	x, y := *a, *b
	x.LastUpdateTime, y.LastUpdateTime = nil, nil
	x.StateTransitionTimes, y.StateTransitionTimes = nil, nil
	return !equality.Semantic.DeepEqual(x, y)
}

// stamp notes when the status was written and when the state was entered.
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

// facts are the events that stay true when the status could not be saved. The others belong to a condition, and are told
// when that is saved.
func facts(all []notice) []notice {
	var keep []notice
	for _, e := range all {
		if e.kind == corev1.EventTypeNormal {
			keep = append(keep, e)
		}
	}
	return keep
}

func (r *Reconciler) send(rc *rayv1.RayCluster, all []notice) {
	for _, e := range all {
		r.recorder.Eventf(rc, nil, e.kind, e.reason, e.action, "%s", e.note)
	}
}
