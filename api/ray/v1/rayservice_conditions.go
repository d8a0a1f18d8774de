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
	// RayServiceCanaryAnalysis is the result of AnnotationCanaryAnalysis for the pending cluster: True if it has passed, False if it has failed, and
	// Unknown until then. KubeRay does not have it.
	RayServiceCanaryAnalysis = "CanaryAnalysis"
	// RayServiceUpgradeAborted is True from the abort of an upgrade until the spec changes. KubeRay does not have it.
	RayServiceUpgradeAborted = "UpgradeAborted"
)

// Reasons of the conditions of a RayService.
const (
	// ReasonRayServiceInitializing means that the first cluster is being prepared.
	ReasonRayServiceInitializing = "Initializing"
	// ReasonRayServiceInitializingTimeout means that this took longer than AnnotationInitializingTimeout allows.
	ReasonRayServiceInitializingTimeout = "InitializingTimeout"
	// ReasonNonZeroServeEndpoints means that the serve Service has ready endpoints.
	ReasonNonZeroServeEndpoints = "NonZeroServeEndpoints"
	// ReasonZeroServeEndpoints means that it has none.
	ReasonZeroServeEndpoints = "ZeroServeEndpoints"
	// ReasonRayServiceValidationFailed means that the spec breaks a rule.
	ReasonRayServiceValidationFailed = "ValidationFailed"
	// ReasonBothActivePendingClustersExist means that an upgrade is under way.
	ReasonBothActivePendingClustersExist = "BothActivePendingClustersExist"
	// ReasonNoPendingCluster means that no upgrade is under way.
	ReasonNoPendingCluster = "NoPendingCluster"
	// ReasonNoActiveCluster means that there is nothing to upgrade from.
	ReasonNoActiveCluster = "NoActiveCluster"
	// ReasonDesiredClusterSpecChanged means that the spec was reverted before the upgrade ended.
	ReasonDesiredClusterSpecChanged = "DesiredClusterSpecChanged"
	// ReasonSuspendRequested means that suspend was set.
	ReasonSuspendRequested = "SuspendRequested"
	// ReasonSuspendInProgress means that owned objects are being deleted.
	ReasonSuspendInProgress = "SuspendInProgress"
	// ReasonSuspendComplete means that they are deleted.
	ReasonSuspendComplete = "SuspendComplete"
	// ReasonServeConfigInvalid means that serveConfigV2 cannot be sent to Ray Serve.
	ReasonServeConfigInvalid = "ServeConfigInvalid"
	// ReasonServeConfigRefused means that Ray Serve does not accept serveConfigV2.
	ReasonServeConfigRefused = "ServeConfigRefused"
	// ReasonDashboardUnavailable means that the dashboard of a cluster whose head is ready has not answered for some time.
	ReasonDashboardUnavailable = "DashboardUnavailable"
	// ReasonApplicationsFailed means that applications did not start on the cluster that is being prepared.
	ReasonApplicationsFailed = "ApplicationsFailed"
	// ReasonChildRefused means that an object that the service needs cannot be written.
	ReasonChildRefused = "ChildRefused"
	// ReasonGatewayAPIMissing means that the Kubernetes cluster does not serve the Gateway API.
	ReasonGatewayAPIMissing = "GatewayAPIMissing"
	// ReasonProgressDeadlineExceeded means that the service, or its upgrade, has made no progress for a long time.
	ReasonProgressDeadlineExceeded = "ProgressDeadlineExceeded"
	// ReasonRouted means that the Gateway routes requests to the service.
	ReasonRouted = "Routed"
	// ReasonGatewayNotReady means that the Gateway is not accepted or not programmed.
	ReasonGatewayNotReady = "GatewayNotReady"
	// ReasonHTTPRouteNotAccepted means that the Gateway has not accepted the HTTPRoute as it is now.
	ReasonHTTPRouteNotAccepted = "HTTPRouteNotAccepted"
	// ReasonRollbackImpossible means that the earlier cluster does not exist any more.
	ReasonRollbackImpossible = "RollbackImpossible"
	// ReasonRayServiceResumed means that suspend was unset.
	ReasonRayServiceResumed = "RayServiceResumed"
	// ReasonPausedByAnnotation means that AnnotationUpgradePaused is set.
	ReasonPausedByAnnotation = "PausedByAnnotation"
	// ReasonCanaryNotConfirmed means that the upgrade has reached AnnotationCanaryWeight.
	ReasonCanaryNotConfirmed = "CanaryNotConfirmed"
	// ReasonAnalysisRunning means that the bounds of AnnotationCanaryAnalysis have held so far.
	ReasonAnalysisRunning = "AnalysisRunning"
	// ReasonAnalysisWithoutResult means that Prometheus has no values for the analysis.
	ReasonAnalysisWithoutResult = "AnalysisWithoutResult"
	// ReasonAnalysisPassed means that the new cluster has kept all bounds for the time of the analysis.
	ReasonAnalysisPassed = "AnalysisPassed"
	// ReasonAnalysisFailed means that the new cluster has broken a bound.
	ReasonAnalysisFailed = "AnalysisFailed"
	// ReasonUpgradeResumed means that an upgrade continues after a pause.
	ReasonUpgradeResumed = "UpgradeResumed"
	// ReasonUpgradeAborted means that AnnotationUpgradeAbort names the pending cluster, or that this cluster has failed.
	ReasonUpgradeAborted = "UpgradeAborted"
)
