package serveplan

import (
	"time"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
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
	s.configurations()
	s.upgrade()
	s.observe()
	s.conditions()
	s.release(false)
}

// invalid keeps alive what there is: KubeRay stops looking at it.
func (s *step) invalid() {
	s.deploy(Deployment{Cluster: s.activeName(), Keep: true, Capacity: s.st.ActiveServiceStatus.TargetCapacity})
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

// of is the part of the status about a cluster that is used.
func (s *step) of(name string) *rayv1.RayServiceStatus {
	if name == s.pendingName() {
		return &s.st.PendingServiceStatus
	}
	return &s.st.ActiveServiceStatus
}

// lookAt asks for a look at a moment; the first one counts.
func (s *step) lookAt(t time.Time) {
	d := max(t.Sub(s.in.Now), soon)
	if s.plan.After == 0 || d < s.plan.After {
		s.plan.After = d
	}
}
