package serveplan

import (
	"cmp"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// ProgressDeadline is how long a starting service or an upgrade may make no progress before it counts as stalled. In an
// incremental upgrade, the interval between steps is added. It equals the default of Deployments.
const ProgressDeadline = 10 * time.Minute

// overdue finds operations that take too long. KubeRay does not report them.
func (s *step) overdue() (reason, message string) {
	since, limit, what := s.inProgress()
	came, awaited := s.podsReady()
	switch p := s.pending(); {
	case since.IsZero():
		return "", ""
	case p == nil && s.pendingName() != "", awaited:
		return "", "" // the cluster is being created, or its deadline begins when its Pods are ready
	case p != nil:
		since = later(since, p.Made)
	}
	since = later(since, came)
	if at := since.Add(limit); s.in.Now.Before(at) {
		s.lookAt(at)
		return "", ""
	}
	return rayv1.ReasonProgressDeadlineExceeded, fmt.Sprintf("no step since %s: %s", since.UTC().Format(time.RFC3339), what)
}

// inProgress returns since when an upgrade or a start makes no progress, the limit for that, and what it waits for; the zero time if
// there is none.
func (s *step) inProgress() (since time.Time, limit time.Duration, what string) {
	up, ready := s.conds().Find(rayv1.RayServiceUpgradeInProgress), s.conds().Find(rayv1.RayServiceReady)
	switch {
	case up != nil && up.Status == metav1.ConditionTrue && s.is(rayv1.RayServiceUpgradePaused):
		return since, limit, what
	case up != nil && up.Status == metav1.ConditionTrue:
		since, limit = later(up.LastTransitionTime.Time, s.resumedAt()), ProgressDeadline
		if s.inSteps() {
			u := s.state()
			since, limit = later(since, u.Shifted), limit+u.Interval
			if a := s.analysis(); a != nil {
				limit += a.For
			}
		}
		return since, limit, up.Message
	case ready != nil && ready.Status == metav1.ConditionFalse && (ready.Reason == rayv1.ReasonRayServiceInitializing || ready.Reason == rayv1.ReasonZeroServeEndpoints):
		return ready.LastTransitionTime.Time, ProgressDeadline, withReason(ready.Message, s.waits)
	}
	return since, limit, what
}

// podsReady returns when the Pods of the cluster that is being prepared became ready, the zero time for not yet. awaited means that
// they wait for a node or a quota.
func (s *step) podsReady() (since time.Time, awaited bool) {
	c := s.live(cmp.Or(s.pendingName(), s.activeName()))
	if c == nil {
		return since, false
	}
	if work := meta.FindStatusCondition(c.Status.Conditions, rayv1.ConditionReconciling); work != nil && rayv1.Awaited(work.Reason) {
		return since, true
	}
	for _, kind := range []string{rayv1.HeadPodReady, rayv1.ConditionReady} {
		if came := meta.FindStatusCondition(c.Status.Conditions, kind); came != nil && came.Status == metav1.ConditionTrue {
			since = later(since, came.LastTransitionTime.Time)
		}
	}
	return since, false
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
