package simulation

import (
	"fmt"
	"math/rand/v2"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/simulation/apiserver"
	"github.com/raygate/raygate/pkg/dashboard"
)

// idles gives the RayCluster a limit, and jobs that its user submits without a RayJob.
func (s *scenario) idles(r *rand.Rand) {
	annotations := map[string]string{}
	if r.IntN(4) > 0 {
		annotations[rayv1.AnnotationIdleTimeout] = []string{"40s", "90s"}[r.IntN(2)]
	}
	if r.IntN(3) == 0 {
		annotations[rayv1.AnnotationMaxAge] = []string{"60s", "100s"}[r.IntN(2)]
	}
	s.objects[0].SetAnnotations(annotations)
	for i := range r.IntN(4) {
		lasts := time.Duration(r.Int64N(int64(span)))
		s.add(r, fmt.Sprintf("a job runs for %s", lasts.Truncate(time.Second)), func(w *world) { w.use(fmt.Sprint("job-", i), lasts) })
	}
	if r.IntN(3) == 0 {
		s.add(r, "the RayCluster is kept for a minute", edit(kindCluster, demo, func(rc *rayv1.RayCluster) {
			metav1.SetMetaDataAnnotation(&rc.ObjectMeta, rayv1.AnnotationKeepUntil, time.Now().Add(time.Minute).Format(time.RFC3339))
		}))
	}
	if r.IntN(2) == 0 {
		s.add(r, "the RayCluster is resumed", edit(kindCluster, demo, func(rc *rayv1.RayCluster) { rc.Spec.Suspend = new(false) }))
	}
	if r.IntN(2) == 0 {
		closing := 1 + r.IntN(3)
		annotations[rayv1.AnnotationSuspendSchedule] = fmt.Sprintf(daily, closing)
		if r.IntN(2) == 0 {
			annotations[rayv1.AnnotationResumeSchedule] = fmt.Sprintf(daily, closing+1+r.IntN(2))
		}
		if r.IntN(3) == 0 {
			annotations[rayv1.AnnotationSuspendGrace] = "30s"
		}
	}
	if limit, set := annotations[rayv1.AnnotationIdleTimeout]; set && r.IntN(4) == 0 {
		delete(annotations, rayv1.AnnotationIdleTimeout)
		parsed, _ := time.ParseDuration(limit)
		s.policy.IdleTimeout = &metav1.Duration{Duration: parsed}
	}
}

// daily is a schedule with a minute after midnight. The simulation begins at midnight and lasts for less than a day.
const daily = "%d 0 * * *"

// scheduled returns the only time of a schedule; zero without one.
func (w *world) scheduled(rc *rayv1.RayCluster, key string) time.Time {
	var minute int
	if n, _ := fmt.Sscanf(rc.Annotations[key], daily, &minute); n == 0 {
		return time.Time{}
	}
	return w.begin.Add(time.Duration(minute) * time.Minute)
}

// use runs a job on the cluster, if it has a head.
func (w *world) use(id string, lasts time.Duration) {
	head := w.rays.of(demo)
	if head == nil {
		return
	}
	head.Put(dashboard.Job{SubmissionID: id, Status: dashboard.Running})
	head.use(id)
	w.after(lasts, "end of "+id, func() {
		head.Set(id, dashboard.Succeeded, "")
	})
}

// use notes that a job begins.
func (h *ray) use(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.uses[id] = time.Now()
}

// usedFor returns how long the longest job that runs has been running; 0 for none.
func (h *ray) usedFor() (longest time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for id, since := range h.uses {
		if !h.final(id) {
			longest = max(longest, time.Since(since))
		}
	}
	return longest
}

// blindFor is how long a job may run before the operator has to know of it.
const blindFor = 20 * time.Second

// checkIdle looks at a cluster that the operator suspends or resumes. The caller holds the lock.
func (d *watchdog) checkIdle(c apiserver.Change) {
	before, after, ok := versions[*rayv1.RayCluster](c)
	switch {
	case !ok || c.Actor != actorOperator || before.Suspended() == after.Suspended():
	case before.Suspended():
		d.checkResumed(before)
	default:
		d.checkSuspended(before)
	}
}

// checkResumed looks at a cluster that the operator resumes. RayJobs and RayServices resume theirs as they want.
func (d *watchdog) checkResumed(rc *rayv1.RayCluster) {
	opening := d.world.scheduled(rc, rayv1.AnnotationResumeSchedule)
	expired := meta.IsStatusConditionTrue(rc.Status.Conditions, rayv1.RayClusterExpired)
	if metav1.GetControllerOf(rc) == nil && (!expired || opening.IsZero() || time.Now().Before(opening)) {
		d.violateLocked("resumedBySchedule", "%s is resumed; suspended by the operator: %t, resumption at %s", rc.Name, expired, opening)
	}
}

// checkSuspended looks at a cluster that the operator suspends.
func (d *watchdog) checkSuspended(rc *rayv1.RayCluster) {
	if until, err := time.Parse(time.RFC3339, rc.Annotations[rayv1.AnnotationKeepUntil]); err == nil && time.Now().Before(until) {
		d.violateLocked("neverIdleInUse", "%s is suspended although it is kept until %s", rc.Name, until)
	}
	e := meta.FindStatusCondition(rc.Status.Conditions, rayv1.RayClusterExpired)
	if e == nil {
		return
	}
	scheduled := e.Reason == rayv1.ReasonSuspendSchedule
	patient := e.Reason == rayv1.ReasonIdleTimeout || scheduled && rc.Annotations[rayv1.AnnotationSuspendGrace] == ""
	if head := d.world.rays.of(rc.Name); patient && head != nil && head.usedFor() > blindFor {
		d.violateLocked("neverIdleInUse", "%s is suspended as idle while a job runs for %s", rc.Name, head.usedFor())
	}
	if closing := d.world.scheduled(rc, rayv1.AnnotationSuspendSchedule); scheduled && time.Now().Before(closing) {
		d.violateLocked("neverIdleInUse", "%s is suspended before %s", rc.Name, closing)
	}
}

// clusterIsIdle is about a cluster that is old, or on which nothing runs any more.
func clusterIsIdle(w *world, rc *rayv1.RayCluster) (string, bool) {
	head := w.rays.of(rc.Name)
	_, idle := rc.Annotations[rayv1.AnnotationIdleTimeout]
	idle = idle || w.policy.IdleTimeout != nil || w.isClosed(rc)
	_, old := rc.Annotations[rayv1.AnnotationMaxAge]
	due := old || idle && (controlledBy(rc, "RayJob") != "" || head != nil && (head.usedFor() > 0 || clusterIsUp(rc)))
	return "is in use, or idle or old and not suspended", due && !isSuspended(rc)
}

// isClosed reports whether the cluster should have been suspended by its schedule, and was not due to be resumed since.
func (w *world) isClosed(rc *rayv1.RayCluster) bool {
	begun := rc.CreationTimestamp.Time
	if c := meta.FindStatusCondition(rc.Status.Conditions, rayv1.RayClusterSuspended); c != nil && c.LastTransitionTime.After(begun) {
		begun = c.LastTransitionTime.Time
	}
	closing := w.scheduled(rc, rayv1.AnnotationSuspendSchedule)
	return rc.Annotations[rayv1.AnnotationResumeSchedule] == "" && begun.Before(closing)
}

// clusterIsScheduled is about a cluster whose schedule will suspend or resume it, or should have resumed it.
func clusterIsScheduled(w *world, rc *rayv1.RayCluster) (string, bool) {
	e := meta.FindStatusCondition(rc.Status.Conditions, rayv1.RayClusterExpired)
	opening := w.scheduled(rc, rayv1.AnnotationResumeSchedule)
	late := isSuspended(rc) && e != nil && e.Status == metav1.ConditionTrue && e.LastTransitionTime.Time.Before(opening)
	return "awaits its schedule", late || time.Now().Before(opening) || time.Now().Before(w.scheduled(rc, rayv1.AnnotationSuspendSchedule))
}

// clusterIsUp reports whether the head is ready, so that it can be asked.
func clusterIsUp(rc *rayv1.RayCluster) bool {
	return meta.IsStatusConditionTrue(rc.Status.Conditions, rayv1.HeadPodReady)
}
