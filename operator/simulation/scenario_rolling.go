package simulation

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/simulation/apiserver"
)

// upgrades gives the RayCluster a rolling upgrade, and edits of its workers.
func (s *scenario) upgrades(r *rand.Rand) {
	rc := s.objects[0].(*rayv1.RayCluster)
	for _, a := range []struct {
		key    string
		values []string
	}{
		{rayv1.AnnotationUpgradeStrategy, []string{rayv1.UpgradeRollingUpdate}},
		{rayv1.AnnotationMaxUnavailable, []string{"0", "1", "2", "50%"}},
		{rayv1.AnnotationMaxSurge, []string{"0", "1", "50%"}},
		{rayv1.AnnotationUpgradeDeadline, []string{"5s", "1h"}},
	} {
		metav1.SetMetaDataAnnotation(&rc.ObjectMeta, a.key, a.values[r.IntN(len(a.values))])
	}
	g := &rc.Spec.WorkerGroupSpecs[0]
	g.Replicas = new(2 + r.Int32N(3))
	g.Template.Spec.Containers[0].Image = imageA
	for range 1 + r.IntN(3) {
		image := []string{imageA, imageB, imageB}[r.IntN(3)]
		s.add(r, "the image of workers becomes "+image, edit(kindCluster, demo, func(rc *rayv1.RayCluster) {
			rc.Spec.WorkerGroupSpecs[0].Template.Spec.Containers[0].Image = image
		}))
	}
	pause := func(text string) func(*world) {
		return edit(kindCluster, demo, func(rc *rayv1.RayCluster) {
			metav1.SetMetaDataAnnotation(&rc.ObjectMeta, rayv1.AnnotationUpgradePaused, text)
		})
	}
	if r.IntN(2) == 0 {
		s.add(r, "upgrades pause", pause("true"))
		if r.IntN(3) > 0 {
			s.add(r, "upgrades continue", pause("false"))
		}
	}
}

// rollingWatch is what the watchdog remembers for rolling upgrades.
type rollingWatch struct {
	// paused is since when the upgrade of a cluster is paused.
	paused map[string]time.Time
	// disturbed is when a cluster last was scaled or suspended, or lost a ready Pod that the operator did not delete.
	disturbed map[string]time.Time
}

// noteRolling notes pauses, and causes other than an upgrade for a deletion of Pods. The caller holds the lock.
func (d *watchdog) noteRolling(c apiserver.Change) {
	if before, after, ok := versions[*corev1.Pod](c); ok && c.Actor != actorOperator && isReady(before) && (!isReady(after) || after.DeletionTimestamp != nil) {
		d.rolling.disturbed[before.Labels[rayv1.LabelCluster]] = time.Now()
	}
	if c.Kind != kindCluster {
		return
	}
	before, after, ok := versions[*rayv1.RayCluster](c)
	switch {
	case !ok:
		d.rolling.disturbed[c.Object().GetName()] = time.Now()
	case !equality.Semantic.DeepEqual(scaleOf(before), scaleOf(after)):
		d.rolling.disturbed[after.Name] = time.Now()
	}
	if c.New == nil || c.New.GetAnnotations()[rayv1.AnnotationUpgradePaused] != "true" {
		delete(d.rolling.paused, c.Object().GetName())
	} else if _, known := d.rolling.paused[c.New.GetName()]; !known {
		d.rolling.paused[c.New.GetName()] = time.Now()
	}
}

// scaleOf is the part of a cluster by which Pods come and go without an upgrade.
func scaleOf(rc *rayv1.RayCluster) rayv1.RayClusterSpec {
	scale := rayv1.RayClusterSpec{Suspend: rc.Spec.Suspend}
	for _, g := range rc.Spec.WorkerGroupSpecs {
		scale.WorkerGroupSpecs = append(scale.WorkerGroupSpecs, rayv1.WorkerGroupSpec{Replicas: g.Replicas, Suspend: g.Suspend, ScaleStrategy: g.ScaleStrategy})
	}
	return scale
}

// seenWithin is how long an operator may act upon a cluster that is not the latest.
const seenWithin = 10 * time.Second

// checkRolling looks at a ready worker that the operator drains or deletes for no cause but an upgrade. The caller holds the lock, and the store is locked, so
// that Pods are counted later.
func (d *watchdog) checkRolling(c apiserver.Change) {
	p, ok := c.Old.(*corev1.Pod)
	if ok && c.Actor == actorOperator && !goes(p) && goes(c.New) && p.Labels[rayv1.LabelNodeType] == string(rayv1.WorkerNode) && isReady(p) {
		d.world.after(0, "count workers", func() { d.checkReplaced(p) })
	}
}

// checkReplaced looks at the other workers after the deletion of one.
func (d *watchdog) checkReplaced(p *corev1.Pod) {
	w, cluster, group := d.world, p.Labels[rayv1.LabelCluster], p.Labels[rayv1.LabelGroup]
	rc, pods, replicas := w.clusterObject(cluster), w.readyWorkers(cluster, group), w.setting("replica indices "+w.version, 0.5)
	disturbed := isSuspended(rc) || w.recently(faultWatch) || w.recently(faultAbsent) || w.excused()
	d.mu.Lock()
	defer d.mu.Unlock()
	if rc.RollingUpdate() == nil || disturbed || time.Since(d.rolling.disturbed[cluster]) < memory {
		return
	}
	if since, paused := d.rolling.paused[cluster]; paused && time.Since(since) > seenWithin {
		d.violateLocked("podsStayPaused", "%s is deleted, although upgrades are paused for %s", p.Name, time.Since(since))
	}
	if wrong := exceedsLimits(rc, group, pods, replicas); wrong != "" {
		d.violateLocked("withinLimits", "%s is deleted, %s", p.Name, wrong)
	}
}

// exceedsLimits describes a group that has too few ready Pods; empty if it has enough. An operator without replicas counts Pods.
func exceedsLimits(rc *rayv1.RayCluster, group string, pods []*corev1.Pod, replicas bool) string {
	i := slices.IndexFunc(rc.Spec.WorkerGroupSpecs, func(g rayv1.WorkerGroupSpec) bool { return g.GroupName == group })
	if i < 0 {
		return ""
	}
	g := &rc.Spec.WorkerGroupSpecs[i]
	hosts := max(1, int(g.NumOfHosts))
	ready, wanted := replicasIn(pods, hosts), int(*g.Replicas)
	if !replicas {
		ready, wanted = len(pods), wanted*hosts
	} else if hosts > 1 && slices.ContainsFunc(pods, func(p *corev1.Pod) bool { return p.Labels[rayv1.LabelWorkerGroupReplicaName] == "" }) {
		return "" // nobody knows which Pods form a replica
	}
	unavailable, _ := rc.RollingUpdate().Limits(wanted)
	return unless(ready >= wanted-unavailable, "so that %d replicas of %d are ready, with %d allowed to be unavailable", ready, wanted, unavailable)
}

// readyWorkers returns the Pods of a group that are ready and stay.
func (w *world) readyWorkers(cluster, group string) []*corev1.Pod {
	rc := w.clusterObject(cluster)
	var ready []*corev1.Pod
	for _, o := range w.store.All(kindPod) {
		if p := o.(*corev1.Pod); rc.Owns(p) && p.Labels[rayv1.LabelGroup] == group && isReady(p) && !goes(p) {
			ready = append(ready, p)
		}
	}
	return ready
}

// replicasIn counts the replicas of which all hosts are among the Pods.
func replicasIn(pods []*corev1.Pod, hosts int) (n int) {
	found := map[string]int{}
	for _, p := range pods {
		found[cmp.Or(p.Labels[rayv1.LabelWorkerGroupReplicaName], p.Name)]++
	}
	for _, pods := range found {
		if pods == hosts {
			n++
		}
	}
	return n
}

// surgeOf returns how many Pods of a group an upgrade may add to so many.
func surgeOf(rc *rayv1.RayCluster, group string, pods int32) int32 {
	for _, g := range rc.Spec.WorkerGroupSpecs {
		if u := rc.RollingUpdate(); u != nil && g.GroupName == group {
			hosts := max(1, g.NumOfHosts)
			_, surge := u.Limits(int(pods / hosts))
			return int32(surge) * hosts
		}
	}
	return 0
}

// clusterIsUpgraded is about a cluster with a rolling upgrade.
func clusterIsUpgraded(w *world, rc *rayv1.RayCluster) (string, bool) {
	u := rc.RollingUpdate()
	if u == nil || isSuspended(rc) {
		return "", false
	}
	outdated := 0
	for _, o := range w.store.All(kindPod) {
		p := o.(*corev1.Pod)
		for _, g := range rc.Spec.WorkerGroupSpecs {
			if rc.Owns(p) && p.Labels[rayv1.LabelGroup] == g.GroupName && p.Spec.Containers[0].Image != g.Template.Spec.Containers[0].Image {
				outdated++
			}
		}
	}
	inProgress := meta.IsStatusConditionTrue(rc.Status.Conditions, rayv1.RayClusterUpgradeInProgress)
	switch {
	case u.Paused: // with a surge, perhaps
		return unless(inProgress || outdated == 0, "has %d workers with another image and says nothing of an upgrade", outdated), inProgress || outdated > 0
	case outdated > 0:
		return fmt.Sprintf("has %d workers with another image", outdated), true
	default:
		return "says that an upgrade is in progress", inProgress
	}
}
