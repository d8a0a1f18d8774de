package v1

// Condition types of all kinds, in the form that kstatus and kubectl wait read. Reconciling and Stalled are absent while they are not
// True, and never True together. KubeRay has only Ready of a RayService, which keeps its meaning there.
const (
	// ConditionReady is True while the object is what its spec asks for. It is absent while the object is suspended on purpose.
	ConditionReady = "Ready"
	// ConditionReconciling is True while the operator works on the object, or waits for a node, a queue or a quota.
	ConditionReconciling = "Reconciling"
	// ConditionStalled is True while the object cannot become what the spec asks for unless a person does something about it.
	ConditionStalled = "Stalled"
)

// Reasons of these conditions. Others are those of the condition, the Pod or the RayCluster that explains them.
const (
	// ReasonAllPodsReady is the reason of Ready of a RayCluster.
	ReasonAllPodsReady = "AllPodsReady"
	// ReasonWorkersNotReady means that worker Pods are being created, deleted or started.
	ReasonWorkersNotReady = "WorkersNotReady"
	// ReasonQueued means that Kueue has not admitted the object yet.
	ReasonQueued = "Queued"
	// ReasonServeConfigPending means that Ray Serve does not run the present serveConfigV2 yet.
	ReasonServeConfigPending = "ServeConfigPending"
	// ReasonScheduled is the reason of Ready of a RayCronJob.
	ReasonScheduled = "Scheduled"
	// ReasonInvalidRayCronJobSpec means that the spec of a RayCronJob breaks rules.
	ReasonInvalidRayCronJobSpec = "InvalidRayCronJobSpec"
)

// Awaited reports whether a reason is about something that time or capacity solves: a node, scheduling gates or a quota.
func Awaited(reason string) bool {
	return reason == ReasonUnschedulable || reason == ReasonSchedulingGated || reason == ReasonQuotaExceeded
}
