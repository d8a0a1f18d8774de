package serveplan

import (
	"time"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/names"
	"github.com/raygate/raygate/operator/internal/build/rayservice"
)

// switched reports whether both Services select the pending cluster.
func switched(s *step) bool { return s.moving() && s.in.HeadService == s.in.ServeService }

func (s *step) makeActive() {
	s.st.ActiveServiceStatus = s.st.PendingServiceStatus
	s.st.PendingServiceStatus = rayv1.RayServiceStatus{}
	s.plan.After = soon
}

// moving reports whether a Service already selects the pending cluster. It is for phases without steps.
func (s *step) moving() bool {
	p := s.pendingName()
	return p != "" && (s.in.HeadService == p || s.in.ServeService == p)
}

// takenBack reports whether the pending cluster is no longer wanted: the spec matches the active one again, or must not be applied any
// more because the strategy allows no new cluster.
func takenBack(s *step) bool {
	p := s.pending()
	stranded := p != nil && p.Match == rayservice.Different && !s.in.Strategy.NewCluster
	return !s.moving() && !s.paused() && (activeMatches(s) || stranded)
}

func (s *step) dropPending() { s.st.PendingServiceStatus = rayv1.RayServiceStatus{} }

// needsCluster reports whether no existing cluster can match the spec.
func needsCluster(s *step) bool {
	c := s.pending()
	switch {
	case s.moving(), c == nil && s.pendingName() != "": // the Services move first; a named cluster will be created from the current spec
		return false
	case s.paused(), s.withheld():
		return false
	case c == nil:
		c = s.active()
	}
	return c == nil || c.Match == rayservice.Different && (s.in.Strategy.NewCluster || s.active() == nil)
}

// nameCluster names a new cluster. The name is saved before the object is created.
func (s *step) nameCluster() {
	s.st.PendingServiceStatus = rayv1.RayServiceStatus{RayClusterName: names.Attempt(s.in.Service.Name, s.in.Suffix())}
	if s.in.Strategy.Steps {
		s.st.PendingServiceStatus.TargetCapacity = new(int32(100))
		if s.active() != nil {
			s.st.PendingServiceStatus.TargetCapacity = new(int32(0))
		}
	}
	s.plan.After = soon
}

// clusters creates and changes the objects. It uses only names that are saved.
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
	s.touchUp(s.activeName(), name == "" && !s.withheld()) // the old cluster of an upgrade keeps its size
	s.touchUp(name, true)
}

// touchUp changes a cluster where no new one is needed.
func (s *step) touchUp(name string, resize bool) {
	switch c := s.live(name); {
	case c == nil, name == s.plan.Update:
	case c.Rebaseline:
		s.plan.Rebaseline = append(s.plan.Rebaseline, name)
	case c.Resize && resize:
		s.plan.Resize = append(s.plan.Resize, name)
	}
}

// releaseAll ends a service that was not ready in time. Only suspending or recreating it helps then.
func (s *step) releaseAll() { s.release(true) }

// release schedules the deletion of unused clusters. It keeps a cluster that a Service still selects, unless all is set.
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
			s.plan.Schedule[name] = s.in.Now.Add(deletionDelay(s.spec)) // the change of the cluster leads to the next look
		case !s.in.Now.Before(c.DeleteAfter):
			s.plan.Delete = append(s.plan.Delete, name)
		default:
			s.lookAt(c.DeleteAfter)
		}
	}
}
