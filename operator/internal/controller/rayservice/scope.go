package rayservice

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/children"
	"github.com/raygate/raygate/operator/internal/dashboards"
	"github.com/raygate/raygate/operator/internal/reconcile"
	"github.com/raygate/raygate/operator/internal/report"
	"github.com/raygate/raygate/operator/internal/serveplan"
)

// scope is what one reconcile has read and decided.
type scope struct {
	// service is a copy. Its metadata follows what this run writes; its status stays as stored until persist.
	service *rayv1.RayService
	// now is when the run began.
	now time.Time
	// in is what the decision depends on. Filled in by the steps that observe.
	in serveplan.Input
	// clusters are those of the service by name. They belong to the cache. Set by observeClusters.
	clusters map[string]*rayv1.RayCluster
	// heads are the head Pods of the clusters that are used, nil for none and where there are several. They belong to the cache. Set by
	// observeClusters.
	heads map[string]*corev1.Pod
	// answers are the last answers of Ray Serve on the clusters that are used, and sites where their dashboards are; nil while there is
	// no Service for one. Set by observeServe.
	answers map[string]serveAnswer
	sites   map[string]*dashboards.Site
	// services are the Services that are left of a service that is being suspended. Set by observeServices.
	services []corev1.Service
	// plan is what to do. Set by plan.
	plan serveplan.Plan
	// said is what earlier runs have said.
	said *report.Once
	// refused are the children that the API server refuses. Set by took.
	refused []string
	// errs are errors that kept a part of the plan, and nothing else, from being carried out.
	errs []error
	// lookAgain is how long it takes until the next look; zero for never. Set by after.
	lookAgain time.Duration
	// events are sent when the status is saved.
	events []report.Event
}

func newScope(stored *rayv1.RayService, now time.Time, said *report.Once) *scope {
	s := &scope{
		service: stored.DeepCopy(), now: now, said: said, clusters: map[string]*rayv1.RayCluster{}, heads: map[string]*corev1.Pod{},
		answers: map[string]serveAnswer{}, sites: map[string]*dashboards.Site{},
	}
	s.in = serveplan.Input{Service: s.service, Now: now, Clusters: map[string]serveplan.Cluster{}}
	var err error
	if s.in.Config, err = serveplan.ParseConfig(stored.Spec.ServeConfigV2); err != nil {
		s.in.ConfigError = err.Error()
	}
	return s
}

// after asks for another look; zero asks for none.
func (s *scope) after(d time.Duration) { s.lookAgain = reconcile.Sooner(s.lookAgain, d) }

// used are the names of the clusters in the status.
func (s *scope) used() []string {
	st := &s.service.Status
	return slices.DeleteFunc([]string{st.ActiveServiceStatus.RayClusterName, st.PendingServiceStatus.RayClusterName}, func(n string) bool { return n == "" })
}

// suspending reports whether everything is being deleted.
func (s *scope) suspending() bool {
	c := report.Conditions{List: &s.service.Status.Conditions}
	return c.True(rayv1.RayServiceSuspending)
}

// took takes over what became of a write, such as events about it.
func (s *scope) took(what string, r children.Result) {
	s.after(r.After)
	if r.Err != nil {
		s.errs = append(s.errs, r.Err)
	}
	s.events = append(s.events, r.Events(what, func(text string) bool { return s.said.News(s.service.UID, what+" "+r.Name, text) })...)
	if r.Failure != nil {
		s.refuse(r.Failure.Message)
	}
}

func (s *scope) refuse(message string) { s.refused = append(s.refused, message) }

// routed reports whether there may be a Gateway: now, or from a strategy of before.
func (s *scope) routed() bool {
	st := &s.service.Status
	return s.in.Strategy.Steps || st.ActiveServiceStatus.TargetCapacity != nil || st.PendingServiceStatus.TargetCapacity != nil ||
		st.ActiveServiceStatus.TrafficRoutedPercent != nil
}
