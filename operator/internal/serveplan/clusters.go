package serveplan

import (
	"time"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/names"
	"github.com/raygate/raygate/operator/internal/build/rayservice"
)

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
			s.plan.Schedule[name] = s.in.Now.Add(deletionDelay(s.spec)) // the change of the cluster leads to the next look
		case !s.in.Now.Before(c.DeleteAfter):
			s.plan.Delete = append(s.plan.Delete, name)
		default:
			s.lookAt(c.DeleteAfter)
		}
	}
}
