package serveplan

import (
	"time"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/names"
	"github.com/raygate/raygate/operator/internal/build/rayservice"
)

// promote makes the pending cluster the active one when both Services select it.
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

// serving reports whether a Service already selects the pending cluster.
func (s *step) serving() bool {
	p := s.pendingName()
	return p != "" && !s.inSteps() && (s.in.HeadService == p || s.in.ServeService == p)
}

// prepare names a new cluster, or drops one. The name is saved before the object is created.
func (s *step) prepare() {
	a := s.active()
	switch {
	case s.serving(), s.is(rayv1.RayServiceRollbackInProgress), s.inSteps(): // a change during an incremental upgrade is first a rollback
		return
	case s.pendingName() != "" && a != nil && (a.Match == rayservice.Same || s.strands()):
		s.st.PendingServiceStatus = rayv1.RayServiceStatus{} // the spec matches the active cluster again, or must not be applied any more
		return
	case !s.needsCluster():
		return
	}
	s.st.PendingServiceStatus = rayv1.RayServiceStatus{RayClusterName: names.Attempt(s.in.Service.Name, s.in.Suffix())}
	if s.in.Strategy.Steps {
		s.st.PendingServiceStatus.TargetCapacity = new(int32(100))
		if a != nil {
			s.st.PendingServiceStatus.TargetCapacity = new(int32(0))
		}
	}
	s.plan.After = soon
}

// strands reports whether the pending cluster can never match the spec, because the strategy no longer allows a new one.
func (s *step) strands() bool {
	p := s.pending()
	return p != nil && p.Match == rayservice.Different && !s.in.Strategy.NewCluster
}

// needsCluster reports whether no existing cluster can match the spec.
func (s *step) needsCluster() bool {
	c := s.pending()
	if c == nil {
		if s.pendingName() != "" {
			return false // it will be created from the current spec
		}
		if c = s.active(); c == nil {
			return true
		}
	}
	return c.Match == rayservice.Different && (s.in.Strategy.NewCluster || s.active() == nil)
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
	s.touchUp(s.activeName(), name == "") // the old cluster of an upgrade keeps its size
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
