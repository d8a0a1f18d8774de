package simulation

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/dashboards"
	"github.com/raygate/raygate/operator/simulation/apiserver"
	"github.com/raygate/raygate/pkg/headpod"
)

// openDraining connects to the GCS on the head of a cluster, which has the faults of its dashboard.
func (r *rays) openDraining(ctx context.Context, head headpod.Head, _ string) (dashboards.Draining, error) {
	g := &gcs{connection{rays: r, service: head.Cluster + "-gcs", cluster: head.UID}}
	return g, g.call(ctx, "GetClusterResourceState", false, func(*ray) error { return nil })
}

// gcs is a connection to the GCS of one cluster.
type gcs struct{ connection }

// Drain implements dashboards.Draining.
func (g *gcs) Drain(ctx context.Context, p *corev1.Pod, until time.Time) error {
	return g.call(ctx, "DrainNode", true, func(h *ray) error { return h.drain(p, until) })
}

// Close implements dashboards.Draining.
func (g *gcs) Close() error { return nil }

// drain drains the node of a worker. Some nodes have no work, some have more than there is time for, some hang, and some are refused.
func (h *ray) drain(p *corev1.Pod, until time.Time) error {
	w := h.world
	if (&nodes{w}).pod(client.ObjectKeyFromObject(p), p.UID) == nil {
		return dashboards.ErrNoNode
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	end, known := h.drains[p.UID]
	switch {
	case !known && w.chance("refuses to drain "+p.Name, 0.1):
		h.drains[p.UID] = time.Now()
		return dashboards.ErrNotDrained
	case !known && w.chance("hangs "+p.Name, 0.1):
		h.drains[p.UID] = time.Now().Add(24 * time.Hour)
	case !known:
		end = time.Now().Add(w.between("drain "+p.Name, 0, 4*time.Minute))
		if end.After(until) {
			end = until
		}
		h.drains[p.UID] = end
	case !time.Now().Before(end):
		return dashboards.ErrNoNode
	}
	return nil
}

// drainsFor reports whether the node of a worker has work while it is drained.
func (h *ray) drainsFor(worker types.UID) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	end, known := h.drains[worker]
	return !h.over && known && time.Now().Before(end)
}

// drainLimit is the longest that a drain may last.
const drainLimit = 2 * time.Minute

// drainingFor returns how long Ray has drained the node of a Pod; 0 if it does not.
func drainingFor(p *corev1.Pod) time.Duration {
	since, err := time.Parse(time.RFC3339, p.Annotations[rayv1.AnnotationDrainingSince])
	if err != nil {
		return 0
	}
	return time.Since(since)
}

// isDrained reports whether Ray drains the node of a Pod.
func isDrained(o client.Object) bool { return o.GetAnnotations()[rayv1.AnnotationDrainingSince] != "" }

// goes reports whether an object is gone, is being deleted, or is a worker that Ray drains before that.
func goes(o client.Object) bool { return o == nil || o.GetDeletionTimestamp() != nil || isDrained(o) }

// checkDrained looks at a worker that the operator deletes while Ray drains it. The caller holds the lock.
func (d *watchdog) checkDrained(c apiserver.Change) {
	p, ok := c.Old.(*corev1.Pod)
	if !ok || c.Actor != actorOperator || p.DeletionTimestamp != nil || c.New != nil && c.New.GetDeletionTimestamp() == nil || !isDrained(p) {
		return
	}
	lasted := drainingFor(p)
	d.world.after(0, "drained "+p.Name, func() {
		if rc := d.world.clusterObject(p.Labels[rayv1.LabelCluster]); lasted < drainLimit && isReady(p) && d.world.awaitsDrain(rc, p.UID) {
			d.violate("drainIsAwaited", "%s is deleted %s after the begin of its drain, while it has work", p.Name, lasted)
		}
	})
}

// awaitsDrain reports whether a cluster stays, and its head says that a worker has work.
func (w *world) awaitsDrain(rc *rayv1.RayCluster, worker types.UID) bool {
	if w.excused() || w.recently(faultWatch) || w.recently(faultAbsent) || isSuspended(rc) || rc.Name == "" || rc.DeletionTimestamp != nil {
		return false
	}
	h := w.rays.of(rc.Name)
	return h != nil && h.age() > unseenFor && w.headStays(rc.Name) && !w.rays.lately(rc.Name) && h.drainsFor(worker)
}

// checkDrain looks at a worker that Ray drains.
func (d *watchdog) checkDrain(p *corev1.Pod, alive bool) {
	w := d.world
	rc := w.clusterObject(p.Labels[rayv1.LabelCluster])
	lasted := drainingFor(p)
	if lasted < drainLimit+time.Minute || p.DeletionTimestamp != nil || !alive || w.excused() || w.recently(faultWatch) ||
		!rc.Owns(p) || rc.DeletionTimestamp != nil || rc.Status.State == rayv1.ClusterStateFailed {
		return
	}
	d.violateLocked("drainEnds", "%s is drained for %s", p.Name, lasted)
}
