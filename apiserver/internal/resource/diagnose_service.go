package resource

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// serviceEvidence is the input of a diagnosis of a RayService.
type serviceEvidence struct {
	*evidence
	service *rayv1.RayService
}

// DiagnoseService is the Diagnosis of a RayService, which is ready if it serves requests. It also finds what an upgrade waits for, and includes
// the clusters that the service uses.
func DiagnoseService(ctx context.Context, self *evidence) (ready bool, err error) {
	rs := self.object.(*rayv1.RayService)
	self.cluster.Spec = rs.Spec.RayClusterSpec
	e := &serviceEvidence{self, rs}
	ready = e.is(rayv1.RayServiceReady)
	e.checkIntent()
	e.checkRules()
	if len(e.used()) == 0 {
		e.checkDevices(rs) // else its clusters are asked
	}
	e.checkConditions()
	for _, of := range e.used() {
		if err := e.checkCluster(ctx, of.RayClusterName); err != nil {
			return false, err
		}
		e.checkApplications(of)
	}
	if c := e.condition(rayv1.RayServiceGatewayReady); c != nil && c.Status != metav1.ConditionTrue && c.Reason != rayv1.ReasonGatewayAPIMissing {
		e.addSelf(severityWarning, c.Reason, "see the status of the Gateway and the HTTPRoute, and the controller of the GatewayClass", "%s", c.Message)
	}
	e.checkEndpoints()
	e.checkUpgrade()
	if !ready || e.is(rayv1.RayServiceStalled) { // otherwise they are about resolved problems
		if err := e.readEvents(ctx); err != nil {
			return false, err
		}
		e.checkEvents()
	}
	e.checkSilence(ready)
	return ready, nil
}

// condition is one of the status, nil for none.
func (e *serviceEvidence) condition(kind string) *metav1.Condition {
	return meta.FindStatusCondition(e.service.Status.Conditions, kind)
}

func (e *serviceEvidence) is(kind string) bool {
	return meta.IsStatusConditionTrue(e.service.Status.Conditions, kind)
}

// used returns the parts of the status about clusters, the one that serves requests first.
func (e *serviceEvidence) used() []*rayv1.RayServiceStatus {
	st := &e.service.Status
	return slices.DeleteFunc([]*rayv1.RayServiceStatus{&st.ActiveServiceStatus, &st.PendingServiceStatus}, func(of *rayv1.RayServiceStatus) bool {
		return of.RayClusterName == ""
	})
}

func (e *serviceEvidence) checkIntent() {
	e.evidence.checkIntent("service", "")
	switch suspended, suspending := e.is(rayv1.RayServiceSuspended), e.is(rayv1.RayServiceSuspending); {
	case suspending && !e.service.Spec.Suspend:
		e.addSelf(severityInfo, "Suspending", "wait: it is resumed when all is deleted", "the service is being suspended to the end before it is resumed")
	case suspending:
		e.addSelf(severityInfo, "Suspending", "resume it", "spec.suspend is true: clusters and Services are being deleted")
	case e.service.Spec.Suspend && suspended:
		e.addSelf(severityInfo, "Suspended", "resume it", "spec.suspend is true: the service has no cluster")
	case e.service.Spec.Suspend:
		e.addSelf(severityInfo, "Suspended", "resume it", "spec.suspend is true: the service is about to be suspended")
	}
}

func (e *serviceEvidence) checkRules() {
	invalid := e.evidence.checkRules()
	if c := e.condition(rayv1.RayServiceReady); !invalid && c != nil && c.Reason == rayv1.ReasonRayServiceValidationFailed && Observed(e.item) {
		e.addSelf(severityError, "InvalidSpec", "correct what the message names", "%s", c.Message)
	}
}

// notReady, stalled and paused map reasons of the conditions Ready, Stalled and UpgradePaused to findings. Other findings explain the other reasons better.
var (
	notReady = map[string]conditionFinding{
		rayv1.ReasonRayServiceInitializingTimeout: {severityError, "InitializingTimeout", "see the events for what kept it, then suspend and resume the service, or allow more by the annotation " + rayv1.AnnotationInitializingTimeout},
	}
	stalled = map[string]conditionFinding{
		rayv1.ReasonServeConfigInvalid:       {severityError, "ServeConfigInvalid", "correct serveConfigV2"},
		rayv1.ReasonServeConfigRefused:       {severityError, "ServeConfigRefused", "correct what Ray Serve names in serveConfigV2"},
		rayv1.ReasonChildRefused:             {severityError, "ChildRefused", "change what is refused, or ask who refuses it"},
		rayv1.ReasonGatewayAPIMissing:        {severityError, "GatewayAPIMissing", "install the Gateway API, or choose another upgrade strategy"},
		rayv1.ReasonDashboardUnavailable:     {severityWarning, "DashboardUnreachable", "see the log of the head's Ray container, and network policies"},
		rayv1.ReasonProgressDeadlineExceeded: {severityWarning, "ProgressDeadlineExceeded", "see the other findings; go back to the spec of before to end an upgrade"},
		rayv1.ReasonUpgradeAborted:           {severityInfo, "UpgradeAborted", "change the spec to begin another upgrade"},
	}
	paused = map[string]conditionFinding{
		rayv1.ReasonPausedByAnnotation: {severityInfo, "UpgradePaused", "remove the annotation to continue the upgrade"},
		rayv1.ReasonCanaryNotConfirmed: {severityInfo, "CanaryNotConfirmed", "confirm or abort the upgrade by the annotation in the message"},
	}
)

type conditionFinding struct{ severity, reason, remedy string }

// checkConditions finds problems that the operator reports.
func (e *serviceEvidence) checkConditions() {
	if c := e.condition(rayv1.RayServiceReady); c != nil {
		e.addCondition(c, notReady)
	}
	if c := e.condition(rayv1.RayServiceStalled); c != nil && c.Status == metav1.ConditionTrue {
		e.addCondition(c, stalled)
	}
	if c := e.condition(rayv1.RayServiceUpgradePaused); c != nil {
		e.addCondition(c, paused)
	}
}

func (e *serviceEvidence) addCondition(c *metav1.Condition, known map[string]conditionFinding) {
	if f, ok := known[c.Reason]; ok {
		e.addSelf(f.severity, f.reason, f.remedy, "%s", c.Message)
	}
}

// troubles are states of applications and deployments of Ray Serve that do not pass by themselves.
var troubles = map[string]string{rayv1.ApplicationDeployFailed: "Failed", rayv1.ApplicationUnhealthy: "Unhealthy"}

// checkApplications finds applications and deployments on a cluster that Ray Serve does not report as running.
func (e *serviceEvidence) checkApplications(of *rayv1.RayServiceStatus) {
	cluster := e.about(clusterKind, of.RayClusterName)
	if len(of.Applications) == 0 {
		if meta.IsStatusConditionTrue(of.RayClusterStatus.Conditions, rayv1.HeadPodReady) {
			cluster.add(severityWarning, "NoApplications", "see whether serveConfigV2 lists any, and the other findings", "Ray Serve on cluster %s has no applications", of.RayClusterName)
		}
		return
	}
	for _, name := range slices.Sorted(maps.Keys(of.Applications)) {
		app := of.Applications[name]
		trouble, failed := troubles[app.Status]
		switch {
		case failed:
			cluster.add(severityError, "Application"+trouble, "see the message, and the log of the Serve controller on the head", "application %s is %s: %s", name, app.Status, app.Message)
		case app.Status != rayv1.ApplicationRunning:
			cluster.add(severityInfo, "ApplicationNotRunning", "wait, or see its deployments", "application %s is %s %s", name, app.Status, app.Message)
		}
		for _, d := range slices.Sorted(maps.Keys(app.Deployments)) {
			if found := app.Deployments[d]; troubles[found.Status] != "" {
				cluster.add(severityError, "Deployment"+troubles[found.Status], "see the log of its replicas", "deployment %s of application %s is %s: %s", d, name, found.Status, found.Message)
			}
		}
	}
}

// checkEndpoints finds a service without endpoints although all its applications run.
func (e *serviceEvidence) checkEndpoints() {
	of := &e.service.Status.ActiveServiceStatus
	if of.RayClusterName == "" || e.service.Status.NumServeEndpoints > 0 || len(of.Applications) == 0 {
		return
	}
	for _, app := range of.Applications {
		if app.Status != rayv1.ApplicationRunning {
			return
		}
	}
	remedy := "see whether the Serve proxies answer: a head takes requests while its label " + rayv1.LabelServe + " is true, a worker while it is ready"
	if e.service.Spec.ExcludeHeadPodFromServeSvc {
		remedy = "see whether workers are ready: excludeHeadPodFromServeSvc keeps the head from taking requests"
	}
	e.addSelf(severityError, "NoEndpoints", remedy, "all applications on cluster %s run, but no Pod of it takes requests", of.RayClusterName)
}

// checkUpgrade reports the progress of an upgrade, and the reason why it waits.
func (e *serviceEvidence) checkUpgrade() {
	st := &e.service.Status
	switch c := e.condition(rayv1.RayServiceUpgradeInProgress); {
	case e.is(rayv1.RayServiceRollbackInProgress):
		e.addSelf(severityInfo, "RollbackInProgress", "wait, or apply the new spec again to go on with the upgrade", "%s; %s", e.condition(rayv1.RayServiceRollbackInProgress).Message, shares(st))
	case c != nil && c.Status == metav1.ConditionTrue:
		e.addSelf(severityInfo, "UpgradeInProgress", "wait, or see what it waits for", "%s", strings.TrimSuffix(c.Message+"; "+shares(st), "; "))
	}
}

// shares returns the shares of both clusters in an incremental upgrade; empty for others.
func shares(st *rayv1.RayServiceStatuses) string {
	var parts []string
	for _, of := range []*rayv1.RayServiceStatus{&st.ActiveServiceStatus, &st.PendingServiceStatus} {
		if of.TrafficRoutedPercent != nil || of.TargetCapacity != nil {
			parts = append(parts, fmt.Sprintf("cluster %s has %d%% of the traffic and %d%% of the capacity", of.RayClusterName, ptr.Deref(of.TrafficRoutedPercent, 0), ptr.Deref(of.TargetCapacity, 0)))
		}
	}
	return strings.Join(parts, ", ")
}

// checkSilence adds the state of a service that is not ready, if there is no other finding.
func (e *serviceEvidence) checkSilence(ready bool) {
	switch c := e.condition(rayv1.RayServiceReady); {
	case len(e.findings) > 0:
	case !Observed(e.item) || c == nil:
		e.addNotObserved()
	case !ready:
		e.addSelf(severityInfo, c.Reason, "wait, or see the events", "%s", c.Message)
	}
}
