package simulation

import (
	"math/rand/v2"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/simulation/apiserver"
)

// idleJob makes the RayJob interactive, with limits for its cluster.
func (s *scenario) idleJob(r *rand.Rand) {
	for _, o := range s.objects {
		j, ok := o.(*rayv1.RayJob)
		if !ok || len(j.Spec.ClusterSelector) > 0 {
			continue
		}
		if j.Spec.SubmissionMode != rayv1.InteractiveMode && r.IntN(3) > 0 {
			s.interact(r)
		}
		j.Spec.SubmissionMode, j.Spec.Entrypoint, j.Spec.BackoffLimit, j.Spec.SubmitterConfig = rayv1.InteractiveMode, "", nil, nil
		annotations := map[string]string{}
		if r.IntN(4) > 0 {
			annotations[rayv1.AnnotationIdleTimeout] = []string{"20s", "40s", "90s"}[r.IntN(3)]
		}
		if r.IntN(3) == 0 {
			annotations[rayv1.AnnotationMaxAge] = []string{"60s", "100s"}[r.IntN(2)]
		}
		if r.IntN(2) == 0 {
			annotations[rayv1.AnnotationExpiryAction] = string(rayv1.ExpiryDelete)
		}
		j.Annotations = annotations
		if r.IntN(2) == 0 {
			s.add(r, "the RayJob's cluster is resumed", onJobCluster(func(rc *rayv1.RayCluster) { rc.Spec.Suspend = new(false) }))
		}
		if r.IntN(3) == 0 {
			s.add(r, "the RayJob's cluster is kept for a minute", onJobCluster(func(rc *rayv1.RayCluster) {
				metav1.SetMetaDataAnnotation(&rc.ObjectMeta, rayv1.AnnotationKeepUntil, time.Now().Add(time.Minute).Format(time.RFC3339))
			}))
		}
	}
}

// onJobCluster returns a step in which a user changes the clusters of RayJobs.
func onJobCluster(change func(*rayv1.RayCluster)) func(*world) {
	return func(w *world) {
		for _, o := range w.store.All(kindCluster) {
			if controlledBy(o, "RayJob") != "" {
				edit(kindCluster, o.GetName(), change)(w)
			}
		}
	}
}

// checkExpiredJob looks at the cluster of an interactive RayJob that the operator creates, suspends or deletes. The caller holds the lock.
func (d *watchdog) checkExpiredJob(c apiserver.Change) {
	rc := c.Object().(*rayv1.RayCluster)
	j := d.rayJobs[controlledBy(rc, "RayJob")]
	if j == nil || c.Actor != actorOperator || !metav1.IsControlledBy(rc, j) || j.Spec.SubmissionMode != rayv1.InteractiveMode {
		return
	}
	known := meta.IsStatusConditionTrue(j.Status.RayClusterStatus.Conditions, rayv1.RayClusterExpired)
	old, _ := c.Old.(*rayv1.RayCluster)
	switch {
	case old == nil && known:
		d.violateLocked("expiredEnds", "%s is made for a RayJob whose cluster has expired", rc.Name)
	case old == nil || !continues(j):
	case ends(old, c) && !known:
		d.violateLocked("expiredEnds", "%s is suspended or deleted, and the status of its RayJob lacks the reason", rc.Name)
	case ends(old, c):
		d.checkSuspended(old)
	}
}

// continues reports whether nothing but its annotations ends the cluster of a RayJob.
func continues(j *rayv1.RayJob) bool {
	switch j.Status.JobDeploymentStatus {
	case rayv1.JobDeploymentStatusInitializing, rayv1.JobDeploymentStatusWaiting, rayv1.JobDeploymentStatusRunning:
		return !j.Spec.Suspend && j.DeletionTimestamp == nil && j.Status.Reason == ""
	default:
		return false
	}
}

// ends reports whether a change suspends or deletes a cluster.
func ends(old *rayv1.RayCluster, c apiserver.Change) bool {
	if c.New == nil || c.New.GetDeletionTimestamp() != nil {
		return old.DeletionTimestamp == nil
	}
	return !old.Suspended() && c.New.(*rayv1.RayCluster).Suspended()
}
