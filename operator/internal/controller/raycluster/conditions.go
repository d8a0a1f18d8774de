package raycluster

import (
	"cmp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/conditions"
	"github.com/raygate/raygate/operator/internal/podexec"
	"github.com/raygate/raygate/operator/internal/podplan"
	"github.com/raygate/raygate/operator/internal/readiness"
	"github.com/raygate/raygate/operator/internal/reconcile"
	"github.com/raygate/raygate/operator/internal/report"
)

func setInvalidSpec(s *scope, _ tally) {
	reason := rayv1.ReasonInvalidRayClusterSpec
	if s.tolerated {
		reason = rayv1.ReasonToleratedRayClusterSpec
	}
	s.conditions().Raise(rayv1.RayClusterInvalidSpec, reason, s.invalid)
}

// setReplicaFailure reports rejected writes of Pods. Each new message also sends an event.
func setReplicaFailure(s *scope, _ tally) {
	f := joinFailures(s.failures)
	if f == nil {
		s.conditions().Remove(rayv1.RayClusterReplicaFailure)
		return
	}
	said := s.conditions().Says(rayv1.RayClusterReplicaFailure, f.Message)
	s.conditions().Set(rayv1.RayClusterReplicaFailure, metav1.ConditionTrue, f.Reason, f.Message)
	if !said {
		s.events = append(s.events, eventFailure(*f))
	}
}

// joinFailures merges failures into one, or returns nil for none. It sorts them and removes duplicates, so that the order of
// parallel requests does not matter. The reason is that of the head's failure if there is one.
func joinFailures(list []podexec.Failure) *podexec.Failure {
	if len(list) == 0 {
		return nil
	}
	list = slices.SortedFunc(slices.Values(list), func(a, b podexec.Failure) int {
		return cmp.Or(rank(a)-rank(b), strings.Compare(a.Message, b.Message))
	})
	list = slices.Compact(list)
	messages := make([]string, len(list))
	for i, f := range list {
		messages[i] = f.Message
	}
	first := list[0]
	first.Message = strings.Join(messages, "; ")
	return &first
}

// rank returns the sort order of a failure; lower values are more important.
func rank(f podexec.Failure) int {
	return slices.IndexFunc(failureEvents, func(e failureEvent) bool { return e.condition == f.Reason })
}

// setChildFailure lists the children that cannot be created. It sends an event for each new failure. It sends none if the stored
// condition is the same, because a restarted operator does not know which events it has sent.
func setChildFailure(s *scope, _ tally) {
	var reason string
	var messages []string
	var fresh []report.Event
	for _, f := range s.children {
		if slices.Contains(messages, f.message) {
			continue
		}
		messages = append(messages, f.message)
		reason = cmp.Or(reason, f.reason)
		if f.action != "" && !s.said.Has(s.cluster.UID, saidChildren, f.message) { // else another controller sends the event
			fresh = append(fresh, report.Warning(f.reason, f.action, f.message))
		}
	}
	if s.conditions().Raise(rayv1.RayClusterChildFailure, reason, strings.Join(messages, "; ")) {
		s.events = append(s.events, fresh...)
	}
}

// setHeadPodReady copies the Ready condition of the head Pod. If the reason is only ContainersNotReady, it adds the state of a
// container.
func setHeadPodReady(s *scope, t tally) {
	if t.head == nil {
		s.conditions().Set(rayv1.HeadPodReady, metav1.ConditionFalse, rayv1.ReasonHeadPodNotFound, "Head Pod not found")
		return
	}
	ready := podplan.Condition(t.head, corev1.PodReady)
	if ready == nil {
		reason, message := rayv1.ReasonUnknown, ""
		if c := podplan.Condition(t.head, corev1.PodScheduled); c != nil && c.Status != corev1.ConditionTrue {
			reason, message = cmp.Or(c.Reason, reason), c.Message // usually: no node has room
		}
		s.conditions().Set(rayv1.HeadPodReady, metav1.ConditionFalse, reason, message)
		return
	}
	reason, message := ready.Reason, ready.Message
	switch {
	case reason == "ContainersNotReady":
		reason, message = explain(t.head, reason, message)
	case reason == "" && ready.Status == corev1.ConditionTrue:
		reason = rayv1.ReasonHeadPodRunningAndReady
	}
	s.conditions().Set(rayv1.HeadPodReady, metav1.ConditionStatus(ready.Status), cmp.Or(reason, rayv1.ReasonUnknown), message)
}

// explain adds the state of the first container that does not run. A condition requires a reason, which a container may lack.
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

// setSuspension sets the two conditions: Suspending from the request until no Pod is left, then Suspended until the request is
// withdrawn. A suspension that has begun always completes.
func setSuspension(s *scope, t tally) {
	suspending, suspended := s.conditions().True(rayv1.RayClusterSuspending), s.conditions().True(rayv1.RayClusterSuspended)
	switch {
	case suspending || s.cluster.Suspended() && !suspended:
		suspending, suspended = t.all > 0, t.all == 0
		if suspended {
			s.conditions().Set(rayv1.RayClusterProvisioned, metav1.ConditionFalse, rayv1.ReasonRayClusterPodsProvisioning,
				"The cluster is suspended")
		}
		if suspended && !s.cluster.Suspended() {
			s.after(reconcile.Soon) // the request was withdrawn meanwhile; no further event comes for that
		}
	case !s.cluster.Suspended():
		// Also if the field was removed: KubeRay 1.7 then leaves the cluster suspended forever.
		suspended = false
	}
	s.conditions().Set(rayv1.RayClusterSuspending, conditions.Status(suspending), rayv1.ReasonRayClusterSuspending, "")
	s.conditions().Set(rayv1.RayClusterSuspended, conditions.Status(suspended), rayv1.ReasonRayClusterSuspended, "")
}

// setProvisioned sets the condition to True once. It stays True until a suspension has deleted all Pods.
func setProvisioned(s *scope, t tally) {
	switch c := s.conditions(); {
	case c.True(rayv1.RayClusterProvisioned) || c.True(rayv1.RayClusterSuspended):
		if old := c.Find(rayv1.RayClusterProvisioned); old != nil {
			c.Set(old.Type, old.Status, old.Reason, old.Message) // unchanged for this generation
		}
	case t.allReady():
		c.Set(rayv1.RayClusterProvisioned, metav1.ConditionTrue, rayv1.ReasonAllPodRunningAndReadyFirstTime,
			"All Ray Pods are ready for the first time")
	default:
		c.Set(rayv1.RayClusterProvisioned, metav1.ConditionFalse, rayv1.ReasonRayClusterPodsProvisioning,
			"The Ray Pods are being made or are not ready")
	}
}

// setReadiness sets the conditions Ready, Reconciling and Stalled, and the reason of the status. Each new reason of a problem also
// sends an event.
func setReadiness(s *scope, _ tally) {
	var list []readiness.Obstacle
	add := func(reason, message string) {
		if reason != "" {
			list = append(list, readiness.Obstacle{Reason: reason, Message: message})
		}
	}
	var refusal string
	if f := joinFailures(s.failures); f != nil { // the failed Pods do not exist
		refusal = f.Refusal
		add(refusal, f.Message)
	}
	if s.headRestartDisabled { // no other Pod is created in that case
		add(rayv1.ReasonHeadRestartDisabled, "the head Pod is gone and the annotation "+rayv1.AnnotationDisableProvisionedHeadRestart+" forbids to replace it")
	}
	// Held Pods: a cluster with certificates always waits for a moment first.
	if len(s.holds) > 0 && s.now.Sub(s.cluster.CreationTimestamp.Time) >= podplan.TroubleAfter {
		add(rayv1.ReasonPodsHeld, "no Pods are created yet: "+strings.Join(s.holds, "; "))
	}
	troubles, later := podplan.TroublesOf(s.pods, s.now) // Pods that exist but make no progress
	for _, t := range troubles {
		add(t.Reason, t.Message)
	}
	if later > 0 {
		s.after(later + time.Second)
	}
	before := slices.Clone(s.cluster.Status.Conditions)
	obstacle := readiness.RayCluster(s.cluster, list, s.now)
	s.cluster.Status.Reason = obstacle.Message
	if obstacle.Reason != "" && obstacle.Reason != refusal && !readiness.Shows(before, obstacle.Reason) { // a rejected write has its own event
		s.events = append(s.events, eventStalled(obstacle.Reason, obstacle.Message))
	}
}
