package serveplan

import (
	"slices"
	"time"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// Plan is the result of a decision. Its parts can be carried out in any order, except the status, which is saved last. All parts
// are idempotent.
type Plan struct {
	// Rules are the names of the rules of the life cycle that applied.
	Rules []string
	// Create is the name of a cluster to create, with its worker groups at their minimum if FromMinimum is set; empty for none.
	Create      string
	FromMinimum bool
	// Update is the name of a cluster to update in place. Resize are clusters with other numbers of workers. Rebaseline are
	// clusters whose hash has to be rewritten.
	Update             string
	Resize, Rebaseline []string
	// Schedule contains unused clusters with their deletion times; Delete the clusters to delete now.
	Schedule map[string]time.Time
	Delete   []string
	// DeleteChildren requests the deletion of all Services and Gateway API objects of the service, DeleteRouting only of the
	// latter.
	DeleteChildren, DeleteRouting bool
	// Services is the cluster that the Services have to select; empty keeps the current one. Serve is the cluster for the serve
	// Service if it differs.
	Services, Serve string
	// ClusterServices are clusters that need their own serve Service.
	ClusterServices []string
	// Gateway requests the Gateway, and Route an HTTPRoute with these backends; nil keeps the current one.
	Gateway bool
	Route   []Backend
	// Deploy are configurations to send to Ray.
	Deploy []Deployment
	// Watch are the clusters whose Serve is polled. Steady means that no change is expected.
	Watch  []string
	Steady bool
	// Measure asks Prometheus about the pending cluster; nil for no question.
	Measure *Measurement
	// Label are the clusters whose head is labelled by the health of its proxy.
	Label []string
	// Status is the new status. Its copies of the clusters' statuses are current.
	Status rayv1.RayServiceStatuses
	// TimedOut, Overdue, RollbackImpossible, Paused, Resumed and Aborted are the texts of events; empty if they do not apply.
	TimedOut, Overdue, RollbackImpossible, Paused, Resumed, Aborted string
	// After is the time until the next reconcile without an event; 0 means none.
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
	// Keep means that the cluster keeps its configuration, and only its capacity changes.
	Keep bool
	// Capacity is the target capacity in percent; nil for none.
	Capacity *int32
}

// soon is the delay before the reconcile that follows the saved status.
const soon = 10 * time.Millisecond

// Next returns the plan for a RayService that is not being deleted.
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

// step is the state of one decision.
type step struct {
	in   Input
	spec *rayv1.RayServiceSpec
	st   *rayv1.RayServiceStatuses
	plan Plan
	// waits describes what an upgrade waits for. user means that it waits for its user.
	waits string
	user  bool
}

// decide applies the rules of the life cycle, and derives the plan from the phase that results.
func (s *step) decide() {
	if s.phase() != suspending {
		s.st.ObservedGeneration = s.in.Service.Generation
		s.recordSteps()
		s.forgetAbort()
	}
	for range maxRules {
		rules := table[s.phase()]
		i := slices.IndexFunc(rules, func(r rule) bool { return r.when(s) })
		if i < 0 {
			break
		}
		s.plan.Rules = append(s.plan.Rules, rules[i].name)
		if rules[i].do(s); rules[i].final {
			return
		}
	}
	s.clusters()
	s.services()
	s.configurations()
	s.setAnalysis()
	s.upgrade()
	s.observe()
	s.conditions()
	s.release(false)
}

func always(*step) bool { return true }

func invalid(s *step) bool { return s.in.Invalid != "" }

// keep maintains the current clusters of an invalid service; KubeRay stops reconciling them.
func (s *step) keep() {
	s.deploy(Deployment{Cluster: s.activeName(), Keep: true, Capacity: s.st.ActiveServiceStatus.TargetCapacity})
	s.observe()
	s.setInvalid()
	s.release(false)
}

func (s *step) activeName() string  { return s.st.ActiveServiceStatus.RayClusterName }
func (s *step) pendingName() string { return s.st.PendingServiceStatus.RayClusterName }

// live returns an existing cluster that is not being deleted; nil for none.
func (s *step) live(name string) *Cluster {
	if c, ok := s.in.Clusters[name]; ok && name != "" && !c.Deleting {
		return &c
	}
	return nil
}

func (s *step) active() *Cluster  { return s.live(s.activeName()) }
func (s *step) pending() *Cluster { return s.live(s.pendingName()) }

// inSteps reports whether traffic moves between two clusters in an incremental upgrade. Without the old cluster there is no
// traffic to move.
func (s *step) inSteps() bool {
	return s.in.Strategy.Steps && s.pendingName() != "" && s.active() != nil
}

// of returns the part of the status for a cluster in use.
func (s *step) of(name string) *rayv1.RayServiceStatus {
	if name == s.pendingName() {
		return &s.st.PendingServiceStatus
	}
	return &s.st.ActiveServiceStatus
}

// lookAt schedules a reconcile at t; the earliest one counts.
func (s *step) lookAt(t time.Time) {
	d := max(t.Sub(s.in.Now), soon)
	if s.plan.After == 0 || d < s.plan.After {
		s.plan.After = d
	}
}
