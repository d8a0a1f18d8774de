package serveplan

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/rayservice"
)

// names reports whether an annotation of the user names the pending cluster. A name left from an earlier upgrade has no effect.
func (s *step) names(annotation string) bool {
	p := s.pendingName()
	return p != "" && s.in.Service.Annotations[annotation] == p
}

// aborts reports whether the pending cluster is given up.
func aborts(s *step) bool {
	return s.active() != nil && s.pendingName() != "" && (s.names(rayv1.AnnotationUpgradeAbort) || s.aborted())
}

// paused reports whether the user holds upgrades. A lost cluster is replaced all the same, and an abort is carried out.
func (s *step) paused() bool { return s.active() != nil && s.wantsPause() && !aborts(s) }

func (s *step) wantsPause() bool {
	return s.in.Service.Annotations[rayv1.AnnotationUpgradePaused] == "true"
}

// failureTime is how long a new cluster may report failed applications before an upgrade is aborted.
const failureTime = 30 * time.Second

// failed reports whether the upgrade is to be aborted because of the new cluster. The active one must serve.
func (s *step) failed() bool {
	a, c := s.active(), s.conds().Find(rayv1.RayServiceStalled)
	action := rayv1.UpgradeFailureAction(s.in.Service.Annotations[rayv1.AnnotationUpgradeFailureAction])
	if action != rayv1.UpgradeFailureAbort || s.wantsPause() || a == nil || a.Pods == 0 || s.pendingName() == "" || c == nil {
		return false
	}
	if c.Reason != rayv1.ReasonApplicationsFailed && c.Reason != rayv1.ReasonProgressDeadlineExceeded {
		return false
	}
	due := c.LastTransitionTime.Add(failureTime)
	if s.in.Now.Before(due) {
		s.lookAt(due)
		return false
	}
	return true
}

// withheld reports whether the service stays on its active cluster although the spec asks for another one.
func (s *step) withheld() bool {
	a := s.active()
	return a != nil && s.pendingName() == "" && a.Match == rayservice.Different && s.in.Strategy.NewCluster && (s.paused() || s.aborted())
}

// keepsConfiguration reports whether the active cluster keeps its configuration while the service stays on it.
func (s *step) keepsConfiguration() bool { return s.withheld() && s.active().Serve.kept() }

// kept reports whether the cluster still has a configuration, or this process knows the one that it had. If a new head has lost it, and no
// operator knows it any more, that of the spec is all there is.
func (v Serve) kept() bool { return v.Known || len(v.Applications) > 0 }

// aborted reports whether the upgrade to the present spec was aborted.
func (s *step) aborted() bool { return s.is(rayv1.RayServiceUpgradeAborted) }

// forgetAbort ends an abort if the spec has changed since, or if the cluster of before is gone.
func (s *step) forgetAbort() {
	c := s.conds().Find(rayv1.RayServiceUpgradeAborted)
	if c != nil && (c.ObservedGeneration != s.in.Service.Generation || s.active() == nil) {
		s.remove(rayv1.RayServiceUpgradeAborted)
	}
}

// abortDue reports whether an abort has to be recorded. A spec that differs from that of the pending cluster needs none.
func abortDue(s *step) bool {
	return !s.aborted() && (aborts(s) || s.analysisFailed() || s.failed()) && !activeMatches(s) && !pendingDiffers(s)
}

// switchAbortDue is abortDue for an upgrade without steps. A switch that has begun completes.
func switchAbortDue(s *step) bool { return abortDue(s) && !s.moving() }

func (s *step) abort() {
	s.plan.Aborted = fmt.Sprintf("the upgrade to cluster %s is aborted; the service stays on cluster %s until its spec changes", s.pendingName(), s.activeName())
	switch {
	case s.names(rayv1.AnnotationUpgradeAbort):
	case s.analysisFailed():
		s.plan.Aborted += ": " + s.conds().Find(rayv1.RayServiceCanaryAnalysis).Message
	default:
		s.plan.Aborted += ": " + s.conds().Find(rayv1.RayServiceStalled).Message
	}
	s.set(rayv1.RayServiceUpgradeAborted, metav1.ConditionTrue, rayv1.ReasonUpgradeAborted, s.plan.Aborted)
}

func (s *step) abortSwitch() {
	s.abort()
	s.dropPending()
	s.plan.After = soon
}

func (s *step) abortSteps() {
	s.abort()
	s.set(rayv1.RayServiceRollbackInProgress, metav1.ConditionTrue, rayv1.ReasonUpgradeAborted, s.plan.Aborted)
}

const messagePaused = "the annotation " + rayv1.AnnotationUpgradePaused + " is true; remove it to continue"

// held returns why an upgrade must not go any further; empty if it may.
func (s *step) held() string {
	if s.paused() {
		return messagePaused
	}
	return ""
}

// canary returns the limit of the new cluster, and what ends it; nil without one.
func (s *step) canary() (limit *int32, unconfirmed string) {
	percent, set := rayv1.CanaryWeightOf(s.in.Service.Annotations)
	if !set || s.names(rayv1.AnnotationCanaryConfirmed) || s.analysed(metav1.ConditionTrue) {
		return nil, ""
	}
	p := s.pendingName()
	if c := s.conds().Find(rayv1.RayServiceCanaryAnalysis); c != nil && s.analysis() != nil {
		return &percent, "canary analysis of " + c.Message
	}
	return &percent, fmt.Sprintf("cluster %s gets %d percent of the traffic; to continue, set the annotation %s to %s, or to go back, %s",
		p, s.sharedTraffic(), rayv1.AnnotationCanaryConfirmed, p, rayv1.AnnotationUpgradeAbort)
}

// resumedAt returns when an upgrade continued after its last pause; zero without one.
func (s *step) resumedAt() (at time.Time) {
	if c := s.conds().Find(rayv1.RayServiceUpgradePaused); c != nil {
		at = c.LastTransitionTime.Time
	}
	return at
}

// setPaused reports whether an upgrade waits for its user.
func (s *step) setPaused() {
	const kind = rayv1.RayServiceUpgradePaused
	was, reason, message := s.is(kind), "", ""
	switch {
	case s.paused() && (s.pendingName() != "" || s.withheld()):
		reason, message = rayv1.ReasonPausedByAnnotation, messagePaused
	case s.user:
		reason, message = rayv1.ReasonCanaryNotConfirmed, s.waits
	}
	switch {
	case reason != "":
		if !was || !s.because(kind, reason) {
			s.plan.Paused = message
		}
		s.set(kind, metav1.ConditionTrue, reason, message)
	case s.pendingName() == "":
		s.remove(kind)
	case was:
		s.plan.Resumed = "the upgrade to cluster " + s.pendingName() + " continues"
		s.set(kind, metav1.ConditionFalse, rayv1.ReasonUpgradeResumed, s.plan.Resumed)
	}
}
