package raycluster

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/podplan"
	"github.com/raygate/raygate/operator/internal/report"
)

// setUpgrade sets the condition UpgradeInProgress. Its start, end and each new reason also send an event. The condition stores when the upgrade
// began.
func setUpgrade(s *scope, _ tally) {
	const kind = rayv1.RayClusterUpgradeInProgress
	var before metav1.Condition
	if c := s.conditions().Find(kind); c != nil {
		before = *c
	}
	switch u := s.upgrade; {
	case u == nil:
		s.conditions().Remove(kind)
	case u.InProgress:
		reason, message := s.upgradeReason(before), progressOf(u)
		if s.held {
			message += "; a PodDisruptionBudget does not allow the next eviction yet"
		}
		s.conditions().Set(kind, metav1.ConditionTrue, reason, message)
		s.events = append(s.events, eventsOfUpgrade(before, reason, message)...)
	default:
		message := "all Pods have the current templates"
		s.conditions().Remove(kind)
		if u.HeadStays {
			message = "all workers have the current templates; " + headStays
			s.conditions().Set(kind, metav1.ConditionFalse, rayv1.ReasonHeadNotUpgraded, message)
		}
		if before.Status == metav1.ConditionTrue || u.HeadStays && before.Reason == "" {
			s.events = append(s.events, report.Normal("UpgradeCompleted", actionUpdate, "%s", message))
		}
	}
}

// eventsOfUpgrade returns the events about an upgrade in progress with the condition of before.
func eventsOfUpgrade(before metav1.Condition, reason, message string) (all []report.Event) {
	if before.Status != metav1.ConditionTrue {
		all = append(all, report.Normal("UpgradeStarted", actionUpdate, "%s", message))
	}
	switch reason {
	case before.Reason:
	case rayv1.ReasonUpgradeDeadlineExceeded:
		all = append(all, report.Warning(reason, actionUpdate, message))
	case rayv1.ReasonUpgradePaused:
		all = append(all, report.Normal(reason, actionUpdate, "%s", message))
	}
	return all
}

const headStays = "the head Pod keeps its template, because without GCS fault tolerance its loss would end all work"

// upgradeReason returns the reason of the condition, and requests a reconcile at the deadline.
func (s *scope) upgradeReason(before metav1.Condition) string {
	u := s.cluster.RollingUpdate()
	left := u.Deadline
	if before.Status == metav1.ConditionTrue {
		left -= s.now.Sub(before.LastTransitionTime.Time)
	}
	switch {
	case u.Paused:
		return rayv1.ReasonUpgradePaused
	case u.Deadline == 0:
	case left <= 0:
		return rayv1.ReasonUpgradeDeadlineExceeded
	default:
		s.after(left)
	}
	return rayv1.UpgradeRollingUpdate
}

// progressOf describes the progress in one sentence without a full stop.
func progressOf(u *podplan.Upgrade) string {
	var groups []string
	for _, g := range u.Groups {
		groups = append(groups, fmt.Sprintf("%d of %d in group %s", g.Updated, g.Wanted, g.Name))
	}
	text := "workers that are ready with the current template: " + strings.Join(groups, ", ")
	if len(groups) == 0 {
		text = "no group wants workers"
	}
	switch {
	case u.HeadStays:
		text += "; " + headStays
	case u.HeadFollows:
		text += "; the head Pod follows"
	}
	return text
}
