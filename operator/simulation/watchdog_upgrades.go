package simulation

import (
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/podplan"
	"github.com/raygate/raygate/operator/simulation/apiserver"
)

// checkPromotion holds an upgrade in steps to its last step. The caller holds the lock.
func (d *watchdog) checkPromotion(c apiserver.Change) {
	before, after, ok := versions[*rayv1.RayService](c)
	if !ok {
		return
	}
	pending, from := before.Status.PendingServiceStatus, before.Status.ActiveServiceStatus.RayClusterName
	if pending.TrafficRoutedPercent == nil || *pending.TrafficRoutedPercent == 100 || pending.RayClusterName != after.Status.ActiveServiceStatus.RayClusterName || from == "" {
		return
	}
	if d.world.rays.serve(from) && !d.world.rays.lately(from) && stepwise(after) {
		d.world.after(0, "promotion", func() {
			if rc := d.world.clusterObject(from); rc.Name != "" && rc.DeletionTimestamp == nil {
				d.violate("trafficIsServed", "%s gives %s up with %d %% of the requests led to %s", after.Name, from, *pending.TrafficRoutedPercent, pending.RayClusterName)
			}
		})
	}
}

// stepwise reports whether a service is upgraded in steps.
func stepwise(rs *rayv1.RayService) bool {
	u := rs.Spec.UpgradeStrategy
	return u != nil && u.Type != nil && *u.Type == rayv1.RayServiceNewClusterWithIncrementalUpgrade
}

// controlKeys are the annotations by which users control upgrades.
var controlKeys = []string{rayv1.AnnotationUpgradePaused, rayv1.AnnotationCanaryWeight, rayv1.AnnotationCanaryAnalysis, rayv1.AnnotationCanaryConfirmed, rayv1.AnnotationUpgradeAbort}

// noteControls notes since when annotations have their values. The caller holds the lock.
func (d *watchdog) noteControls(c apiserver.Change) {
	before, after, ok := versions[*rayv1.RayService](c)
	if !ok {
		d.controls = map[string]time.Time{}
		return
	}
	for _, key := range controlKeys {
		if before.Annotations[key] != after.Annotations[key] {
			d.controls[key] = time.Now()
		}
	}
}

// unseenFor is how long the operator may act upon an annotation that its user has changed.
const unseenFor = 20 * time.Second

// seen reports whether the operator has to know the value of an annotation. The caller holds the lock.
func (d *watchdog) seen(key string) bool { return time.Since(d.controls[key]) > unseenFor }

// isPaused reports whether the operator has to hold upgrades of a service from its active cluster. The caller holds the lock.
func (d *watchdog) isPaused(rs *rayv1.RayService) bool {
	a, p := activeOf(rs), rs.Status.PendingServiceStatus.RayClusterName
	return rs.Annotations[rayv1.AnnotationUpgradePaused] == "true" && d.seen(rayv1.AnnotationUpgradePaused) && !rs.Spec.Suspend && rs.DeletionTimestamp == nil &&
		(p == "" || rs.Annotations[rayv1.AnnotationUpgradeAbort] != p) && a != "" && d.takesRequests(a)
}

// noteServing notes since when a Pod takes requests. The caller holds the lock.
func (d *watchdog) noteServing(c apiserver.Change) {
	p, ok := c.New.(*corev1.Pod)
	switch {
	case !ok || p == nil:
		delete(d.serving, c.Old.GetName())
	case p.Labels[rayv1.LabelServe] != rayv1.LabelServeTrue || p.DeletionTimestamp != nil || !podplan.Ready(p):
		delete(d.serving, p.Name)
	case d.serving[p.Name].cluster == "":
		d.serving[p.Name] = serving{p.Labels[rayv1.LabelCluster], time.Now()}
	}
}

// serving is a Pod that takes requests.
type serving struct {
	cluster string
	since   time.Time
}

// takesRequests reports whether the operator has to know that a cluster takes requests. The caller holds the lock.
func (d *watchdog) takesRequests(cluster string) bool {
	for _, s := range d.serving {
		if s.cluster == cluster && time.Since(s.since) > unseenFor {
			return d.world.rays.serve(cluster) && !d.world.rays.lately(cluster)
		}
	}
	return false
}

// progress is what a change of the status of a service means for its upgrade.
type progress struct {
	active, pending string
	// promoted means that the pending cluster became the active one, replaced that it is another one or none, begun that there was none.
	promoted, replaced, begun bool
	// was and is are the traffic of the same pending cluster in percent.
	was, is int32
}

func progressOf(before, after *rayv1.RayService) progress {
	p, next := before.Status.PendingServiceStatus, after.Status.PendingServiceStatus
	name := p.RayClusterName
	g := progress{
		active: activeOf(before), pending: name, promoted: name != "" && activeOf(after) == name, replaced: name != "" && next.RayClusterName != name,
		begun: name == "" && next.RayClusterName != "", was: ptr.Deref(p.TrafficRoutedPercent, 0),
	}
	if g.is = g.was; !g.replaced {
		g.is = ptr.Deref(next.TrafficRoutedPercent, 0)
	}
	return g
}

// advances reports whether the upgrade is not where it was.
func (g progress) advances() bool { return g.promoted || g.replaced || g.begun || g.is > g.was }

// checkHeld looks at a change of the status of a service. The caller holds the lock.
func (d *watchdog) checkHeld(c apiserver.Change) {
	before, after, ok := versions[*rayv1.RayService](c)
	if !ok || c.Actor != actorOperator || activeOf(before) == "" || d.world.excused() || d.world.recently(faultWatch) {
		return
	}
	g := progressOf(before, after)
	if d.isPaused(before) && g.advances() {
		d.violateLocked("pauseHolds", "%s is paused: %+v", after.Name, g)
	}
	if d.takesRequests(g.active) {
		d.checkServing(before, g)
	}
}

// checkServing looks at the upgrade from a cluster that serves. The caller holds the lock.
func (d *watchdog) checkServing(before *rayv1.RayService, g progress) {
	if most := d.canary(before); g.is > max(g.was, most) || most < 100 && g.promoted && g.was <= most {
		d.violateLocked("pauseHolds", "%s has a canary of %d %%: %+v", before.Name, most, g)
	}
	if g.promoted && before.Annotations[rayv1.AnnotationUpgradeAbort] == g.pending && d.seen(rayv1.AnnotationUpgradeAbort) {
		d.violateLocked("abortHolds", "%s replaces %s, although its user has given it up", g.pending, g.active)
	}
	if c := meta.FindStatusCondition(before.Status.Conditions, rayv1.RayServiceUpgradeAborted); c != nil && c.ObservedGeneration == before.Generation && (g.promoted || g.is > g.was) {
		d.violateLocked("abortHolds", "%s is given up: %+v", g.pending, g)
	}
}

// canary returns the most traffic that a pending cluster may get in percent. The caller holds the lock.
func (d *watchdog) canary(rs *rayv1.RayService) int32 {
	most, limited := rayv1.CanaryWeightOf(rs.Annotations)
	if !limited || !stepwise(rs) || !d.seen(rayv1.AnnotationCanaryWeight) || rs.Annotations[rayv1.AnnotationCanaryConfirmed] == rs.Status.PendingServiceStatus.RayClusterName {
		return 100
	}
	if a, set := rayv1.CanaryAnalysisOf(rs.Annotations); a != nil && d.world.prometheus.approves(rs.Status.PendingServiceStatus.RayClusterName) || !set && !d.seen(rayv1.AnnotationCanaryAnalysis) {
		return 100
	}
	return most
}

// checkHeldCluster looks at a cluster that is deleted. The caller holds the lock.
func (d *watchdog) checkHeldCluster(c apiserver.Change) {
	if c.Old == nil || c.Old.GetDeletionTimestamp() != nil || c.New != nil && c.New.GetDeletionTimestamp() == nil {
		return
	}
	maps.DeleteFunc(d.serving, func(_ string, s serving) bool { return s.cluster == c.Old.GetName() })
	if c.Actor != actorOperator {
		return
	}
	name, service := c.Old.GetName(), types.NamespacedName{Namespace: namespace, Name: controlledBy(c.Old, "RayService")}
	d.world.after(0, "deletion of "+name, func() {
		rs, ok := d.world.store.Find(kindRayService, service).(*rayv1.RayService)
		d.mu.Lock()
		defer d.mu.Unlock()
		if ok && name == rs.Status.PendingServiceStatus.RayClusterName && d.isPaused(rs) {
			d.violateLocked("pauseHolds", "%s is paused, and its pending cluster %s is deleted", rs.Name, name)
		}
	})
}
