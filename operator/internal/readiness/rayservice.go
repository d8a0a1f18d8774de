package readiness

import (
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/conditions"
)

// RayService sets Reconciling and Stalled of a service; Ready is KubeRay's. The status may already have Stalled with a problem of the
// service itself. stored are the conditions before this reconcile, whose transition times stay. configuring means that Ray Serve has
// not reported on the present configuration yet.
//
// A service that serves is in progress while an upgrade or a new configuration is under way.
func RayService(rs *rayv1.RayService, stored []metav1.Condition, configuring bool, now time.Time) {
	c := edit(&rs.Status.Conditions, rs.Generation, now)
	verdictOnService(rs, c, configuring).applyWork(c)
	keepTimes(rs.Status.Conditions, stored)
}

func verdictOnService(rs *rayv1.RayService, c conditions.Editor, configuring bool) verdict {
	serves := c.Find(rayv1.RayServiceReady)
	switch {
	case c.True(rayv1.RayServiceSuspending):
		return progressing(said(c, rayv1.RayServiceSuspending))
	case c.True(rayv1.RayServiceSuspended):
		return suspended(rs)
	case serves != nil && (serves.Reason == rayv1.ReasonRayServiceValidationFailed || serves.Reason == rayv1.ReasonRayServiceInitializingTimeout):
		return stalled(serves.Reason, serves.Message)
	case c.True(rayv1.RayServiceStalled):
		reason, message := said(c, rayv1.RayServiceStalled)
		if reason == rayv1.ReasonChildRefused {
			return of(refused(reason, message))
		}
		return stalled(reason, message)
	}
	o := obstacleOfService(&rs.Status, serves)
	if o.Reason != "" {
		return of(o)
	}
	return verdictOnWork(&rs.Status, c, configuring)
}

// obstacleOfService returns the problem of the cluster that is being prepared, or of the applications on the one that serves. A cluster
// that serves is not asked: its applications may run in spite of its problem.
func obstacleOfService(st *rayv1.RayServiceStatuses, serves *metav1.Condition) Obstacle {
	active, pending := &st.ActiveServiceStatus, &st.PendingServiceStatus
	switch {
	case pending.RayClusterName != "":
		return obstacleOf(pending.RayClusterName, &pending.RayClusterStatus)
	case serves == nil || serves.Status != metav1.ConditionTrue:
		if o := obstacleOf(active.RayClusterName, &active.RayClusterStatus); o.Reason != "" {
			return o
		}
	}
	if broken := applications(active, rayv1.ApplicationDeployFailed, rayv1.ApplicationUnhealthy); broken != "" {
		return Obstacle{rayv1.ReasonApplicationsFailed, "on cluster " + active.RayClusterName + ": " + broken}
	}
	return Obstacle{}
}

// verdictOnWork returns the verdict on a service without obstacles.
func verdictOnWork(st *rayv1.RayServiceStatuses, c conditions.Editor, configuring bool) verdict {
	for _, kind := range []string{rayv1.RayServiceRollbackInProgress, rayv1.RayServiceUpgradeInProgress, rayv1.RayServiceUpgradePaused} {
		if c.True(kind) {
			return progressing(said(c, kind))
		}
	}
	for _, kind := range []string{rayv1.RayServiceReady, rayv1.RayServiceGatewayReady} {
		if found := c.Find(kind); found != nil && found.Status != metav1.ConditionTrue {
			return progressing(found.Reason, found.Message)
		}
	}
	if configuring || applications(&st.ActiveServiceStatus, rayv1.ApplicationDeploying, rayv1.ApplicationNotStarted) != "" {
		return progressing(rayv1.ReasonServeConfigPending, "Ray Serve does not run the present configuration yet")
	}
	return ready("", "")
}

// applications lists the applications in one of the states, by name.
func applications(st *rayv1.RayServiceStatus, states ...string) string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(st.Applications)) {
		if app := st.Applications[name].Status; slices.Contains(states, app) {
			list = append(list, name+" is "+app)
		}
	}
	return strings.Join(list, "; ")
}
