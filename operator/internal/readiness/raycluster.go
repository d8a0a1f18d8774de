package readiness

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/conditions"
)

const messagePodsReady = "all Pods that the spec asks for are ready"

// RayCluster sets the three conditions of a cluster. The obstacles are those of its Pods, the most important first. The result has the
// messages of all, and the reason of the one that the conditions show; the reason is empty if they show none of them.
//
// Ready is True while all Pods that the spec asks for are ready. Once a cluster with autoscaling has been provisioned, the spec asks
// for a head and minReplicas; the other replicas are the autoscaler's, which may wait for nodes without end.
func RayCluster(rc *rayv1.RayCluster, obstacles []Obstacle, now time.Time) Obstacle {
	c := edit(&rc.Status.Conditions, rc.Generation, now)
	result := join(obstacles)
	v := verdictOnCluster(rc, c, obstacles, result)
	v.apply(c)
	if !slices.ContainsFunc(obstacles, func(o Obstacle) bool { return o.Reason == v.reason }) {
		result.Reason = ""
	} else {
		result.Reason = v.reason
	}
	return result
}

func verdictOnCluster(rc *rayv1.RayCluster, c conditions.Editor, obstacles []Obstacle, obstacle Obstacle) verdict {
	if invalid := c.Find(rayv1.RayClusterInvalidSpec); invalid != nil && invalid.Reason != rayv1.ReasonToleratedRayClusterSpec {
		return stalled(invalid.Reason, invalid.Message)
	}
	switch {
	case rc.Suspended() && c.True(rayv1.RayClusterSuspended):
		return suspended(rc)
	case rc.Suspended() || c.True(rayv1.RayClusterSuspending):
		if obstacle.stalls() {
			return of(obstacle)
		}
		return progressing(rayv1.ReasonRayClusterSuspending, "the Pods are being deleted")
	}
	// Certificates are made by another controller; if that takes long, Pods are held, which is an obstacle.
	if child := c.Find(rayv1.RayClusterChildFailure); child != nil && child.Reason != reasonCertificates {
		obstacle = join(slices.Concat(obstacles, []Obstacle{refused(child.Reason, child.Message)}))
	}
	v := verdictOnPods(rc, c)
	switch {
	case obstacle.stalls():
		v.state, v.reason, v.message = rayv1.ConditionStalled, obstacle.Reason, obstacle.Message
	case obstacle.Reason != "": // also if it is ready: the autoscaler may wait for a node
		v.reason, v.message = obstacle.Reason, obstacle.Message
	}
	return v
}

// reasonCertificates is the reason of ChildFailure while certificates are awaited.
const reasonCertificates = "CertificatesNotReady"

// verdictOnPods returns the verdict by the numbers of Pods alone.
func verdictOnPods(rc *rayv1.RayCluster, c conditions.Editor) verdict {
	if head := c.Find(rayv1.HeadPodReady); head == nil || head.Status != metav1.ConditionTrue {
		reason, message := rayv1.ReasonHeadPodNotFound, ""
		if head != nil {
			reason, message = head.Reason, head.Message
		}
		return progressing(reason, withDetail("the head Pod is not ready", message))
	}
	st := &rc.Status
	enough := st.ReadyWorkerReplicas == st.DesiredWorkerReplicas && st.AvailableWorkerReplicas == st.DesiredWorkerReplicas &&
		!c.True(rayv1.RayClusterReplicaFailure)
	if ptr.Deref(rc.Spec.EnableInTreeAutoscaling, false) && c.True(rayv1.RayClusterProvisioned) {
		enough = st.ReadyWorkerReplicas >= min(st.MinWorkerReplicas, st.DesiredWorkerReplicas)
	}
	if !enough {
		return progressing(rayv1.ReasonWorkersNotReady, "worker Pods are being created, deleted or started")
	}
	return ready(rayv1.ReasonAllPodsReady, messagePodsReady)
}

func withDetail(text, detail string) string {
	if detail == "" {
		return text
	}
	return text + ": " + detail
}
