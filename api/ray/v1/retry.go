package v1

// AnnotationRetryOn of a RayJob is the RetryOn of the retries of spec.backoffLimit; NewCluster if absent. KubeRay does not have it.
const AnnotationRetryOn = "raygate.io/retry-on"

// RetryOn is where the next attempt of a RayJob runs.
type RetryOn string

const (
	// RetryOnNewCluster deletes the RayCluster of an attempt that failed, and creates another one.
	RetryOnNewCluster RetryOn = "NewCluster"
	// RetryOnSameCluster keeps the RayCluster if it is ready, and its Ray reports that the job of the attempt has ended. It has no effect in
	// SidecarMode and InteractiveMode, nor with spec.jobId.
	RetryOnSameCluster RetryOn = "SameCluster"
)
