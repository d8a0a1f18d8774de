package raycluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/names"
	"github.com/raygate/raygate/operator/internal/dashboards"
	"github.com/raygate/raygate/operator/internal/ownerref"
	"github.com/raygate/raygate/operator/internal/podexec"
	"github.com/raygate/raygate/operator/internal/podplan"
	"github.com/raygate/raygate/operator/internal/poll"
	"github.com/raygate/raygate/operator/internal/reconcile"
	"github.com/raygate/raygate/operator/internal/serveplan"
)

const (
	// drainTimeout is the longest time between the request to drain a worker and its deletion.
	drainTimeout = 2 * time.Minute
	// drainInterval is the interval at which Ray is asked whether nodes have ended.
	drainInterval = 2 * time.Second
	// drainRequest limits the requests to Ray about all workers of a cluster.
	drainRequest = 20 * time.Second
	// drainPatience is the time without an answer of Ray after which workers are deleted without it.
	drainPatience = 10 * time.Second
)

// endedNodes are Pods whose Ray nodes have ended.
type endedNodes map[types.UID]bool

// drains has Ray drain the nodes of workers, in the background. Its targets are clusters.
type drains struct {
	poller     *poll.Poller[types.UID, endedNodes]
	dashboards *dashboards.Dashboards
	open       dashboards.OpenDraining
	waker      ownerref.Waker
}

func newDrains(c Config) *drains {
	if c.Drain == nil {
		return nil
	}
	return &drains{
		poller:     poll.New[types.UID, endedNodes](poll.Options{Clock: c.Clock, Random: c.Jitter}),
		dashboards: dashboards.New(c.Connect, c.Live, c.Clock), open: c.Drain,
	}
}

// drainFirst returns the deletions that are to be made now. Other workers are drained first: an annotation records that for later
// reconciles, whose plans contain the deletion again. Without a ready head nothing can be drained. A worker leaves the Service of Serve
// before its drain, if another Pod serves and stays: its proxy ends with its node, and endpoints change later than that.
func (r *Reconciler) drainFirst(ctx context.Context, s *scope, list []podplan.Deletion) []podplan.Deletion {
	head := r.drainingHead(s)
	if head == nil {
		r.drains.forget(s.cluster.UID)
		return list
	}
	var now, draining []podplan.Deletion
	for _, d := range list {
		switch {
		case d.Reason == podplan.ReasonDraining && s.now.Before(drainFrom(d.Pod)):
			s.after(drainFrom(d.Pod).Sub(s.now))
		case d.Reason == podplan.ReasonDraining && s.now.Before(drainUntil(d.Pod)):
			draining = append(draining, d)
		case s.drainable(d) && r.heldByBudget(ctx, s, d):
			s.held = true
			s.after(podexec.HeldRetry)
		case s.drainable(d):
			if r.mark(ctx, s, d.Pod, s.drainMarks(d.Pod, list)) {
				s.after(reconcile.Soon)
			}
		default:
			now = append(now, d)
		}
	}
	return append(now, s.drained(draining, r.drains.observe(s.cluster, head, draining))...)
}

// drainingHead returns the head that drains workers; nil if they are deleted without a drain.
func (r *Reconciler) drainingHead(s *scope) *corev1.Pod {
	tls := s.cluster.Spec.TLSOptions != nil && ptr.Deref(s.cluster.Spec.TLSOptions.Enabled, false)
	if r.drains == nil || s.cluster.Suspended() || tls {
		return nil
	}
	return readyHead(s)
}

// heldByBudget reports whether a PodDisruptionBudget forbids to replace a worker now. After its drain that would be too late to know.
func (r *Reconciler) heldByBudget(ctx context.Context, s *scope, d podplan.Deletion) bool {
	if d.Reason != podplan.ReasonRollingUpdate || !guarded(s.cluster) {
		return false
	}
	may, err := r.executor.Evictable(ctx, d.Pod)
	if err != nil {
		s.errs = append(s.errs, fmt.Errorf("asking whether Pod %s can be evicted: %w", d.Pod.Name, err))
	}
	return !may
}

// drained returns the workers whose nodes have ended. If Ray has not answered for a while, it returns all.
func (s *scope) drained(list []podplan.Deletion, answer poll.Answer[endedNodes]) []podplan.Deletion {
	silent := !answer.FailingSince.IsZero() && s.now.Sub(answer.FailingSince) >= drainPatience
	var done []podplan.Deletion
	for _, d := range list {
		if answer.Value[d.Pod.UID] || silent {
			done = append(done, d)
		} else {
			s.after(min(drainUntil(d.Pod).Sub(s.now), drainPatience))
		}
	}
	return done
}

// drainMarks returns the annotations and labels of a worker whose drain begins, which is one of those that leave.
func (s *scope) drainMarks(p *corev1.Pod, leave []podplan.Deletion) podMarks {
	m := podMarks{Annotations: map[string]string{rayv1.AnnotationDrainingSince: s.now.UTC().Format(time.RFC3339)}}
	staysAndServes := func(other *corev1.Pod) bool {
		return serves(other) && !slices.ContainsFunc(leave, func(d podplan.Deletion) bool { return d.Pod.UID == other.UID })
	}
	if serves(p) && slices.ContainsFunc(s.pods, staysAndServes) {
		m.Labels = map[string]string{rayv1.LabelServe: rayv1.LabelServeFalse}
	}
	return m
}

// serves reports whether the Service of Serve leads to the Pod.
func serves(p *corev1.Pod) bool {
	return p.Labels[rayv1.LabelServe] == rayv1.LabelServeTrue && p.DeletionTimestamp == nil && podReady(p)
}

// drainFrom returns when Ray is asked to drain the Pod: when endpoints lack it, if it has left the Service. Annotations have whole seconds.
func drainFrom(p *corev1.Pod) time.Time {
	if p.Labels[rayv1.LabelServe] != rayv1.LabelServeFalse {
		return time.Time{}
	}
	return drainUntil(p).Add(serveplan.EndpointLag + time.Second - drainTimeout)
}

// drainUntil returns when the Pod is deleted at the latest. A time that cannot be read is long ago.
func drainUntil(p *corev1.Pod) time.Time {
	begun, _ := time.Parse(time.RFC3339, p.Annotations[rayv1.AnnotationDrainingSince])
	return begun.Add(drainTimeout)
}

// drainable reports whether the Pod is a worker that may have work, and that can wait. What Ray's autoscaler names it has drained.
func (s *scope) drainable(d podplan.Deletion) bool {
	switch d.Reason {
	case podplan.ReasonScaleDown, podplan.ReasonRollingUpdate:
	case podplan.ReasonRequested:
		if ptr.Deref(s.cluster.Spec.EnableInTreeAutoscaling, false) {
			return false
		}
	default:
		return false
	}
	return !isHead(d.Pod) && podReady(d.Pod)
}

// observerOfDrains is the name of the only observer of a cluster.
const observerOfDrains = "drains"

// observe has Ray drain these workers, and no others, and returns the last answer.
func (d *drains) observe(rc *rayv1.RayCluster, head *corev1.Pod, list []podplan.Deletion) poll.Answer[endedNodes] {
	port, err := strconv.ParseInt(names.HeadPort(rc), 10, 32)
	if len(list) == 0 || err != nil {
		d.forget(rc.UID)
		return poll.Answer[endedNodes]{}
	}
	site := dashboards.SiteOf(rc, "").At(int32(port))
	revision := []string{site.Revision(), string(head.UID)}
	for _, one := range list {
		revision = append(revision, string(one.Pod.UID))
	}
	return d.poller.Observe(rc.UID, observerOfDrains, poll.Query[endedNodes]{
		Interval: drainInterval, Timeout: drainRequest, Revision: strings.Join(revision, " "),
		Ask: func(ctx context.Context) (endedNodes, error) {
			draining, err := d.dashboards.Draining(ctx, site, d.open)
			if err != nil {
				return nil, err
			}
			defer func() { _ = draining.Close() }()
			found := endedNodes{}
			for _, one := range list {
				switch err := draining.Drain(ctx, one.Pod, drainUntil(one.Pod)); {
				case errors.Is(err, dashboards.ErrNoNode), errors.Is(err, dashboards.ErrNotDrained):
					found[one.Pod.UID] = true
				case err != nil:
					return nil, err
				}
			}
			return found, nil
		},
	}, poll.Observer[endedNodes]{
		Changed: func(before, after poll.Answer[endedNodes]) bool {
			return len(before.Value) != len(after.Value) || before.FailingSince.IsZero() != after.FailingSince.IsZero()
		},
		Wake: func() { d.waker.Wake(key(rc)) },
	})
}

// forget stops to ask about a cluster.
func (d *drains) forget(cluster types.UID) {
	if d != nil {
		d.poller.Unobserve(cluster, observerOfDrains)
	}
}
