package raycluster

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/podplan"
)

// setStalled answers "why is it not ready" where waiting does not help. The first of these checks that finds something
// gives the reason; the message has what all of them found.
func setStalled(s *scope) {
	old := meta.FindStatusCondition(s.cluster.Status.Conditions, rayv1.RayClusterStalled)
	var reason string
	var messages []string
	for _, check := range []func(*scope) (reason, message string){
		stalledByRefusal,      // there is no Pod to look at
		stalledByDisabledHead, // nothing else is tried then
		stalledByHold,         // nor then
		stalledByPods,         // they exist, and do not get anywhere
	} {
		if r, m := check(s); r != "" {
			if reason == "" {
				reason = r
			}
			messages = append(messages, m)
		}
	}
	if reason == "" {
		meta.RemoveStatusCondition(&s.cluster.Status.Conditions, rayv1.RayClusterStalled)
		return
	}
	message := strings.Join(messages, "; ")
	setCondition(s, rayv1.RayClusterStalled, metav1.ConditionTrue, reason, message)
	told := truth(old) && old.Reason == reason || reason == refusalOf(s)
	if !told { // a refusal has an event of its own
		s.events = append(s.events, eventStalled(reason, message))
	}
}

func stalledByRefusal(s *scope) (string, string) {
	c := meta.FindStatusCondition(s.cluster.Status.Conditions, rayv1.RayClusterReplicaFailure)
	if !truth(c) {
		return "", ""
	}
	return refusalOf(s), c.Message
}

// refusalOf is the reason that goes with the condition ReplicaFailure, "" without it. What a quota or a webhook answers has
// no mark but its words, which Kubernetes has kept for many versions.
func refusalOf(s *scope) string {
	c := meta.FindStatusCondition(s.cluster.Status.Conditions, rayv1.RayClusterReplicaFailure)
	switch {
	case !truth(c):
		return ""
	case strings.Contains(c.Message, "exceeded quota"):
		return rayv1.ReasonQuotaExceeded
	case strings.Contains(c.Message, "admission webhook"), strings.Contains(c.Message, "failed calling webhook"),
		strings.Contains(c.Message, "ValidatingAdmissionPolicy"), strings.Contains(c.Message, "violates PodSecurity"):
		return rayv1.ReasonAdmissionDenied
	default:
		return rayv1.ReasonRequestRefused
	}
}

func stalledByDisabledHead(s *scope) (string, string) {
	if !s.headRestartDisabled {
		return "", ""
	}
	return rayv1.ReasonHeadRestartDisabled, fmt.Sprintf("the head Pod is gone and the annotation %s forbids to replace it",
		rayv1.AnnotationDisableProvisionedHeadRestart)
}

// stalledByHold tells of what has to be ready before Pods are created when it takes long: a moment of waiting is how a
// cluster with certificates begins.
func stalledByHold(s *scope) (string, string) {
	if len(s.holds) == 0 || s.now.Sub(s.cluster.CreationTimestamp.Time) < podplan.Patience {
		return "", ""
	}
	return rayv1.ReasonPodsHeld, "no Pods are created yet: " + strings.Join(s.holds, "; ")
}

func stalledByPods(s *scope) (string, string) {
	trouble, later := podplan.TroublesOf(s.pods, s.now)
	if later > 0 {
		s.lookAgain = soonest(s.lookAgain, later+time.Second)
	}
	return trouble.Reason, trouble.Message
}
