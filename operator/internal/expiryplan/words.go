package expiryplan

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// messages are those of the condition Idle, by reason, if it is not True.
var messages = map[string]string{
	rayv1.ReasonDriverRuns:           "a driver runs, such as one of a job, a notebook or Ray Client",
	rayv1.ReasonJobActive:            "a submitted job waits or runs",
	rayv1.ReasonServeActive:          "Ray Serve has an application",
	rayv1.ReasonActorAlive:           "a detached actor exists",
	rayv1.ReasonComponentActive:      "the activity hook of the cluster reports something as active",
	rayv1.ReasonDashboardUnreachable: "the dashboard does not say whether something runs",
}

// because returns the reason of a limit that is reached.
func (l limit) because() string {
	switch l.reason {
	case rayv1.ReasonSuspendSchedule:
		return "it is time by " + l.by
	case rayv1.ReasonMaxAge:
		return fmt.Sprintf("the cluster is as old as %s allows, %s", l.by, l.span)
	}
	return fmt.Sprintf("nothing has run on the cluster for as long as %s allows, %s", l.by, l.span)
}

// idleMessage is the message of the condition Idle while it is True.
func (p *planner) idleMessage(since time.Time) string {
	message := "nothing has run since " + text(since)
	if p.expiry.IdleTimeout == 0 {
		return message
	}
	message += "; the limit is reached at " + text(p.kept(since.Add(p.expiry.IdleTimeout)))
	if p.expiry.idleBy == byPolicy {
		message += ", by " + byPolicy
	}
	return message
}

// warning announces what happens at a time.
func (p *planner) warning(l limit, at time.Time) string {
	verb, cause := "suspended", "it is as old then as "+l.by+" allows"
	if p.action(l) == rayv1.ExpiryDelete {
		verb = "deleted"
	}
	switch l.reason {
	case rayv1.ReasonSuspendSchedule:
		cause = l.because()
	case rayv1.ReasonIdleTimeout:
		cause = "it has been idle since " + text(l.since)
		if l.by == byPolicy {
			cause += ", and " + l.by + " allows " + l.span.String()
		}
	}
	return fmt.Sprintf("the cluster will be %s at %s: %s; to keep it, set the annotation %s", verb, text(at), cause, rayv1.AnnotationKeepUntil)
}

func text(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// condition returns a condition. Its time of transition is that of old if the status is the same, else at.
func condition(old *metav1.Condition, status metav1.ConditionStatus, reason, message string, at time.Time) *metav1.Condition {
	if old != nil && old.Status == status {
		at = old.LastTransitionTime.Time
	}
	return &metav1.Condition{Status: status, Reason: reason, Message: message, LastTransitionTime: metav1.NewTime(at)}
}

func stored(rc *rayv1.RayCluster, kind string) *metav1.Condition {
	return meta.FindStatusCondition(rc.Status.Conditions, kind)
}

func isTrue(rc *rayv1.RayCluster, kind string) bool {
	return meta.IsStatusConditionTrue(rc.Status.Conditions, kind)
}

func later(t time.Time, others ...time.Time) time.Time {
	for _, o := range others {
		if o.After(t) {
			t = o
		}
	}
	return t
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
