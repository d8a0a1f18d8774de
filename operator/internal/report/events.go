package report

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"

	"github.com/raygate/raygate/operator/internal/byowner"
)

// maxNote is the longest note of an event that the API server takes.
const maxNote = 1024

// Event is something that happened, to be sent once the status that goes with it is saved.
type Event struct{ Type, Reason, Action, Note string }

// Normal is an event about something that was done. It stays true when the status cannot be saved.
func Normal(reason, action, format string, args ...any) Event {
	return Event{corev1.EventTypeNormal, reason, action, fmt.Sprintf(format, args...)}
}

// Warning is an event about a problem. It goes with a condition.
func Warning(reason, action, note string) Event {
	return Event{corev1.EventTypeWarning, reason, action, note}
}

// Done are the events that are true even if the status was not saved. The others come again with the reconcile that saves it.
func Done(list []Event) []Event {
	return slices.DeleteFunc(slices.Clone(list), func(e Event) bool { return e.Type != corev1.EventTypeNormal })
}

// Send sends the events of one reconcile about an object. The API server keeps one event of a type, reason and action about an
// object and counts the others, whatever they say; so those of one reconcile become one, with all texts. Events without a reason
// are left out.
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
		recorder.Eventf(object, nil, e.Type, e.Reason, e.Action, "%s", Clip(strings.Join(notes, "; "), maxNote))
	}
}

func (e Event) alike(other Event) bool {
	return e.Type == other.Type && e.Reason == other.Reason && e.Action == other.Action
}

// Once remembers the events about an object, so that only a different one is sent again. After a restart they are sent once more, unless a
// stored condition has the same text. The zero value is ready; it may be used from several goroutines.
type Once struct {
	said byowner.Map[string, []string] // texts by subject
}

// Has reports whether the text is among those said last on the subject.
func (o *Once) Has(object types.UID, subject, text string) bool {
	texts, _ := o.said.Get(object, subject)
	return slices.Contains(texts, text)
}

// Say notes all that is said on the subject, in the place of what was said before.
func (o *Once) Say(object types.UID, subject string, texts ...string) {
	o.said.Set(object, subject, texts)
}

// News is Say, and reports whether the text was not among those said last.
func (o *Once) News(object types.UID, subject, text string) bool {
	if o.Has(object, subject, text) {
		return false
	}
	o.Say(object, subject, text)
	return true
}

// Forget drops an object that is gone.
func (o *Once) Forget(object types.UID) { o.said.Forget(object) }
