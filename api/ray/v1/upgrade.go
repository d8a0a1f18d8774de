package v1

import "strconv"

// Annotations of a RayService by which its user controls an upgrade. KubeRay does not have them.
const (
	// AnnotationUpgradePaused set to true holds an upgrade where it is, and begins no other one. It also holds the rolling upgrade of a RayCluster.
	// It is an annotation because a pause is no change of the spec, and should not depend on the tool that applies it.
	AnnotationUpgradePaused = "raygate.io/upgrade-paused"
	// AnnotationCanaryWeight is the share of the traffic in percent, from 1 to 99, at which an incremental upgrade waits until it is confirmed.
	AnnotationCanaryWeight = "raygate.io/canary-weight"
	// AnnotationCanaryConfirmed is the name of the pending RayCluster that may get all traffic. The name confirms no later upgrade.
	AnnotationCanaryConfirmed = "raygate.io/canary-confirmed"
	// AnnotationUpgradeAbort is the name of the pending RayCluster that is given up. The service then stays on its active cluster until its
	// spec changes.
	AnnotationUpgradeAbort = "raygate.io/upgrade-abort"
	// AnnotationUpgradeFailureAction is the UpgradeFailureAction; Wait if absent.
	AnnotationUpgradeFailureAction = "raygate.io/upgrade-failure-action"
)

// UpgradeFailureAction is what happens to an upgrade whose new cluster fails, or makes no progress.
type UpgradeFailureAction string

const (
	// UpgradeFailureWait waits until the new cluster is well, or its user acts.
	UpgradeFailureWait UpgradeFailureAction = "Wait"
	// UpgradeFailureAbort aborts the upgrade, unless it is paused or the active cluster does not serve.
	UpgradeFailureAbort UpgradeFailureAction = "Abort"
)

// CanaryWeightOf returns the share of AnnotationCanaryWeight in percent, and whether there is one. The share is 0 for a value that is not
// understood, so that a mistake moves no traffic.
func CanaryWeightOf(annotations map[string]string) (percent int32, set bool) {
	text, set := annotations[AnnotationCanaryWeight]
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < 1 || n > 99 {
		return 0, set
	}
	return int32(n), set
}
