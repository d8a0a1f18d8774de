package readiness

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// serviceOf returns a service that serves on cluster demo-a, changed, with its conditions.
func serviceOf(change func(*rayv1.RayService)) *rayv1.RayService {
	rs := &rayv1.RayService{TypeMeta: typeOf("RayService"), ObjectMeta: named()}
	rs.Status = rayv1.RayServiceStatuses{
		ObservedGeneration: 1, NumServeEndpoints: 2, ServiceStatus: rayv1.ServiceRunning,
		ActiveServiceStatus: rayv1.RayServiceStatus{RayClusterName: "demo-a", Applications: map[string]rayv1.AppStatus{"chat": {Status: rayv1.ApplicationRunning}}},
		Conditions: []metav1.Condition{
			is(rayv1.RayServiceReady, rayv1.ReasonNonZeroServeEndpoints, "requests are served"),
			isNot(rayv1.RayServiceUpgradeInProgress, rayv1.ReasonNoPendingCluster, "cluster demo-a is used"),
		},
	}
	change(rs)
	RayService(rs, nil, rs.Annotations["configuring"] != "", now)
	rs.Annotations = nil
	return rs
}

// serviceWith replaces conditions of a service that serves.
func serviceWith(list ...metav1.Condition) *rayv1.RayService {
	return serviceOf(func(rs *rayv1.RayService) { putAll(rs, list) })
}

func putAll(rs *rayv1.RayService, list []metav1.Condition) {
	for _, c := range list {
		put(&rs.Status.Conditions, c)
	}
}

// prepared is a service whose first cluster has these conditions.
func prepared(cluster []metav1.Condition, list ...metav1.Condition) *rayv1.RayService {
	return serviceOf(func(rs *rayv1.RayService) {
		rs.Status.ActiveServiceStatus = rayv1.RayServiceStatus{}
		rs.Status.PendingServiceStatus = rayv1.RayServiceStatus{RayClusterName: "demo-a", RayClusterStatus: rayv1.RayClusterStatus{Conditions: cluster}}
		rs.Status.NumServeEndpoints, rs.Status.ServiceStatus = 0, rayv1.ServiceNotRunning
		const message = "the first cluster is being prepared"
		put(&rs.Status.Conditions, isNot(rayv1.RayServiceReady, rayv1.ReasonRayServiceInitializing, message))
		put(&rs.Status.Conditions, isNot(rayv1.RayServiceUpgradeInProgress, rayv1.ReasonRayServiceInitializing, message))
		putAll(rs, list)
	})
}

// upgraded is a service whose next cluster has these conditions.
func upgraded(cluster []metav1.Condition, list ...metav1.Condition) *rayv1.RayService {
	return serviceOf(func(rs *rayv1.RayService) {
		rs.Status.PendingServiceStatus = rayv1.RayServiceStatus{RayClusterName: "demo-b", RayClusterStatus: rayv1.RayClusterStatus{Conditions: cluster}}
		put(&rs.Status.Conditions, is(rayv1.RayServiceUpgradeInProgress, rayv1.ReasonBothActivePendingClustersExist,
			"cluster demo-b is to follow cluster demo-a: on cluster demo-b chat is DEPLOYING"))
		putAll(rs, list)
	})
}

// application is a service that serves, with one application in a state.
func application(st string) *rayv1.RayService {
	return serviceOf(func(rs *rayv1.RayService) {
		rs.Status.ActiveServiceStatus.Applications = map[string]rayv1.AppStatus{"chat": {Status: st}}
	})
}

// paused is a service that is suspended.
func paused(labels map[string]string) *rayv1.RayService {
	return serviceOf(func(rs *rayv1.RayService) {
		rs.Labels, rs.Spec.Suspend = labels, true
		rs.Status.ActiveServiceStatus, rs.Status.NumServeEndpoints, rs.Status.ServiceStatus = rayv1.RayServiceStatus{}, 0, rayv1.ServiceNotRunning
		const reason, message = rayv1.ReasonSuspendComplete, "the service is suspended"
		putAll(rs, []metav1.Condition{
			isNot(rayv1.RayServiceReady, reason, message), isNot(rayv1.RayServiceUpgradeInProgress, reason, message),
			isNot(rayv1.RayServiceSuspending, reason, message), is(rayv1.RayServiceSuspended, reason, message),
		})
	})
}

func serviceStates() []state {
	const kind = rayv1.RayServiceStalled
	silent := isNot(rayv1.RayServiceReady, rayv1.ReasonZeroServeEndpoints, "no Pod takes requests")
	return []state{
		{"new", inProgress, unobserved, &rayv1.RayService{TypeMeta: typeOf("RayService"), ObjectMeta: named()}},
		{"first-cluster-starts", inProgress, "", prepared(nil)},
		{"first-cluster-waits-for-a-node", inProgress, "", prepared(waitingCluster())},
		{"first-cluster-image-missing", degraded, "", prepared(stuckCluster())},
		{"initializing-timeout", degraded, "", serviceWith(isNot(rayv1.RayServiceReady, rayv1.ReasonRayServiceInitializingTimeout,
			"RayService failed to become ready within the configured timeout: timeout 10m0s, elapsed 10m1s; suspend and resume it to try again"))},
		{"serving", healthy, "", serviceWith()},
		{"serving-while-a-worker-image-is-missing", healthy, "", serviceOf(func(rs *rayv1.RayService) {
			rs.Status.ActiveServiceStatus.RayClusterStatus.Conditions = stuckCluster()
		})},
		{"no-endpoints", inProgress, "", serviceWith(silent)},
		{"no-endpoints-and-image-missing", degraded, "", serviceOf(func(rs *rayv1.RayService) {
			put(&rs.Status.Conditions, silent)
			rs.Status.ActiveServiceStatus.RayClusterStatus.Conditions = stuckCluster()
		})},
		{"configuring", inProgress, "", serviceOf(func(rs *rayv1.RayService) { rs.Annotations = map[string]string{"configuring": "true"} })},
		{"deploying", inProgress, "", application(rayv1.ApplicationDeploying)},
		{"deploy-failed", degraded, "", application(rayv1.ApplicationDeployFailed)},
		{"unhealthy", degraded, "", application(rayv1.ApplicationUnhealthy)},
		{"upgrading", inProgress, "", upgraded(nil)},
		{"upgrade-waits-for-a-node", inProgress, "", upgraded(waitingCluster())},
		{"upgrade-image-missing", degraded, "", upgraded(stuckCluster())},
		{"upgrade-deploy-failed", degraded, "", upgraded(nil, is(kind, rayv1.ReasonApplicationsFailed, "on cluster demo-b: chat is DEPLOY_FAILED"))},
		{"upgrade-without-progress", degraded, "", upgraded(nil, is(kind, rayv1.ReasonProgressDeadlineExceeded, "no step since 2026-03-01T12:00:00Z: cluster demo-b is to follow cluster demo-a"))},
		{"rolling-back", inProgress, "", upgraded(nil, is(rayv1.RayServiceRollbackInProgress, rayv1.ReasonDesiredClusterSpecChanged, "the spec is that of cluster demo-a again"))},
		{"upgrade-held-back", inProgress, "", serviceWith(is(rayv1.RayServiceUpgradePaused, rayv1.ReasonPausedByAnnotation, "the annotation raygate.io/upgrade-paused is true; remove it to continue"))},
		{"upgrade-aborted", degraded, "", serviceWith(is(kind, rayv1.ReasonUpgradeAborted, "the upgrade to cluster demo-b is aborted; the service stays on cluster demo-a until its spec changes"))},
		{"gateway-not-ready", inProgress, "", serviceWith(isNot(rayv1.RayServiceGatewayReady, rayv1.ReasonGatewayNotReady, "the Gateway is not programmed"))},
		{"gateway-api-missing", degraded, "", serviceWith(isNot(rayv1.RayServiceGatewayReady, rayv1.ReasonGatewayAPIMissing, "the Gateway API is not installed"),
			is(kind, rayv1.ReasonGatewayAPIMissing, "the upgrade strategy needs the kinds Gateway and HTTPRoute of gateway.networking.k8s.io"))},
		{"config-invalid", degraded, "", serviceWith(is(kind, rayv1.ReasonServeConfigInvalid, "serveConfigV2: line 3: did not find expected key"))},
		{"config-refused", degraded, "", serviceWith(is(kind, rayv1.ReasonServeConfigRefused, "Ray Serve on cluster demo-a does not accept serveConfigV2"))},
		{"child-denied", degraded, "", prepared(nil, is(kind, rayv1.ReasonChildRefused, "creating RayCluster demo-a: denied by a policy"))},
		{"waits-for-a-quota", inProgress, "", prepared(nil, is(kind, rayv1.ReasonChildRefused, "creating RayCluster demo-a: exceeded quota: team-a"))},
		{"dashboard-unavailable", degraded, "", prepared(nil, is(kind, rayv1.ReasonDashboardUnavailable, "the dashboard of cluster demo-a has not answered for some time"))},
		{"invalid", degraded, "", serviceWith(isNot(rayv1.RayServiceReady, rayv1.ReasonRayServiceValidationFailed, "spec.rayClusterConfig: Required value"))},
		{"suspending", inProgress, "", serviceWith(is(rayv1.RayServiceSuspending, rayv1.ReasonSuspendRequested, "the service is being suspended"),
			isNot(rayv1.RayServiceReady, rayv1.ReasonSuspendInProgress, "the service is being suspended"))},
		{"suspended", onPurpose, "", paused(nil)},
		{"queued", inProgress, "", paused(queued)},
		{"edited", inProgress, unobserved, edited(serviceWith())},
		{"deleted", inProgress, beingPruned, deleted(serviceWith())},
	}
}
