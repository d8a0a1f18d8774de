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
	// ReasonRayClusterPodsProvisioning says that not all Pods have been ready yet.
	ReasonRayClusterPodsProvisioning = "RayClusterPodsProvisioning"
	// ReasonAllPodRunningAndReadyFirstTime says that all Pods have been ready once.
	ReasonAllPodRunningAndReadyFirstTime = "AllPodRunningAndReadyFirstTime"
)

// Reasons of the condition HeadPodReady. Others are copied from the head Pod.
const (
	// ReasonHeadPodNotFound says that there is no head Pod.
	ReasonHeadPodNotFound = "HeadPodNotFound"
	// ReasonHeadPodRunningAndReady says that the head Pod is ready.
	ReasonHeadPodRunningAndReady = "HeadPodRunningAndReady"
	// ReasonUnknown stands in when the head Pod gives no reason.
	ReasonUnknown = "Unknown"
)

// Reasons of the condition ReplicaFailure: the operation that failed.
const (
	// ReasonFailedDeleteAllPods says that deleting all Pods of the cluster failed.
	ReasonFailedDeleteAllPods = "FailedDeleteAllPods"
	// ReasonFailedDeleteHeadPod says that deleting the head Pod failed.
	ReasonFailedDeleteHeadPod = "FailedDeleteHeadPod"
	// ReasonFailedCreateHeadPod says that creating the head Pod failed.
	ReasonFailedCreateHeadPod = "FailedCreateHeadPod"
	// ReasonFailedDeleteWorkerPod says that deleting a worker Pod failed.
	ReasonFailedDeleteWorkerPod = "FailedDeleteWorkerPod"
	// ReasonFailedCreateWorkerPod says that creating a worker Pod failed.
	ReasonFailedCreateWorkerPod = "FailedCreateWorkerPod"
)

// Reasons of the conditions RayClusterSuspending and RayClusterSuspended, whatever their status: the type itself.
const (
	// ReasonRayClusterSuspending belongs to RayClusterSuspending.
	ReasonRayClusterSuspending = RayClusterSuspending
	// ReasonRayClusterSuspended belongs to RayClusterSuspended.
	ReasonRayClusterSuspended = RayClusterSuspended
)

// Conditions that KubeRay does not have. Like ReplicaFailure they are absent while there is nothing to tell.
const (
	// RayClusterInvalidSpec is True while the object is refused: nothing is created from it and nothing is deleted.
	RayClusterInvalidSpec = "InvalidSpec"
	// RayClusterBatchSchedulerProblem is True while the batch scheduler is not told, or cannot do, what the labels of the
	// cluster ask it for. The Pods are made all the same.
	RayClusterBatchSchedulerProblem = "BatchSchedulerProblem"
)

// Reasons of the condition InvalidSpec.
const (
	// ReasonInvalidRayClusterSpec says that rules are broken; the message lists all of them with their field paths.
	ReasonInvalidRayClusterSpec = "InvalidRayClusterSpec"
)

// Reasons of the condition ReplicaFailure that KubeRay does not have.
const (
	// ReasonFailedCreateHeadService says that the head Service cannot be had, so that no Pods are made.
	ReasonFailedCreateHeadService = "FailedCreateHeadService"
)

// Reasons of the condition BatchSchedulerProblem.
const (
	// ReasonBatchSchedulerProblem is the only one; the message lists all problems.
	ReasonBatchSchedulerProblem = RayClusterBatchSchedulerProblem
)
