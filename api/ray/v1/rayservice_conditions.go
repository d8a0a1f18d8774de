package v1

// Condition types of a RayService. The texts are KubeRay's; clients wait for them by name.
const (
	// RayServiceReady is True while requests can be served.
	RayServiceReady = "Ready"
	// RayServiceUpgradeInProgress is True while there is an active and a pending cluster.
	RayServiceUpgradeInProgress = "UpgradeInProgress"
	// RayServiceRollbackInProgress is True while an unfinished incremental upgrade is undone.
	RayServiceRollbackInProgress = "RollbackInProgress"
	// RayServiceSuspending is True while owned objects are deleted because of suspend.
	RayServiceSuspending = "Suspending"
	// RayServiceSuspended is True after they are gone.
	RayServiceSuspended = "Suspended"
	// RayServiceStalled is True while the service cannot become what the spec asks for, and says why. KubeRay does not have it.
	RayServiceStalled = "Stalled"
	// RayServiceGatewayReady is True while the Gateway leads requests to the service, and says at which addresses. Only a service with the
	// upgrade strategy NewClusterWithIncrementalUpgrade has it. KubeRay does not have it.
	RayServiceGatewayReady = "GatewayReady"
	// RayServiceUpgradePaused is True while an upgrade waits for its user, and False while the same upgrade continues afterwards. KubeRay does
	// not have it.
	RayServiceUpgradePaused = "UpgradePaused"
	// RayServiceUpgradeAborted is True from the abort of an upgrade until the spec changes. KubeRay does not have it.
	RayServiceUpgradeAborted = "UpgradeAborted"
)

// Reasons of the conditions of a RayService.
const (
	// ReasonRayServiceInitializing says that the first cluster is being prepared.
	ReasonRayServiceInitializing = "Initializing"
	// ReasonRayServiceInitializingTimeout says that this took longer than AnnotationInitializingTimeout allows.
	ReasonRayServiceInitializingTimeout = "InitializingTimeout"
	// ReasonNonZeroServeEndpoints says that the serve Service has ready endpoints.
	ReasonNonZeroServeEndpoints = "NonZeroServeEndpoints"
	// ReasonZeroServeEndpoints says that it has none.
	ReasonZeroServeEndpoints = "ZeroServeEndpoints"
	// ReasonRayServiceValidationFailed says that the spec breaks a rule.
	ReasonRayServiceValidationFailed = "ValidationFailed"
	// ReasonBothActivePendingClustersExist says that an upgrade is under way.
	ReasonBothActivePendingClustersExist = "BothActivePendingClustersExist"
	// ReasonNoPendingCluster says that no upgrade is under way.
	ReasonNoPendingCluster = "NoPendingCluster"
	// ReasonNoActiveCluster says that there is nothing to upgrade from.
	ReasonNoActiveCluster = "NoActiveCluster"
	// ReasonDesiredClusterSpecChanged says that the spec went back before the upgrade was finished.
	ReasonDesiredClusterSpecChanged = "DesiredClusterSpecChanged"
	// ReasonSuspendRequested says that suspend was set.
	ReasonSuspendRequested = "SuspendRequested"
	// ReasonSuspendInProgress says that owned objects are being deleted.
	ReasonSuspendInProgress = "SuspendInProgress"
	// ReasonSuspendComplete says that they are gone.
	ReasonSuspendComplete = "SuspendComplete"
	// ReasonServeConfigInvalid says that serveConfigV2 cannot be sent to Ray Serve.
	ReasonServeConfigInvalid = "ServeConfigInvalid"
	// ReasonServeConfigRefused says that Ray Serve does not accept serveConfigV2.
	ReasonServeConfigRefused = "ServeConfigRefused"
	// ReasonDashboardUnavailable says that the dashboard of a cluster whose head is ready has not answered for some time.
	ReasonDashboardUnavailable = "DashboardUnavailable"
	// ReasonApplicationsFailed says that applications did not come up on the cluster that is being prepared.
	ReasonApplicationsFailed = "ApplicationsFailed"
	// ReasonChildRefused says that an object that the service needs cannot be written.
	ReasonChildRefused = "ChildRefused"
	// ReasonGatewayAPIMissing says that the Kubernetes cluster does not serve the Gateway API.
	ReasonGatewayAPIMissing = "GatewayAPIMissing"
	// ReasonProgressDeadlineExceeded says that the service, or its upgrade, has not come any further for a long time.
	ReasonProgressDeadlineExceeded = "ProgressDeadlineExceeded"
	// ReasonRouted says that the Gateway leads requests to the service.
	ReasonRouted = "Routed"
	// ReasonGatewayNotReady says that the Gateway is not accepted or not programmed.
	ReasonGatewayNotReady = "GatewayNotReady"
	// ReasonHTTPRouteNotAccepted says that the Gateway has not accepted the HTTPRoute as it is now.
	ReasonHTTPRouteNotAccepted = "HTTPRouteNotAccepted"
	// ReasonRollbackImpossible says that the cluster to go back to does not exist any more.
	ReasonRollbackImpossible = "RollbackImpossible"
	// ReasonRayServiceResumed says that suspend was taken back.
	ReasonRayServiceResumed = "RayServiceResumed"
	// ReasonPausedByAnnotation says that AnnotationUpgradePaused is set.
	ReasonPausedByAnnotation = "PausedByAnnotation"
	// ReasonCanaryNotConfirmed says that the upgrade has reached AnnotationCanaryWeight.
	ReasonCanaryNotConfirmed = "CanaryNotConfirmed"
	// ReasonUpgradeResumed says that an upgrade continues after a pause.
	ReasonUpgradeResumed = "UpgradeResumed"
	// ReasonUpgradeAborted says that AnnotationUpgradeAbort names the pending cluster.
	ReasonUpgradeAborted = "UpgradeAborted"
)
