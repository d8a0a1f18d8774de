package simulation

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/simulation/apiserver"
)

// size is the number of Pods of a group that a cluster requested from a time on.
type size struct {
	at    time.Time
	group string
	pods  int32
}

// noteSize notes how many Pods a cluster asks for. The caller holds the lock.
func (d *watchdog) noteSize(c apiserver.Change) {
	rc, ok := c.New.(*rayv1.RayCluster)
	if !ok || rc == nil {
		return
	}
	name := rc.Name
	note := func(group string, pods int32) { d.sizes[name] = append(d.sizes[name], size{time.Now(), group, pods}) }
	note(rayv1.HeadGroupName, 1)
	for _, g := range rc.Spec.WorkerGroupSpecs {
		if g.Replicas != nil {
			note(g.GroupName, *g.Replicas*max(1, g.NumOfHosts))
		}
	}
}

// memory is how long the operator may act upon a size that is not the latest.
const memory = 90 * time.Second

// checkPods counts the Pods of a group when one is added. The caller holds the lock, and the store is locked, so that the count is made later.
func (d *watchdog) checkPods(p *corev1.Pod) {
	cluster, group := p.Labels[rayv1.LabelCluster], p.Labels[rayv1.LabelGroup]
	if p.Labels[rayv1.LabelNodeType] != string(rayv1.HeadNode) && p.Labels[rayv1.LabelNodeType] != string(rayv1.WorkerNode) {
		return
	}
	d.world.after(0, "count Pods", func() {
		all, rc := d.world.store.All(kindPod), d.world.clusterObject(cluster)
		d.mu.Lock()
		defer d.mu.Unlock()
		var alive int32
		for _, o := range all {
			other := o.(*corev1.Pod)
			if other.Labels[rayv1.LabelCluster] == cluster && other.Labels[rayv1.LabelGroup] == group && !d.replaced[other.Name] && d.world.stays(other) {
				alive++
			}
		}
		most := d.allowed(cluster, group)
		if most += surgeOf(rc, group, most); alive > most && !d.world.recently(faultLost) { // a creation whose answer is lost may have had its effect
			d.violateLocked("podsWithinSpec", "%d Pods of group %s of %s, whose spec asks for %d", alive, group, cluster, most)
		}
	})
}

// stays reports whether a Pod has not ended and is not about to be deleted.
func (w *world) stays(p *corev1.Pod) bool {
	return !goes(p) && p.Status.Phase != corev1.PodFailed && p.Status.Phase != corev1.PodSucceeded && !w.orphaned(p)
}

// allowed returns how many Pods of a group the operator may act upon: the most of the latest sizes. The caller holds the lock.
func (d *watchdog) allowed(cluster, group string) int32 {
	var most, latest int32
	for _, s := range d.sizes[cluster] {
		switch {
		case s.group != group:
		case time.Since(s.at) > memory:
			latest = s.pods
		default:
			most = max(most, s.pods)
		}
	}
	return max(most, latest)
}
