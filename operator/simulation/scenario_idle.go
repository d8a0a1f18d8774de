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
}

// use runs a job on the cluster, if it has a head.
func (w *world) use(id string, lasts time.Duration) {
	head := w.rays.of(demo)
	if head == nil {
		return
	}
	head.Put(dashboard.Job{SubmissionID: id, Status: dashboard.Running})
	head.mu.Lock()
	head.uses[id] = time.Now()
	head.mu.Unlock()
	w.after(lasts, "end of "+id, func() {
		head.Set(id, dashboard.Succeeded, "")
		head.mu.Lock()
		delete(head.uses, id)
		head.mu.Unlock()
	})
}

// usedFor returns how long the longest job that runs has been running; 0 for none.
func (h *ray) usedFor() (longest time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, since := range h.uses {
		longest = max(longest, time.Since(since))
	}
	return longest
}

// blindFor is how long a job may run before the operator has to know of it.
const blindFor = 20 * time.Second

// checkIdle looks at a cluster that the operator suspends. The caller holds the lock.
func (d *watchdog) checkIdle(c apiserver.Change) {
	before, after, ok := versions[*rayv1.RayCluster](c)
	if !ok || c.Actor != actorOperator || before.Suspended() || !after.Suspended() {
		return
	}
	head := d.world.rays.of(after.Name)
	if until, err := time.Parse(time.RFC3339, after.Annotations[rayv1.AnnotationKeepUntil]); err == nil && time.Now().Before(until) {
		d.violateLocked("neverIdleInUse", "%s is suspended although it is kept until %s", after.Name, until)
	}
	for _, e := range before.Status.Conditions {
		if e.Type == rayv1.RayClusterExpired && e.Reason == rayv1.ReasonIdleTimeout && head != nil && head.usedFor() > blindFor {
			d.violateLocked("neverIdleInUse", "%s is suspended as idle while a job runs for %s", after.Name, head.usedFor())
		}
	}
}

// clusterIsIdle is about a cluster that is old, or on which nothing runs any more.
func clusterIsIdle(w *world, rc *rayv1.RayCluster) (string, bool) {
	head := w.rays.of(rc.Name)
	_, idle := rc.Annotations[rayv1.AnnotationIdleTimeout]
	_, old := rc.Annotations[rayv1.AnnotationMaxAge]
	due := old || idle && head != nil && (head.usedFor() > 0 || clusterIsUp(rc))
	return "is in use, or idle or old and not suspended", due && !isSuspended(rc)
}

// clusterIsUp reports whether the head is ready, so that it can be asked.
func clusterIsUp(rc *rayv1.RayCluster) bool {
	return meta.IsStatusConditionTrue(rc.Status.Conditions, rayv1.HeadPodReady)
}
