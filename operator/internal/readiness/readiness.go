package readiness

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/conditions"
)

// Obstacle is the reason why an object is not in the state that its spec requests.
type Obstacle struct{ Reason, Message string }

// join merges obstacles into one with all messages, or returns the zero value for none. The reason is the first that needs a person.
func join(list []Obstacle) Obstacle {
	if len(list) == 0 {
		return Obstacle{}
	}
	reason := list[0].Reason
	if i := slices.IndexFunc(list, Obstacle.stalls); i >= 0 {
		reason = list[i].Reason
	}
	var messages []string
	for _, o := range list {
		if !slices.Contains(messages, o.Message) {
			messages = append(messages, o.Message)
		}
	}
	return Obstacle{reason, strings.Join(messages, "; ")}
}

// stalls reports whether the obstacle needs a person.
func (o Obstacle) stalls() bool { return o.Reason != "" && !rayv1.Awaited(o.Reason) }

// refused returns the obstacle for a message of the API server about a child. Only a quota is awaited.
func refused(reason, message string) Obstacle {
	if conditions.QuotaExceeded(message) {
		reason = rayv1.ReasonQuotaExceeded
	}
	return Obstacle{reason, message}
}

// Shows reports whether one of the three conditions already has the reason.
func Shows(list []metav1.Condition, reason string) bool {
	return slices.ContainsFunc(list, func(c metav1.Condition) bool { return derived(c) && c.Reason == reason })
}

// Without returns the conditions without the three.
func Without(list []metav1.Condition) []metav1.Condition {
	return slices.DeleteFunc(slices.Clone(list), derived)
}

func derived(c metav1.Condition) bool {
	return c.Type == rayv1.ConditionReady || c.Type == rayv1.ConditionReconciling || c.Type == rayv1.ConditionStalled
}

// verdict is the answer about an object. The zero value is an object that is settled without being ready.
type verdict struct {
	// state is ConditionReconciling or ConditionStalled with the reason and message below; ConditionReady if neither is True.
	state           string
	reason, message string
	// ready makes the condition Ready True even if state is ConditionStalled.
	ready bool
}

func ready(reason, message string) verdict {
	return verdict{rayv1.ConditionReady, reason, message, true}
}

func progressing(reason, message string) verdict {
	return verdict{state: rayv1.ConditionReconciling, reason: reason, message: message}
}

func stalled(reason, message string) verdict {
	return verdict{state: rayv1.ConditionStalled, reason: reason, message: message}
}

// of returns the verdict on an object with the obstacle.
func of(o Obstacle) verdict {
	if o.stalls() {
		return stalled(o.Reason, o.Message)
	}
	return progressing(o.Reason, o.Message)
}

// suspended returns the verdict on an object that is suspended to the end.
func suspended(o metav1.Object) verdict {
	if queue := o.GetLabels()[rayv1.LabelKueueQueue]; queue != "" {
		return progressing(rayv1.ReasonQueued, "waiting for Kueue to admit it from the queue "+queue)
	}
	return verdict{}
}

// apply sets the three conditions.
func (v verdict) apply(c conditions.Editor) {
	switch {
	case v.state == "":
		c.Remove(rayv1.ConditionReady)
	case v.ready && v.state == rayv1.ConditionStalled:
		c.Set(rayv1.ConditionReady, metav1.ConditionTrue, rayv1.ReasonAllPodsReady, messagePodsReady)
	default:
		c.Set(rayv1.ConditionReady, conditions.Status(v.ready), v.reason, v.message)
	}
	v.applyWork(c)
}

// applyWork sets Reconciling and Stalled.
func (v verdict) applyWork(c conditions.Editor) {
	for _, kind := range []string{rayv1.ConditionReconciling, rayv1.ConditionStalled} {
		if kind != v.state {
			c.Remove(kind)
			continue
		}
		c.Set(kind, metav1.ConditionTrue, v.reason, v.message)
	}
}

// edit returns the editor of the conditions in list.
func edit(list *[]metav1.Condition, generation int64, now time.Time) conditions.Editor {
	return conditions.Editor{List: list, Generation: generation, Now: now}
}

// keepTimes restores the transition times of conditions whose status is as stored.
func keepTimes(list, stored []metav1.Condition) {
	for i := range list {
		if old := meta.FindStatusCondition(stored, list[i].Type); old != nil && old.Status == list[i].Status {
			list[i].LastTransitionTime = old.LastTransitionTime
		}
	}
}
