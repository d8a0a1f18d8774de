package v1

// Condition types of a RayCluster. The texts are KubeRay's; clients wait for them by name.
const (
	// RayClusterProvisioned turns True the first time all Pods are running and ready, and then stays; a completed
	// suspension turns it False again.
	RayClusterProvisioned = "RayClusterProvisioned"
	// HeadPodReady follows the Ready condition of the head Pod.
	HeadPodReady = "HeadPodReady"
	// RayClusterReplicaFailure is True while Pods cannot be created or deleted; it is absent otherwise.
	RayClusterReplicaFailure = "ReplicaFailure"
	// RayClusterSuspending is True from the request to suspend until no Pod is left.
	RayClusterSuspending = "RayClusterSuspending"
	// RayClusterSuspended is True from then on, until suspend is set to false. Never True together with RayClusterSuspending.
	RayClusterSuspended = "RayClusterSuspended"
)

// Reasons of the condition RayClusterProvisioned.
const (
	// ReasonRayClusterPodsProvisioning means that not all Pods have been ready yet.
	ReasonRayClusterPodsProvisioning = "RayClusterPodsProvisioning"
	// ReasonAllPodRunningAndReadyFirstTime means that all Pods have been ready once.
	ReasonAllPodRunningAndReadyFirstTime = "AllPodRunningAndReadyFirstTime"
)

// Reasons of the condition HeadPodReady. Others are copied from the head Pod.
const (
	// ReasonHeadPodNotFound means that there is no head Pod.
	ReasonHeadPodNotFound = "HeadPodNotFound"
	// ReasonHeadPodRunningAndReady means that the head Pod is ready.
	ReasonHeadPodRunningAndReady = "HeadPodRunningAndReady"
	// ReasonUnknown stands in when the head Pod gives no reason.
	ReasonUnknown = "Unknown"
)

// Reasons of the condition ReplicaFailure: the operation that failed.
const (
	// ReasonFailedDeleteAllPods means that deleting all Pods of the cluster failed.
	ReasonFailedDeleteAllPods = "FailedDeleteAllPods"
	// ReasonFailedDeleteHeadPod means that deleting the head Pod failed.
	ReasonFailedDeleteHeadPod = "FailedDeleteHeadPod"
	// ReasonFailedCreateHeadPod means that creating the head Pod failed.
	ReasonFailedCreateHeadPod = "FailedCreateHeadPod"
	// ReasonFailedDeleteWorkerPod means that deleting a worker Pod failed.
	ReasonFailedDeleteWorkerPod = "FailedDeleteWorkerPod"
	// ReasonFailedCreateWorkerPod means that creating a worker Pod failed.
	ReasonFailedCreateWorkerPod = "FailedCreateWorkerPod"
)

// Reasons of the conditions RayClusterSuspending and RayClusterSuspended, whatever their status: the type itself.
const (
	// ReasonRayClusterSuspending belongs to RayClusterSuspending.
	ReasonRayClusterSuspending = RayClusterSuspending
	// ReasonRayClusterSuspended belongs to RayClusterSuspended.
	ReasonRayClusterSuspended = RayClusterSuspended
)

// Conditions that KubeRay does not have. Like ReplicaFailure they are absent while there is nothing to report.
const (
	// RayClusterInvalidSpec is True while the object breaks rules. With the reason InvalidRayClusterSpec it is refused: nothing is created from it
	// and nothing is deleted.
	RayClusterInvalidSpec = "InvalidSpec"
	// RayClusterBatchSchedulerProblem is True while what the labels of the cluster ask of the batch scheduler cannot be written
	// for it, or is nothing that it can do. The Pods are made all the same.
	RayClusterBatchSchedulerProblem = "BatchSchedulerProblem"
	// RayClusterChildFailure is True while something besides the Pods and the head Service cannot be made or brought up to
	// date: a permission, an Ingress, a Secret, a volume claim, a certificate. Its reason is that of the event about the first
	// of them.
	RayClusterChildFailure = "ChildFailure"
	// RayClusterStalled is True while the cluster cannot become what the spec asks for unless somebody does something
	// about it; the message says which Pod is concerned and why.
	RayClusterStalled = "Stalled"
	// RayClusterIdle reports whether something runs on a cluster with AnnotationIdleTimeout, and since when. It is absent until its dashboard
	// has answered, and while the cluster is suspended.
	RayClusterIdle = "Idle"
	// RayClusterExpired is False from the warning that the cluster is about to be suspended or deleted because it is idle or old, and True
	// from the decision on.
	RayClusterExpired = "Expired"
	// RayClusterUpgradeInProgress is True while Pods are replaced by AnnotationUpgradeStrategy; the message counts them. It is False while only the
	// head is left, which is not replaced.
	RayClusterUpgradeInProgress = "UpgradeInProgress"
)

// Reasons of the condition RayClusterUpgradeInProgress.
const (
	// ReasonUpgradePaused means that AnnotationUpgradePaused holds the upgrade.
	ReasonUpgradePaused = "UpgradePaused"
	// ReasonUpgradeDeadlineExceeded means that the upgrade takes longer than AnnotationUpgradeDeadline. It continues.
	ReasonUpgradeDeadlineExceeded = "UpgradeDeadlineExceeded"
	// ReasonHeadNotUpgraded means that the head keeps the old template, because its loss would end all work. Status False.
	ReasonHeadNotUpgraded = "HeadNotUpgraded"
)

// Reasons of the condition Idle.
const (
	// ReasonNothingRuns belongs to True.
	ReasonNothingRuns = "NothingRuns"
	// ReasonDriverRuns means that a driver runs, such as one of a job, a notebook or Ray Client. Status False.
	ReasonDriverRuns = "DriverRuns"
	// ReasonJobActive means that a submitted job waits or runs. Status False.
	ReasonJobActive = "JobActive"
	// ReasonServeActive means that Ray Serve has an application. Status False.
	ReasonServeActive = "ServeActive"
	// ReasonActorAlive means that a detached actor exists. Status False.
	ReasonActorAlive = "ActorAlive"
	// ReasonComponentActive means that the activity hook of the cluster reports something as active. Status False.
	ReasonComponentActive = "ComponentActive"
	// ReasonDashboardUnreachable means that it is not known whether something runs. Status Unknown.
	ReasonDashboardUnreachable = "DashboardUnreachable"
)

// Reasons of the condition Expired.
const (
	// ReasonIdleTimeout means that the cluster has been idle for AnnotationIdleTimeout.
	ReasonIdleTimeout = "IdleTimeout"
	// ReasonMaxAge means that the cluster is as old as AnnotationMaxAge.
	ReasonMaxAge = "MaxAge"
	// ReasonSuspendSchedule means that it is time by AnnotationSuspendSchedule.
	ReasonSuspendSchedule = "SuspendSchedule"
)

// Reasons of the condition Stalled. Of several the first of this list is given, and the message has all.
const (
	// ReasonQuotaExceeded means that a quota prevents the creation of Pods.
	ReasonQuotaExceeded = "QuotaExceeded"
	// ReasonAdmissionDenied means that a webhook or a policy prevents the creation of Pods.
	ReasonAdmissionDenied = "AdmissionDenied"
	// ReasonRequestRefused means that another error prevents the creation or deletion of objects.
	ReasonRequestRefused = "RequestRefused"
	// ReasonHeadRestartDisabled means that the head has ended and an annotation forbids its replacement.
	ReasonHeadRestartDisabled = "HeadRestartDisabled"
	// ReasonPodsHeld means that no Pods may be created before something else is ready.
	ReasonPodsHeld = "PodsHeld"
	// ReasonUnschedulable means that a Pod has not been scheduled for some time.
	ReasonUnschedulable = "Unschedulable"
	// ReasonSchedulingGated means that scheduling gates have delayed a Pod for some time.
	ReasonSchedulingGated = "SchedulingGated"
	// ReasonImagePullFailed means that an image cannot be pulled.
	ReasonImagePullFailed = "ImagePullFailed"
	// ReasonContainerCannotStart means that a container cannot be started, for example because a Secret is missing.
	ReasonContainerCannotStart = "ContainerCannotStart"
	// ReasonCrashLoop means that a container ends repeatedly.
	ReasonCrashLoop = "CrashLoop"
	// ReasonTerminationStuck means that a deleted Pod still exists, which also prevents the creation of a new head.
	ReasonTerminationStuck = "TerminationStuck"
)

// Reasons of the condition InvalidSpec.
const (
	// ReasonInvalidRayClusterSpec means that rules are broken; the message lists all of them with their field paths.
	ReasonInvalidRayClusterSpec = "InvalidRayClusterSpec"
	// ReasonToleratedRayClusterSpec means that rules are broken which would refuse a new cluster; this one runs already and is reconciled as usual.
	ReasonToleratedRayClusterSpec = "ToleratedRayClusterSpec"
)

// Reasons of the condition ReplicaFailure that KubeRay does not have.
const (
	// ReasonFailedCreateHeadService means that the head Service does not exist and cannot be created. Without it no Pods are created.
	ReasonFailedCreateHeadService = "FailedCreateHeadService"
)

// Reasons of the condition BatchSchedulerProblem.
const (
	// ReasonBatchSchedulerProblem is the only one; the message lists all problems.
	ReasonBatchSchedulerProblem = RayClusterBatchSchedulerProblem
)
