package serveplan

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/names"
	"github.com/raygate/raygate/operator/internal/build/rayservice"
)

func rollsBack(s *step) bool { return s.is(rayv1.RayServiceRollbackInProgress) }

// activeMatches reports whether the spec is that of the active cluster.
func activeMatches(s *step) bool { return s.active().Match == rayservice.Same }

// pendingDiffers reports whether the pending cluster exists and does not match the spec.
func pendingDiffers(s *step) bool {
	p := s.pending()
	return p != nil && p.Match == rayservice.Different
}

// pendingMatches reports whether only the pending cluster matches the spec, and is not given up.
func pendingMatches(s *step) bool {
	return !activeMatches(s) && s.pending() != nil && !pendingDiffers(s) && !aborts(s)
}

// returnToSpec begins a rollback, because the spec is that of the old cluster again.
func (s *step) returnToSpec() { s.rollback("the spec is that of cluster " + s.activeName() + " again") }

// returnFirst begins a rollback to the old cluster even if the spec does not match that one either, so that there are never three
// clusters.
func (s *step) returnFirst() {
	s.rollback("the spec is neither that of cluster " + s.activeName() + " nor that of " + s.pendingName())
}

func (s *step) rollback(why string) {
	s.set(rayv1.RayServiceRollbackInProgress, metav1.ConditionTrue, rayv1.ReasonDesiredClusterSpecChanged, why)
}

func (s *step) endRollback() { s.remove(rayv1.RayServiceRollbackInProgress) }

func newClusterHasAll(s *step) bool { return s.state().Next().Complete }

func (s *step) completeSteps() {
	s.makeActive()
	s.endRollback()
}

func oldClusterHasAll(s *step) bool { return s.state().Next().RolledBack }

func (s *step) completeRollback() {
	s.dropPending()
	s.endRollback()
	s.plan.After = soon
}

// recordSteps copies capacity and traffic of the clusters to the status.
func (s *step) recordSteps() {
	if !s.in.Strategy.Steps {
		return
	}
	s.traffic()
	for _, name := range []string{s.activeName(), s.pendingName()} {
		if c := s.live(name); c != nil {
			s.capacity(name, c)
		}
	}
}

// upgrade performs one step of an incremental upgrade, and maintains the Gateway and the HTTPRoute.
func (s *step) upgrade() {
	if !s.in.Strategy.Steps {
		s.leaveSteps()
		return
	}
	s.plan.Gateway = true
	if s.pendingName() != "" && s.active() == nil && s.is(rayv1.RayServiceUpgradeInProgress) {
		s.plan.RollbackImpossible = s.activeName()
	}
	for _, name := range []string{s.activeName(), s.pendingName()} {
		if s.live(name) != nil {
			s.plan.ClusterServices = append(s.plan.ClusterServices, name)
		}
	}
	switch p := s.pending(); {
	case s.inSteps():
		s.move()
	case s.active() != nil:
		s.plan.Route = []Backend{{s.activeName(), 100}}
	case p != nil && p.Pods > 0 && s.in.Routing.Weights != nil: // the old cluster is gone
		s.plan.Route = []Backend{{s.pendingName(), 100}}
	}
}

// move carries out the next move of an incremental upgrade.
func (s *step) move() {
	u := s.state()
	move := u.Next()
	s.waits, s.user = s.obstacle(u, move), move.User
	if move.After > 0 {
		s.lookAt(s.in.Now.Add(move.After))
	}
	s.share(move)
	if s.plan.Route == nil {
		s.plan.Route = []Backend{{s.activeName(), 100}}
	}
}

// share sets the capacity and traffic of both clusters for a move.
func (s *step) share(move Move) {
	if s.pending() != nil {
		s.plan.Route = []Backend{{s.activeName(), 100 - move.PendingTraffic}, {s.pendingName(), move.PendingTraffic}}
	}
	rolling := s.is(rayv1.RayServiceRollbackInProgress)
	s.deploy(Deployment{Cluster: s.pendingName(), Keep: rolling, Capacity: new(s.first(move.PendingCapacity))})
	// Send the configuration in the spec to the old cluster only if the rest of the spec matches that cluster, or if its own is lost.
	a := s.active()
	back := rolling && (a.Match == rayservice.Same || !a.Serve.kept())
	s.deploy(Deployment{Cluster: s.activeName(), Keep: !back, Capacity: new(move.ActiveCapacity)})
}

// obstacle returns what a move waits for, including a cluster whose capacity cannot be set; empty if it does not wait.
func (s *step) obstacle(u Upgrade, move Move) string {
	switch {
	case move.Waits != "":
		return move.Waits
	case move.ActiveCapacity != u.ActiveCapacity:
		return s.unasked(s.activeName())
	case move.PendingCapacity != u.PendingCapacity:
		return s.unasked(s.pendingName())
	}
	return ""
}

// first returns the initial capacity for the first configuration of a cluster, and the given one afterwards.
func (s *step) first(capacity int32) int32 {
	p := s.pending()
	if p != nil && len(p.Serve.Applications) == 0 {
		return ptr.Deref(s.st.PendingServiceStatus.TargetCapacity, 0)
	}
	return capacity
}

// leaveSteps abandons an incremental upgrade after the strategy was changed.
func (s *step) leaveSteps() {
	for _, name := range []string{s.activeName(), s.pendingName()} {
		st := s.of(name)
		if name == "" || st.TrafficRoutedPercent == nil && st.TargetCapacity == nil {
			continue
		}
		s.plan.DeleteRouting = true
		if s.in.Routing.Left { // the status marks the objects for deletion until they are gone
			s.lookAt(s.in.Now.Add(suspendCheck))
			continue
		}
		st.TrafficRoutedPercent, st.LastTrafficMigratedTime = nil, nil
		keeps := name == s.activeName() && s.pendingName() != ""
		if c := s.live(name); c != nil && c.Serve.current() && c.Serve.Settled && c.Serve.Capacity == s.ownCapacity(keeps, c.Serve) {
			st.TargetCapacity = nil
		}
	}
}

// traffic copies the traffic shares from the HTTPRoute to the status.
func (s *step) traffic() {
	if s.in.Routing.Weights == nil {
		return
	}
	for _, name := range []string{s.activeName(), s.pendingName()} {
		weight, routed := s.in.Routing.Weights[name]
		if name == "" || !routed && (name == s.activeName() || s.of(name).TrafficRoutedPercent == nil) {
			continue
		}
		st := s.of(name)
		if st.TrafficRoutedPercent == nil || *st.TrafficRoutedPercent != weight {
			st.TrafficRoutedPercent = &weight
			st.LastTrafficMigratedTime = &metav1.Time{Time: s.in.Now}
		}
	}
}

// capacity copies the capacity that Ray reports for a cluster to the status.
func (s *step) capacity(name string, c *Cluster) {
	if c.Serve.current() && len(c.Serve.Applications) > 0 {
		s.of(name).TargetCapacity = new(c.Serve.Capacity)
	}
}

// state returns the current state of the incremental upgrade.
func (s *step) state() Upgrade {
	o := rayv1.ClusterUpgradeOptions{}
	if s.spec.UpgradeStrategy != nil && s.spec.UpgradeStrategy.ClusterUpgradeOptions != nil {
		o = *s.spec.UpgradeStrategy.ClusterUpgradeOptions
	}
	st := s.st
	u := Upgrade{
		Shares: Shares{
			ActiveCapacity:  ptr.Deref(st.ActiveServiceStatus.TargetCapacity, 100),
			PendingCapacity: ptr.Deref(st.PendingServiceStatus.TargetCapacity, 0),
			PendingTraffic:  s.sharedTraffic(),
		},
		Surge: ptr.Deref(o.MaxSurgePercent, 100), Step: ptr.Deref(o.StepSizePercent, 0), Interval: time.Duration(ptr.Deref(o.IntervalSeconds, 0)) * time.Second,
		Rollback: s.is(rayv1.RayServiceRollbackInProgress), Now: s.in.Now, Shifted: s.lastShift(), Unrouted: s.unrouted(),
	}
	if s.in.ServeService == s.activeName() {
		u.ServiceWaits = "Service " + names.ServiceServeService(s.in.Service) + " still leads to cluster " + s.activeName()
	}
	a, p := s.active(), s.pending()
	u.ActiveWaits = s.notReady(s.activeName(), a, u.ActiveCapacity, false)
	u.ActiveServesNothing = a.Pods == 0
	u.PendingServesNothing, u.PendingHasNoHead, u.PendingWaits = true, true, "cluster "+s.pendingName()+" is not there yet"
	if p != nil {
		u.PendingServesNothing, u.PendingHasNoHead = p.Pods == 0, !p.HeadReady
		u.PendingDeployed = p.Serve.current() && len(p.Serve.Applications) > 0 && !s.due(p.Serve)
		u.PendingWaits = s.notReady(s.pendingName(), p, u.PendingCapacity, true)
	}
	u.Held = s.held()
	u.Canary, u.Unconfirmed = s.canary()
	u.Analysed = s.analysis() != nil
	if u.ActiveServesNothing && !u.PendingServesNothing && a.Match != rayservice.Same {
		u.Rollback = false // a rollback to a cluster that is down would be followed by another upgrade
		if aborts(s) {
			u.Held = "the upgrade is aborted, and cluster " + s.activeName() + " takes no requests"
		}
	}
	return u
}

// sharedTraffic returns the traffic of the new cluster in percent.
func (s *step) sharedTraffic() int32 {
	return ptr.Deref(s.st.PendingServiceStatus.TrafficRoutedPercent, 0)
}

// lastShift returns when traffic was last moved; zero if never.
func (s *step) lastShift() (last time.Time) {
	for _, t := range []*metav1.Time{s.st.ActiveServiceStatus.LastTrafficMigratedTime, s.st.PendingServiceStatus.LastTrafficMigratedTime} {
		if t != nil && t.After(last) {
			last = t.Time
		}
	}
	return last
}

// unasked returns why the capacity of a cluster cannot be set; empty if it can.
func (s *step) unasked(name string) string {
	if c := s.live(name); c != nil && (!c.HeadReady || !c.Serve.current()) {
		return waitsFor(name, c)
	}
	return ""
}

// notReady returns why a cluster cannot serve more traffic; empty if it can.
func (s *step) notReady(name string, c *Cluster, capacity int32, deployed bool) string {
	v := c.Serve
	switch {
	case !c.HeadReady || !v.current() || !v.running() || deployed && s.due(v):
		return waitsFor(name, c)
	case v.Capacity != capacity || !v.Settled:
		return "cluster " + name + " has not all replicas yet"
	}
	return s.unreachable(name, c)
}

// unrouted returns why traffic cannot be moved.
func (s *step) unrouted() string {
	switch r := s.in.Routing; {
	case r.Missing:
		return "the Gateway API is not installed"
	case !r.GatewayReady:
		return withReason("the Gateway is not programmed yet", r.GatewayWhy)
	case r.Weights == nil, !r.RouteReady:
		return withReason("the Gateway has not accepted the HTTPRoute yet", r.RouteRefused)
	case s.pending() != nil:
		if _, routed := r.Weights[s.pendingName()]; !routed {
			return "the HTTPRoute does not have cluster " + s.pendingName() + " yet"
		}
	}
	return ""
}

// withReason appends a reason to a text unless it is empty.
func withReason(text, why string) string {
	if why == "" {
		return text
	}
	return text + ": " + why
}
