package raycluster

import (
	"cmp"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// maxMessage is the longest message that the schema of conditions takes.
const maxMessage = 32768

func clip(message string) string {
	if len(message) <= maxMessage {
		return message
	}
	return strings.ToValidUTF8(message[:maxMessage-3], "") + "..."
}

func setCondition(s *scope, kind string, status metav1.ConditionStatus, reason, message string) {
	meta.SetStatusCondition(&s.cluster.Status.Conditions, metav1.Condition{
		Type: kind, Status: status, Reason: asReason(reason), Message: clip(message), ObservedGeneration: s.cluster.Generation,
		LastTransitionTime: metav1.NewTime(s.now),
	})
}

// reasonForm is what the schema of conditions takes for a reason, besides the length.
var reasonForm = regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$`)

// asReason replaces a reason, which may come from a Pod and so from anybody, that would make the API server refuse the
// whole status.
func asReason(reason string) string {
	if len(reason) > 1024 || !reasonForm.MatchString(reason) {
		return rayv1.ReasonUnknown
	}
	return reason
}

func isTrue(s *scope, kind string) bool {
	return meta.IsStatusConditionTrue(s.cluster.Status.Conditions, kind)
}

func setInvalidSpec(s *scope) {
	if s.invalid == "" {
		meta.RemoveStatusCondition(&s.cluster.Status.Conditions, rayv1.RayClusterInvalidSpec)
		return
	}
	reason := rayv1.ReasonInvalidRayClusterSpec
	if s.tolerated {
		reason = rayv1.ReasonToleratedRayClusterSpec
	}
	setCondition(s, rayv1.RayClusterInvalidSpec, metav1.ConditionTrue, reason, s.invalid)
}

// setReplicaFailure says what the API server refuses. An event goes with every new text, and with no repetition.
func setReplicaFailure(s *scope) {
	old := meta.FindStatusCondition(s.cluster.Status.Conditions, rayv1.RayClusterReplicaFailure)
	switch f := joinFailures(s.failures); {
	case f != nil:
		if !truth(old) || old.Message != clip(f.message) {
			s.events = append(s.events, eventFailure(*f))
		}
		setCondition(s, rayv1.RayClusterReplicaFailure, metav1.ConditionTrue, f.reason, f.message)
	default:
		meta.RemoveStatusCondition(&s.cluster.Status.Conditions, rayv1.RayClusterReplicaFailure)
	}
}

// setHeadPodReady copies the Ready condition of the head, and looks into the containers when that says no more than that
// they are not ready.
func setHeadPodReady(s *scope, t tally) {
	if t.head == nil {
		setCondition(s, rayv1.HeadPodReady, metav1.ConditionFalse, rayv1.ReasonHeadPodNotFound, "Head Pod not found")
		return
	}
	ready := podCondition(t.head, corev1.PodReady)
	if ready == nil {
		reason, message := rayv1.ReasonUnknown, ""
		if c := podCondition(t.head, corev1.PodScheduled); c != nil && c.Status != corev1.ConditionTrue {
			reason, message = cmp.Or(c.Reason, reason), c.Message // most often: no node has room
		}
		setCondition(s, rayv1.HeadPodReady, metav1.ConditionFalse, reason, message)
		return
	}
	reason, message := ready.Reason, ready.Message
	switch {
	case reason == "ContainersNotReady":
		reason, message = explain(t.head, reason, message)
	case reason == "" && ready.Status == corev1.ConditionTrue:
		reason = rayv1.ReasonHeadPodRunningAndReady
	}
	setCondition(s, rayv1.HeadPodReady, metav1.ConditionStatus(ready.Status), cmp.Or(reason, rayv1.ReasonUnknown), message)
}

// explain adds what the first container that does not run says. A container may give no reason, which a condition must
// have.
func explain(p *corev1.Pod, reason, message string) (string, string) {
	for _, c := range p.Status.ContainerStatuses {
		switch {
		case c.State.Waiting != nil:
			return cmp.Or(c.State.Waiting.Reason, reason), message + "; " + c.Name + ": " + c.State.Waiting.Message
		case c.State.Terminated != nil:
			return cmp.Or(c.State.Terminated.Reason, reason), message + "; " + c.Name + ": " + c.State.Terminated.Message
		}
	}
	return reason, message
}

func wantsSuspension(rc *rayv1.RayCluster) bool { return rc.Spec.Suspend != nil && *rc.Spec.Suspend }

// setSuspension keeps the two conditions: suspending from the request until no Pod is left, suspended from then until
// the request is taken back. A suspension that has begun runs to its end.
func setSuspension(s *scope, t tally) {
	suspending, suspended := isTrue(s, rayv1.RayClusterSuspending), isTrue(s, rayv1.RayClusterSuspended)
	switch {
	case suspending || wantsSuspension(s.cluster) && !suspended:
		suspending, suspended = t.all > 0, t.all == 0
		if suspended {
			setCondition(s, rayv1.RayClusterProvisioned, metav1.ConditionFalse, rayv1.ReasonRayClusterPodsProvisioning,
				"The cluster is suspended")
		}
		if suspended && !wantsSuspension(s.cluster) {
			s.lookAgain = cacheLag // the request was taken back meanwhile; no event will tell of it once more
		}
	case !wantsSuspension(s.cluster):
		// Also when the field was removed: KubeRay 1.7 then leaves the cluster suspended for ever.
		suspended = false
	}
	setCondition(s, rayv1.RayClusterSuspending, status(suspending), rayv1.ReasonRayClusterSuspending, "")
	setCondition(s, rayv1.RayClusterSuspended, status(suspended), rayv1.ReasonRayClusterSuspended, "")
}

func status(b bool) metav1.ConditionStatus {
	if b {
		return metav1.ConditionTrue
	}
	return metav1.ConditionFalse
}

// setProvisioned turns True once and stays, until a suspension has taken all Pods.
func setProvisioned(s *scope, t tally) {
	switch {
	case isTrue(s, rayv1.RayClusterProvisioned) || isTrue(s, rayv1.RayClusterSuspended):
		if c := meta.FindStatusCondition(s.cluster.Status.Conditions, rayv1.RayClusterProvisioned); c != nil {
			setCondition(s, c.Type, c.Status, c.Reason, c.Message) // still so for this generation
		}
	case t.allReady():
		setCondition(s, rayv1.RayClusterProvisioned, metav1.ConditionTrue, rayv1.ReasonAllPodRunningAndReadyFirstTime,
			"All Ray Pods are ready for the first time")
	default:
		setCondition(s, rayv1.RayClusterProvisioned, metav1.ConditionFalse, rayv1.ReasonRayClusterPodsProvisioning,
			"The Ray Pods are being made or are not ready")
	}
}
