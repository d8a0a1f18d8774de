// Package report sends the events of a controller after the corresponding status is saved, and records what was sent. It depends on no kind
// and no scope.
package report

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/tools/events"

	"github.com/raygate/raygate/operator/internal/conditions"
	"github.com/raygate/raygate/operator/internal/objectmap"
)

// maxNote is the maximum length of an event's note.
const maxNote = 1024

// Event is an event to send after the corresponding status is saved.
type Event struct{ Type, Reason, Action, Note string }

// Normal returns an event about an action. It stays true if the status cannot be saved.
func Normal(reason, action, format string, args ...any) Event {
	return Event{corev1.EventTypeNormal, reason, action, fmt.Sprintf(format, args...)}
}

// Warning returns an event about a problem. It belongs to a condition.
func Warning(reason, action, note string) Event {
	return Event{corev1.EventTypeWarning, reason, action, note}
}

// Invalid returns the event about broken rules: with metadataReason if a field begins with prefix, and with specReason otherwise. As in KubeRay,
// rules about the metadata take precedence.
func Invalid(prefix, metadataReason, specReason string, errs field.ErrorList, note string) Event {
	reason := specReason
	if slices.ContainsFunc(errs, func(e *field.Error) bool { return strings.HasPrefix(e.Field, prefix) }) {
		reason = metadataReason
	}
	return Warning(reason, "Validate", note)
}

// Done returns the events that are true even if the status was not saved. The reconcile that saves the status produces the others
// again.
func Done(list []Event) []Event {
	return slices.DeleteFunc(slices.Clone(list), func(e Event) bool { return e.Type != corev1.EventTypeNormal })
}

// Send sends the events of one reconcile about an object. The API server aggregates events of the same type, reason and action
// about an object regardless of their notes, so those of one reconcile are merged into one. Events without a reason are dropped.
func Send(recorder events.EventRecorder, object runtime.Object, list []Event) {
	for i, e := range list {
		if e.Reason == "" || slices.ContainsFunc(list[:i], e.alike) {
			continue
		}
		notes := []string{e.Note}
		for _, other := range list[i+1:] {
			if e.alike(other) && !slices.Contains(notes, other.Note) {
				notes = append(notes, other.Note)
			}
		}
		recorder.Eventf(object, nil, e.Type, e.Reason, e.Action, "%s", conditions.Clip(strings.Join(notes, "; "), maxNote))
	}
}

func (e Event) alike(other Event) bool {
	return e.Type == other.Type && e.Reason == other.Reason && e.Action == other.Action
}

// Once records the events about an object, so that only changed ones are sent again. After a restart they are sent again, unless a
// stored condition has the same text. The zero value is ready for use and safe for concurrent use.
type Once struct {
	said objectmap.Map[string, []string] // texts by subject
}

// Has reports whether the text is among the last ones on the subject.
func (o *Once) Has(object types.UID, subject, text string) bool {
	texts, _ := o.said.Get(object, subject)
	return slices.Contains(texts, text)
}

// Say records the texts on the subject and replaces earlier ones.
func (o *Once) Say(object types.UID, subject string, texts ...string) {
	o.said.Set(object, subject, texts)
}

// News is like Say, and reports whether the text is new.
func (o *Once) News(object types.UID, subject, text string) bool {
	if o.Has(object, subject, text) {
		return false
	}
	o.Say(object, subject, text)
	return true
}

// Forget drops the records of a deleted object.
func (o *Once) Forget(object types.UID) { o.said.Forget(object) }
