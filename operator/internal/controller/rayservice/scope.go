package rayservice

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/children"
	"github.com/raygate/raygate/operator/internal/conditions"
	"github.com/raygate/raygate/operator/internal/dashboards"
	"github.com/raygate/raygate/operator/internal/reconcile"
	"github.com/raygate/raygate/operator/internal/report"
	"github.com/raygate/raygate/operator/internal/serveplan"
)

// scope is the state of one reconcile.
type scope struct {
	// service is a copy. Its metadata follows writes of this reconcile; its status stays as stored until persist.
	service *rayv1.RayService
	// now is the start of the reconcile.
	now time.Time
	// in is the input of the decision. Set by the observing steps.
	in serveplan.Input
	// clusters are the clusters of the service by name. They belong to the cache. Set by observeClusters.
	clusters map[string]*rayv1.RayCluster
	// heads are the head Pods of the clusters in use; nil if a cluster has none or several. They belong to the cache. Set by
	// observeClusters.
	heads map[string]*corev1.Pod
	// answers are the last answers of Ray Serve on the clusters in use. sites are their dashboards; nil without a Service. Set by
	// observeServe.
	answers map[string]serveAnswer
	sites   map[string]*dashboards.Site
	// grpc means that the service has a GRPCRoute, and grpcLeft that one exists. Set by observeRouting.
	grpc, grpcLeft bool
	// services are the remaining Services during a suspension. Set by observeServices.
	services []corev1.Service
	// plan is the decision. Set by plan.
	plan serveplan.Plan
	// said are the messages that earlier reconciles have sent.
	said *report.Once
	// refused are rejected writes of children. Set by took.
	refused []string
	// errs are errors that affected only a part of the plan.
	errs []error
	// lookAgain is the time until the next reconcile without an event; 0 means never. Set by after.
	lookAgain time.Duration
	// events are sent after the status is saved.
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

// after requests another reconcile after d; 0 requests none.
func (s *scope) after(d time.Duration) { s.lookAgain = reconcile.Sooner(s.lookAgain, d) }

// used returns the names of the clusters in the status.
func (s *scope) used() []string {
	st := &s.service.Status
	return slices.DeleteFunc([]string{st.ActiveServiceStatus.RayClusterName, st.PendingServiceStatus.RayClusterName}, func(n string) bool { return n == "" })
}

// subject identifies a cluster of the service to the tracker.
func (s *scope) subject(rc *rayv1.RayCluster) subject {
	return subject{client.ObjectKeyFromObject(s.service), s.service.UID, rc.UID, rc.Name}
}

// suspending reports whether a suspension is deleting the children.
func (s *scope) suspending() bool {
	c := conditions.Editor{List: &s.service.Status.Conditions}
	return c.True(rayv1.RayServiceSuspending)
}

// recordResult records the result of a write, including its events.
func (s *scope) recordResult(what string, r children.Result) {
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

// routed reports whether a Gateway may exist, from the current or an earlier strategy.
func (s *scope) routed() bool {
	st := &s.service.Status
	return s.in.Strategy.Steps || st.ActiveServiceStatus.TargetCapacity != nil || st.PendingServiceStatus.TargetCapacity != nil ||
		st.ActiveServiceStatus.TrafficRoutedPercent != nil
}
