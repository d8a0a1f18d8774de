package serveplan

import (
	"time"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/names"
	"github.com/raygate/raygate/operator/internal/build/rayservice"
)

// Plan is what happens next. Its parts can be carried out in any order but for the status, which is saved last; each may be carried out
// again.
type Plan struct {
	// Create is the name of a cluster to make, with its worker groups at their minimum if FromMinimum says so; empty for none.
	Create      string
	FromMinimum bool
	// Update is the name of a cluster to bring up to date in place, Resize are those that get other numbers of workers, and Rebaseline
	// those whose hash is to be written anew.
	Update             string
	Resize, Rebaseline []string
	// Schedule are clusters that are no longer used, and when to delete them; Delete those that are to be deleted now.
	Schedule map[string]time.Time
	Delete   []string
	// DeleteChildren says that all Services and the Gateway API objects of the service are to be deleted, and DeleteRouting that the
	// latter are.
	DeleteChildren, DeleteRouting bool
	// Services is the name of the cluster to which the Services of the service are to lead; empty leaves them as they are. Serve is that
	// of the serve Service if it is another; empty if not.
	Services, Serve string
	// ClusterServices are clusters that need a Service of their own.
	ClusterServices []string
	// Gateway asks for the Gateway, and Route for an HTTPRoute with these backends; nil leaves it as it is.
	Gateway bool
	Route   []Backend
	// Deploy are configurations to send to Ray.
	Deploy []Deployment
	// Watch are the clusters whose Serve is to be asked from now on, and Steady says that nothing is expected to change.
	Watch  []string
	Steady bool
	// Label are the clusters whose head is to be labelled by the health of its proxy.
	Label []string
	// Status is the new status. Copies of the clusters' statuses in it are up to date.
	Status rayv1.RayServiceStatuses
	// TimedOut, Overdue and RollbackImpossible tell of what happened, for events; empty if it did not.
	TimedOut, Overdue, RollbackImpossible string
	// After is when to look again even if nothing changes. 0 means not at all.
	After time.Duration
}

// Backend is a cluster of the HTTPRoute with its share of the traffic in percent.
type Backend struct {
	Cluster string
	Weight  int32
}

// Deployment is a configuration for one cluster.
type Deployment struct {
	Cluster string
	// Keep says that the cluster keeps what it runs, and only its capacity changes.
	Keep bool
	// Capacity is the target capacity in percent; nil for none.
	Capacity *int32
}

// soon is how long to wait for what follows from the status that is saved with the plan.
const soon = 10 * time.Millisecond

// Next decides what happens next to a RayService that is not being deleted.
func Next(in Input) Plan {
	s := &step{in: in, spec: &in.Service.Spec}
	in.Service.Status.DeepCopyInto(&s.plan.Status)
	s.st = &s.plan.Status
	s.decide()
	s.plan.Status.ServiceStatus = rayv1.ServiceNotRunning
	if s.is(rayv1.RayServiceReady) {
		s.plan.Status.ServiceStatus = rayv1.ServiceRunning
	}
	return s.plan
}

// step is one decision in the making.
type step struct {
	in   Input
	spec *rayv1.RayServiceSpec
	st   *rayv1.RayServiceStatuses
	plan Plan
	// waits is what an upgrade waits for, in words.
	waits string
}

func (s *step) decide() {
	if s.suspension() {
		return
	}
	s.st.ObservedGeneration = s.in.Service.Generation
	s.initialize()
	if s.timedOut() {
		s.release(true)
		return
	}
	if s.in.Invalid != "" {
		s.invalid()
		return
	}
	s.promote()
	s.rollback()
	s.prepare()
	s.clusters()
	s.services()
	s.upgrade()
	s.observe()
	s.conditions()
	s.release(false)
}

// invalid keeps alive what there is: KubeRay stops looking at it.
func (s *step) invalid() {
	s.deploy(s.activeName(), true, s.st.ActiveServiceStatus.TargetCapacity)
	s.observe()
	s.setInvalid()
	s.release(false)
}

func (s *step) activeName() string  { return s.st.ActiveServiceStatus.RayClusterName }
func (s *step) pendingName() string { return s.st.PendingServiceStatus.RayClusterName }

// live returns a cluster that is there and stays; nil for none.
func (s *step) live(name string) *Cluster {
	if c, ok := s.in.Clusters[name]; ok && name != "" && !c.Deleting {
		return &c
	}
	return nil
}

func (s *step) active() *Cluster  { return s.live(s.activeName()) }
func (s *step) pending() *Cluster { return s.live(s.pendingName()) }

// inSteps reports whether there are two clusters between which the traffic moves in steps. Without the old one there is nothing to move.
func (s *step) inSteps() bool {
	return s.in.Strategy.Steps && s.pendingName() != "" && s.active() != nil
}

// promote makes the new cluster the active one when the Services lead to it.
func (s *step) promote() {
	if s.serving() && s.in.HeadService == s.in.ServeService {
		s.makeActive()
	}
}

func (s *step) makeActive() {
	s.st.ActiveServiceStatus = s.st.PendingServiceStatus
	s.st.PendingServiceStatus = rayv1.RayServiceStatus{}
	s.plan.After = soon
}

// serving reports whether a Service leads to the new cluster already.
func (s *step) serving() bool {
	p := s.pendingName()
	return p != "" && !s.inSteps() && (s.in.HeadService == p || s.in.ServeService == p)
}

// prepare names a new cluster, or gives one up. The name is saved before there is an object.
func (s *step) prepare() {
	a := s.active()
	switch {
	case s.serving(), s.is(rayv1.RayServiceRollbackInProgress), s.inSteps(): // what changes in steps is a rollback first
		return
	case s.pendingName() != "" && a != nil && (a.Match == rayservice.Same || s.strands()):
		s.st.PendingServiceStatus = rayv1.RayServiceStatus{} // the spec is that of the active cluster again, or may no longer be followed
		return
	case !s.needsCluster():
		return
	}
	s.st.PendingServiceStatus = rayv1.RayServiceStatus{RayClusterName: names.ServiceCluster(s.in.Service.Name, s.in.Suffix())}
	if s.in.Strategy.Steps {
		s.st.PendingServiceStatus.TargetCapacity = new(int32(100))
		if a != nil {
			s.st.PendingServiceStatus.TargetCapacity = new(int32(0))
		}
	}
	s.plan.After = soon
}

// strands reports whether the new cluster can never become what the spec asks for, since the strategy was changed to one that makes none.
func (s *step) strands() bool {
	p := s.pending()
	return p != nil && p.Match == rayservice.Different && !s.in.Strategy.NewCluster
}

// needsCluster reports whether none of the clusters can become what the spec asks for.
func (s *step) needsCluster() bool {
	c := s.pending()
	if c == nil {
		if s.pendingName() != "" {
			return false // it is to be made from the spec of now
		}
		if c = s.active(); c == nil {
			return true
		}
	}
	return c.Match == rayservice.Different && (s.in.Strategy.NewCluster || s.active() == nil)
}

// clusters makes and changes the objects. Only a name that is saved is used.
func (s *step) clusters() {
	a, p := s.active(), s.pending()
	name := s.pendingName()
	_, there := s.in.Clusters[name]
	if name != "" && name == s.in.Service.Status.PendingServiceStatus.RayClusterName && !there && !s.is(rayv1.RayServiceRollbackInProgress) {
		s.plan.Create, s.plan.FromMinimum = name, s.inSteps()
	}
	switch {
	case p != nil && p.Match == rayservice.Appended:
		s.plan.Update = name
	case p == nil && a != nil && name == "" && a.Match == rayservice.Appended:
		s.plan.Update = s.activeName()
	}
	s.touchUp(s.activeName(), name == "") // the old cluster of an upgrade keeps its size
	s.touchUp(name, true)
}

// touchUp changes what a cluster may get without another one being needed.
func (s *step) touchUp(name string, resize bool) {
	switch c := s.live(name); {
	case c == nil, name == s.plan.Update:
	case c.Rebaseline && c.Match == rayservice.Same:
		s.plan.Rebaseline = append(s.plan.Rebaseline, name)
	case c.Resize && resize:
		s.plan.Resize = append(s.plan.Resize, name)
	}
}

// services leads the Services to the cluster that can take requests, and sends the configuration to the one that is to have it.
func (s *step) services() {
	a, p := s.active(), s.pending()
	switch {
	case s.inSteps():
		s.plan.Services = s.activeName()
		if p != nil && p.Pods > 0 && s.in.Routing.Weights[s.pendingName()] == 100 {
			s.plan.Serve = s.pendingName() // the old cluster loses its replicas next
		}
	case p != nil && (s.serving() || s.ready(s.pendingName(), p)):
		s.plan.Services = s.pendingName()
	case a != nil:
		s.plan.Services = s.activeName()
	}
	if s.inSteps() {
		return // see upgrade
	}
	var capacity *int32
	if s.in.Strategy.Steps {
		capacity = new(int32(100))
	}
	if s.pendingName() == "" {
		s.deploy(s.activeName(), false, capacity)
		return
	}
	s.deploy(s.pendingName(), false, capacity)
	s.deploy(s.activeName(), true, capacity)
}

// ready reports whether the Services may lead to the new cluster. To one of which no Pod takes requests they do so only where nothing is
// lost by it.
func (s *step) ready(name string, c *Cluster) bool {
	v, a := c.Serve, s.active()
	switch {
	case !c.HeadReady || !v.current() || !v.running() || s.due(v):
		s.waits = waitsFor(name, c)
	case !s.in.Strategy.Steps && s.of(name).TargetCapacity != nil && (v.Capacity != s.ownCapacity(false, v) || !v.Settled): // an upgrade in steps was left
		s.waits = "cluster " + name + " has not all replicas yet"
	case a != nil && a.Pods > 0:
		s.waits = s.unreachable(name, c)
	}
	return s.waits == ""
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

// deploy sends a cluster the configuration of the spec, unless it keeps its own, and the capacity. What is kept is sent to a head that has
// lost it.
func (s *step) deploy(name string, keep bool, capacity *int32) {
	c := s.live(name)
	if c == nil || !c.HeadReady || !c.Serve.current() || !keep && s.in.ConfigError != "" {
		return
	}
	// Of a service without steps the capacity is the user's, unless an upgrade in steps has left it.
	resize := false
	switch {
	case len(c.Serve.Applications) == 0:
	case capacity != nil:
		resize = c.Serve.Capacity != *capacity
	case s.of(name).TargetCapacity != nil:
		resize = c.Serve.Capacity != s.ownCapacity(keep, c.Serve)
	}
	if resize || keep && c.Serve.lost() || !keep && s.due(c.Serve) {
		s.plan.Deploy = append(s.plan.Deploy, Deployment{Cluster: name, Keep: keep, Capacity: capacity})
	}
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

// of is the part of the status about a cluster that is used.
func (s *step) of(name string) *rayv1.RayServiceStatus {
	if name == s.pendingName() {
		return &s.st.PendingServiceStatus
	}
	return &s.st.ActiveServiceStatus
}

// release lets clusters go that are no longer used. One that a Service still leads to stays, unless nobody may use the service.
func (s *step) release(all bool) {
	for _, name := range sortedKeys(s.in.Clusters) {
		c := s.in.Clusters[name]
		used := name == s.activeName() || name == s.pendingName() || !all && (name == s.in.HeadService || name == s.in.ServeService || s.in.Routing.Weights[name] > 0)
		switch {
		case used, c.Deleting:
		case c.DeleteAfter.IsZero():
			if s.plan.Schedule == nil {
				s.plan.Schedule = map[string]time.Time{}
			}
			at := s.in.Now.Add(deletionDelay(s.spec))
			s.plan.Schedule[name] = at
			s.lookAt(at)
		case !s.in.Now.Before(c.DeleteAfter):
			s.plan.Delete = append(s.plan.Delete, name)
		default:
			s.lookAt(c.DeleteAfter)
		}
	}
}

// lookAt asks for a look at a moment; the first one counts.
func (s *step) lookAt(t time.Time) {
	d := max(t.Sub(s.in.Now), soon)
	if s.plan.After == 0 || d < s.plan.After {
		s.plan.After = d
	}
}
