package serveplan

import (
	"cmp"
	"time"
)

// services decides which cluster the Services select.
func (s *step) services() {
	p := s.pending()
	if s.active() != nil {
		s.plan.Services = s.activeName()
	}
	switch {
	case p == nil:
	case s.inSteps():
		stays := s.paused() && s.active().Pods > 0 && s.in.ServeService != s.pendingName()
		if p.Pods > 0 && s.in.Routing.Weights[s.pendingName()] == 100 && !stays {
			s.plan.Serve = s.pendingName() // the old cluster loses its replicas next
		}
	case s.moving():
		s.plan.Services = s.pendingName()
	default:
		if s.waits = cmp.Or(s.held(), s.switchWaits(p)); s.waits == "" {
			s.plan.Services = s.pendingName()
		}
	}
}

// configurations sends the configuration in the spec to its cluster. During an incremental upgrade, share does so.
func (s *step) configurations() {
	if s.inSteps() {
		return
	}
	var capacity *int32
	if s.in.Strategy.Steps {
		capacity = new(int32(100))
	}
	s.deploy(Deployment{Cluster: s.pendingName(), Capacity: capacity})
	s.deploy(Deployment{Cluster: s.activeName(), Keep: s.pendingName() != "" || s.keepsConfiguration(), Capacity: capacity})
}

// switchWaits returns why the Services must not select the new cluster yet; empty if they may. If no Pod of the new cluster serves
// requests, they may only if nothing is lost by it.
func (s *step) switchWaits(c *Cluster) string {
	name, v, a := s.pendingName(), c.Serve, s.active()
	leftSteps := !s.in.Strategy.Steps && s.of(name).TargetCapacity != nil // the strategy was changed during an incremental upgrade
	switch {
	case !c.HeadReady || !v.current() || !v.running() || s.due(v):
		return waitsFor(name, c)
	case leftSteps && (v.Capacity != s.in.Config.Capacity() || !v.Settled):
		return "cluster " + name + " has not all replicas yet"
	case a != nil && a.Pods > 0:
		return s.unreachable(name, c)
	}
	return ""
}

// EndpointLag is how long the controllers of endpoints may take to see Pods that the operator has seen, since each has its own
// watches. A Service that is switched to Pods they do not know yet has no endpoints.
const EndpointLag = 2 * time.Second

// unreachable returns why requests to a cluster would fail; empty if they would not.
func (s *step) unreachable(name string, c *Cluster) string {
	if c.Pods == 0 {
		return "no Pod of cluster " + name + " takes requests yet"
	}
	if settled := c.ServingSince.Add(EndpointLag); s.in.Now.Before(settled) {
		s.lookAt(settled)
		return "the Pods of cluster " + name + " have just begun to take requests"
	}
	return ""
}

// deploy sends a configuration if necessary: the cluster has another one or another capacity, or its head has lost it.
func (s *step) deploy(d Deployment) {
	c := s.live(d.Cluster)
	if c == nil || !c.HeadReady || !c.Serve.current() || !d.Keep && s.in.ConfigError != "" {
		return
	}
	lacks := s.due(c.Serve)
	if d.Keep {
		lacks = c.Serve.lost()
	}
	if lacks || s.resizes(d, c.Serve) {
		s.plan.Deploy = append(s.plan.Deploy, d)
	}
}

// resizes reports whether the capacity of a cluster with applications has to change. Without incremental upgrades the capacity
// belongs to the user, unless such an upgrade was abandoned.
func (s *step) resizes(d Deployment, v Serve) bool {
	switch {
	case len(v.Applications) == 0:
		return false
	case d.Capacity != nil:
		return v.Capacity != *d.Capacity
	case s.of(d.Cluster).TargetCapacity != nil:
		return v.Capacity != s.ownCapacity(d.Keep, v)
	}
	return false
}

// lost reports whether Ray has lost the configuration that it accepted.
func (v Serve) lost() bool {
	if len(v.Applications) > 0 {
		return false
	}
	c, err := ParseConfig(v.Text)
	return err == nil && !c.Empty()
}

// ownCapacity returns the capacity in the configuration that a cluster gets or keeps.
func (s *step) ownCapacity(keep bool, v Serve) int32 {
	if !keep {
		return s.in.Config.Capacity()
	}
	if c, err := ParseConfig(v.Text); v.Known && err == nil {
		return c.Capacity()
	}
	return 100 // the deployed applications do not include it
}

// due reports whether the configuration in the spec has to be sent: Ray has another one, or has lost it with its head.
func (s *step) due(v Serve) bool {
	switch {
	case v.Known && v.Text != s.spec.ServeConfigV2:
		return true
	case !v.Known && !v.Deployed:
		return true
	default:
		return len(v.Applications) == 0 && !s.in.Config.Empty()
	}
}
