package serveplan

import "time"

// services leads the Services to the cluster that can take requests.
func (s *step) services() {
	p := s.pending()
	if s.active() != nil {
		s.plan.Services = s.activeName()
	}
	switch {
	case p == nil:
	case s.inSteps():
		if p.Pods > 0 && s.in.Routing.Weights[s.pendingName()] == 100 {
			s.plan.Serve = s.pendingName() // the old cluster loses its replicas next
		}
	case s.serving():
		s.plan.Services = s.pendingName()
	default:
		if s.waits = s.switchWaits(p); s.waits == "" {
			s.plan.Services = s.pendingName()
		}
	}
}

// configurations sends the configuration of the spec to the cluster that is to have it. In steps, share does so.
func (s *step) configurations() {
	if s.inSteps() {
		return
	}
	var capacity *int32
	if s.in.Strategy.Steps {
		capacity = new(int32(100))
	}
	s.deploy(Deployment{Cluster: s.pendingName(), Capacity: capacity})
	s.deploy(Deployment{Cluster: s.activeName(), Keep: s.pendingName() != "", Capacity: capacity})
}

// switchWaits says why the Services may not lead to the new cluster yet; empty if they may. To one of which no Pod takes requests they do so
// only where nothing is lost by it.
func (s *step) switchWaits(c *Cluster) string {
	name, v, a := s.pendingName(), c.Serve, s.active()
	leftSteps := !s.in.Strategy.Steps && s.of(name).TargetCapacity != nil // an upgrade in steps was left
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

// EndpointLag is how long those who keep the endpoints of Services may take to see what the operator has seen: each has watches of its own.
// A Service that is led to Pods of which they do not know yet has no endpoint at all.
const EndpointLag = 2 * time.Second

// unreachable says why requests to a cluster would not arrive; empty if they would.
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

// deploy sends a configuration where that is due: the cluster has another one or another capacity, or its head has lost what it had.
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

// resizes reports whether a cluster with applications has another capacity than it is to have. Of a service without steps the capacity is the
// user's, unless an upgrade in steps has left it.
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

// lost reports whether Ray has nothing of what it accepted. A later configuration whose answer was lost is not there either.
func (v Serve) lost() bool {
	if len(v.Applications) > 0 {
		return false
	}
	c, err := ParseConfig(v.Text)
	return err == nil && !c.Empty()
}

// ownCapacity is the capacity in the configuration that a cluster gets, or keeps.
func (s *step) ownCapacity(keep bool, v Serve) int32 {
	if !keep {
		return s.in.Config.Capacity()
	}
	if c, err := ParseConfig(v.Text); v.Known && err == nil {
		return c.Capacity()
	}
	return 100 // what Ray says was deployed does not have it
}

// due reports whether the configuration of the spec has to be sent: Ray has another one, or has lost it with its head.
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
