package raycluster

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/podplan"
)

// setStalled answers "why is it not ready" where waiting does not help. The first of these checks that finds something
// gives the reason; the message has what all of them found.
func setStalled(s *scope, _ tally) {
	old := s.conditions().Find(rayv1.RayClusterStalled)
	said := isTrue(old)
	var reason string
	var messages []string
	for _, check := range []func(*scope) (reason, message string){
		stalledByRefusal,      // there is no Pod to look at
		stalledByDisabledHead, // nothing else is tried then
		stalledByHold,         // nor then
		stalledByPods,         // they exist, and do not get anywhere
	} {
		if r, m := check(s); r != "" {
			reason = cmp.Or(reason, r)
			messages = append(messages, m)
		}
	}
	message := strings.Join(messages, "; ")
	said = said && old.Reason == reason
	s.conditions().Raise(rayv1.RayClusterStalled, reason, message)
	if refusal, _ := stalledByRefusal(s); !said && reason != refusal { // a refusal has an event of its own
		s.events = append(s.events, eventStalled(reason, message))
	}
}

func stalledByRefusal(s *scope) (string, string) {
	f := joinFailures(s.failures)
	if f == nil {
		return "", ""
	}
	return f.Refusal, f.Message
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
	if len(s.holds) == 0 || s.now.Sub(s.cluster.CreationTimestamp.Time) < podplan.TroubleAfter {
		return "", ""
	}
	return rayv1.ReasonPodsHeld, "no Pods are created yet: " + strings.Join(s.holds, "; ")
}

func stalledByPods(s *scope) (string, string) {
	trouble, later := podplan.TroublesOf(s.pods, s.now)
	if later > 0 {
		s.after(later + time.Second)
	}
	return trouble.Reason, trouble.Message
}
