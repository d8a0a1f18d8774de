package serveplan

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/conditions"
)

// DashboardPatience is how long a dashboard may be unreachable before the service counts as stalled.
const DashboardPatience = 30 * time.Second

// Differs reports whether a status has changes for users. It ignores the copies of the clusters' statuses and the time of the last
// write.
func Differs(before, after *rayv1.RayServiceStatuses) bool {
	b, a := before.DeepCopy(), after.DeepCopy()
	for _, st := range []*rayv1.RayServiceStatuses{b, a} {
		st.LastUpdateTime = nil
		st.ActiveServiceStatus.RayClusterStatus = rayv1.RayClusterStatus{}
		st.PendingServiceStatus.RayClusterStatus = rayv1.RayClusterStatus{}
		for _, t := range []**metav1.Time{&st.ActiveServiceStatus.LastTrafficMigratedTime, &st.PendingServiceStatus.LastTrafficMigratedTime} {
			if *t != nil { // as it is stored
				*t = &metav1.Time{Time: (*t).Truncate(time.Second)}
			}
		}
		for i := range st.Conditions {
			c := &st.Conditions[i]
			c.LastTransitionTime = metav1.NewTime(c.LastTransitionTime.Truncate(time.Second))
		}
	}
	return !equality.Semantic.DeepEqual(b, a)
}

// conds are the conditions of the new status.
func (s *step) conds() conditions.Editor {
	return conditions.Editor{List: &s.st.Conditions, Generation: s.in.Service.Generation, Now: s.in.Now}
}

func (s *step) is(kind string) bool { return s.conds().True(kind) }

// because reports whether a condition has the reason.
func (s *step) because(kind, reason string) bool {
	c := s.conds().Find(kind)
	return c != nil && c.Reason == reason
}

// maxMessage limits the message of a condition, in bytes. The API server rejects messages above 32 KiB, and parts of messages come
// from Ray and other controllers.
const maxMessage = 4 << 10

func (s *step) set(kind string, status metav1.ConditionStatus, reason, message string) {
	s.conds().Set(kind, status, reason, conditions.Clip(message, maxMessage))
}

func (s *step) remove(kinds ...string) { s.conds().Remove(kinds...) }

const messageInitializing = "the first cluster is being prepared"

// begin sets the conditions of a new service.
func (s *step) begin() {
	s.set(rayv1.RayServiceReady, metav1.ConditionFalse, rayv1.ReasonRayServiceInitializing, messageInitializing)
	s.set(rayv1.RayServiceUpgradeInProgress, metav1.ConditionFalse, rayv1.ReasonRayServiceInitializing, messageInitializing)
}

func (s *step) setInvalid() {
	s.set(rayv1.RayServiceReady, metav1.ConditionFalse, rayv1.ReasonRayServiceValidationFailed, s.in.Invalid)
	s.st.NumServeEndpoints = s.in.Endpoints
}

// timedOut reports whether the service has exceeded its initializing timeout. Only suspending or recreating it helps then.
func (s *step) timedOut() bool {
	return s.because(rayv1.RayServiceReady, rayv1.ReasonRayServiceInitializingTimeout)
}

// timeout sets the condition when the initializing timeout has passed.
func (s *step) timeout() {
	c := s.conds().Find(rayv1.RayServiceReady)
	limit := initializingTimeout(s.in.Service)
	if limit == 0 || c == nil || c.Status != metav1.ConditionFalse || c.Reason != rayv1.ReasonRayServiceInitializing {
		return
	}
	elapsed := s.in.Now.Sub(c.LastTransitionTime.Time)
	if elapsed < limit {
		s.lookAt(c.LastTransitionTime.Add(limit))
		return
	}
	s.st.ActiveServiceStatus.RayClusterName, s.st.PendingServiceStatus.RayClusterName = "", ""
	text := fmt.Sprintf("timeout %s, elapsed %s", limit, elapsed.Truncate(time.Second))
	s.set(rayv1.RayServiceReady, metav1.ConditionFalse, rayv1.ReasonRayServiceInitializingTimeout,
		"RayService failed to become ready within the configured timeout: "+text+"; suspend and resume it to try again")
	s.remove(rayv1.RayServiceStalled, rayv1.RayServiceGatewayReady, rayv1.RayServiceCanaryAnalysis, rayv1.RayServiceUpgradePaused)
	kept := s.plan
	s.plan = Plan{Status: kept.Status, After: soon, TimedOut: "RayService initializing timeout exceeded: " + text}
	s.st = &s.plan.Status
}

// observe copies the observed state of the clusters. Serve's last answer stays while Serve is not polled.
func (s *step) observe() {
	for _, name := range []string{s.activeName(), s.pendingName()} {
		if name == "" {
			continue
		}
		st := s.of(name)
		c := s.live(name)
		if c == nil {
			st.RayClusterStatus = rayv1.RayClusterStatus{}
			continue
		}
		c.Status.DeepCopyInto(&st.RayClusterStatus)
		if !c.Serve.AskedAt.IsZero() {
			st.Applications = c.Serve.Applications
		}
		if c.HeadReady {
			s.plan.Watch = append(s.plan.Watch, name)
		}
		s.plan.Label = append(s.plan.Label, name)
	}
	a := s.active()
	s.plan.Steady = a != nil && s.pendingName() == "" && s.is(rayv1.RayServiceReady) && a.HeadReady && a.Serve.current() && a.Serve.running() && len(s.plan.Deploy) == 0
}

// conditions sets the conditions of the service.
func (s *step) conditions() {
	s.setReady()
	s.setUpgrade()
	s.setPaused()
	s.setGateway()
	s.setStalled()
}

func (s *step) setReady() {
	s.st.NumServeEndpoints = s.in.Endpoints
	switch {
	case s.in.Endpoints > 0:
		s.set(rayv1.RayServiceReady, metav1.ConditionTrue, rayv1.ReasonNonZeroServeEndpoints, "requests are served")
	case s.is(rayv1.RayServiceReady), s.because(rayv1.RayServiceReady, rayv1.ReasonRayServiceValidationFailed) && s.activeName() != "":
		s.set(rayv1.RayServiceReady, metav1.ConditionFalse, rayv1.ReasonZeroServeEndpoints, "no Pod takes requests")
	case s.because(rayv1.RayServiceReady, rayv1.ReasonRayServiceValidationFailed), s.conds().Find(rayv1.RayServiceReady) == nil:
		s.remove(rayv1.RayServiceReady) // restarts the initializing timeout
		s.set(rayv1.RayServiceReady, metav1.ConditionFalse, rayv1.ReasonRayServiceInitializing, messageInitializing)
	}
	s.timeout()
}

func (s *step) setUpgrade() {
	const kind = rayv1.RayServiceUpgradeInProgress
	switch a, p := s.activeName(), s.pendingName(); {
	case a != "" && p != "":
		message := "cluster " + p + " is to follow cluster " + a
		if s.waits != "" {
			message += ": " + s.waits
		}
		s.set(kind, metav1.ConditionTrue, rayv1.ReasonBothActivePendingClustersExist, message)
	case a != "":
		s.set(kind, metav1.ConditionFalse, rayv1.ReasonNoPendingCluster, "cluster "+a+" is used")
	case !s.because(kind, rayv1.ReasonRayServiceInitializing) && !s.because(kind, rayv1.ReasonRayServiceInitializingTimeout):
		s.set(kind, metav1.ConditionUnknown, rayv1.ReasonNoActiveCluster, "there is no cluster to upgrade")
	}
}

// setGateway reports whether the Gateway routes requests to the service, and its addresses. KubeRay does not report that.
func (s *step) setGateway() {
	const kind = rayv1.RayServiceGatewayReady
	if !s.in.Strategy.Steps || s.timedOut() {
		s.remove(kind)
		return
	}
	switch r := s.in.Routing; {
	case r.Missing:
		s.set(kind, metav1.ConditionFalse, rayv1.ReasonGatewayAPIMissing, "the Gateway API is not installed")
	case !r.GatewayReady:
		s.set(kind, metav1.ConditionFalse, rayv1.ReasonGatewayNotReady, s.unrouted())
	case r.Weights != nil && !r.RouteReady && r.RouteRefused == "" && s.is(kind): // each step of an upgrade is evaluated again
	case r.Weights == nil, !r.RouteReady:
		s.set(kind, metav1.ConditionFalse, rayv1.ReasonHTTPRouteNotAccepted, withReason("the Gateway has not accepted the HTTPRoute yet", r.RouteRefused))
	case len(r.Addresses) == 0:
		s.set(kind, metav1.ConditionTrue, rayv1.ReasonRouted, "the Gateway leads requests to the service")
	default:
		s.set(kind, metav1.ConditionTrue, rayv1.ReasonRouted, "requests enter at "+joined(r.Addresses))
	}
}

// setStalled reports why the service makes no progress. The first reason counts.
func (s *step) setStalled() {
	reason, message := s.stalled()
	if reason == "" || s.timedOut() {
		s.remove(rayv1.RayServiceStalled)
		return
	}
	if reason == rayv1.ReasonProgressDeadlineExceeded && !s.because(rayv1.RayServiceStalled, reason) {
		s.plan.Overdue = message
	}
	s.set(rayv1.RayServiceStalled, metav1.ConditionTrue, reason, message)
}

func (s *step) stalled() (reason, message string) {
	if s.in.ConfigError != "" {
		return rayv1.ReasonServeConfigInvalid, s.in.ConfigError
	}
	if len(s.in.Refusals) > 0 {
		return rayv1.ReasonChildRefused, joined(s.in.Refusals)
	}
	if s.in.Strategy.Steps && s.in.Routing.Missing {
		return rayv1.ReasonGatewayAPIMissing, "the upgrade strategy needs the kinds Gateway and HTTPRoute of gateway.networking.k8s.io; install the Gateway API, or choose another strategy"
	}
	for _, name := range []string{s.pendingName(), s.activeName()} {
		if c := s.live(name); c != nil {
			if reason, message := s.stalledServe(name, c); reason != "" {
				return reason, message
			}
		}
	}
	if c := s.conds().Find(rayv1.RayServiceUpgradeAborted); c != nil && s.pendingName() == "" {
		return c.Reason, c.Message
	}
	return s.overdue()
}

// stalledServe returns the problem of Ray Serve on a cluster; empty if there is none.
func (s *step) stalledServe(name string, c *Cluster) (reason, message string) {
	if c.Serve.Refused != "" {
		return rayv1.ReasonServeConfigRefused, "Ray Serve on cluster " + name + " does not accept serveConfigV2: " + c.Serve.Refused
	}
	if since := c.Serve.FailingSince; c.HeadReady && !since.IsZero() {
		if s.in.Now.Sub(since) >= DashboardPatience {
			return rayv1.ReasonDashboardUnavailable, "the dashboard of cluster " + name + " has not answered for some time"
		}
		s.lookAt(since.Add(DashboardPatience))
	}
	if failed := failedApplications(c.Serve); name == s.pendingName() && failed != "" {
		return rayv1.ReasonApplicationsFailed, "on cluster " + name + ": " + failed
	}
	return "", ""
}

func failedApplications(v Serve) string {
	var list []string
	for _, name := range sortedKeys(v.Applications) {
		if st := v.Applications[name].Status; st == rayv1.ApplicationDeployFailed || st == rayv1.ApplicationUnhealthy {
			list = append(list, name+" is "+st)
		}
	}
	return joined(list)
}

// waitsFor returns what a cluster lacks to serve traffic.
func waitsFor(name string, c *Cluster) string {
	v := c.Serve
	switch {
	case !c.HeadReady:
		return "the head of cluster " + name + " is not ready"
	case v.AskedAt.IsZero(), v.Failure != "":
		return "the dashboard of cluster " + name + " does not answer"
	case len(v.Applications) == 0:
		return "cluster " + name + " has no applications yet"
	}
	var list []string
	for _, app := range sortedKeys(v.Applications) {
		if st := v.Applications[app].Status; st != rayv1.ApplicationRunning {
			list = append(list, app+" is "+st)
		}
	}
	if len(list) == 0 {
		return "cluster " + name + " has not got the configuration yet"
	}
	return "on cluster " + name + " " + joined(list)
}

func joined(list []string) string {
	const most = 8
	text := ""
	for i, item := range list {
		switch {
		case i == most:
			return text + fmt.Sprintf(" and %d more", len(list)-most)
		case i > 0:
			text += "; "
		}
		text += item
	}
	return text
}
