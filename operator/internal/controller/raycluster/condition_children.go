package raycluster

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// setChildFailure lists the children that cannot be had. An event goes with each that the stored condition does not list.
func setChildFailure(s *scope) {
	if len(s.children) == 0 {
		meta.RemoveStatusCondition(&s.cluster.Status.Conditions, rayv1.RayClusterChildFailure)
		return
	}
	old := meta.FindStatusCondition(s.cluster.Status.Conditions, rayv1.RayClusterChildFailure)
	var messages []string
	for _, f := range s.children {
		if slices.Contains(messages, f.message) {
			continue
		}
		messages = append(messages, f.message)
		if f.action == "" {
			continue // another controller tells of it
		}
		if !truth(old) || !strings.Contains(old.Message, f.message) {
			s.events = append(s.events, newEvent(corev1.EventTypeWarning, f.reason, f.action, f.message))
		}
	}
	setCondition(s, rayv1.RayClusterChildFailure, metav1.ConditionTrue, s.children[0].reason, strings.Join(messages, "; "))
}
