package report

import (
	"regexp"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// Limits of the schema of conditions.
const (
	maxMessage = 32768
	maxReason  = 1024
)

// Conditions are those of one object during one reconcile.
type Conditions struct {
	// List is the list in the status.
	List *[]metav1.Condition
	// Generation is what the conditions are computed from.
	Generation int64
	// Now is the time of a transition.
	Now time.Time
}

// Set sets a condition, and reports whether that says anything new: another status, reason or message. A reason that the schema
// does not take, which may come from a Pod and so from anybody, becomes rayv1.ReasonUnknown; a message that is too long is cut.
func (c Conditions) Set(kind string, status metav1.ConditionStatus, reason, message string) (news bool) {
	if len(reason) > maxReason || !reasonForm.MatchString(reason) {
		reason = rayv1.ReasonUnknown
	}
	message = Clip(message, maxMessage)
	old := c.Find(kind)
	news = old == nil || old.Status != status || old.Reason != reason || old.Message != message
	meta.SetStatusCondition(c.List, metav1.Condition{
		Type: kind, Status: status, Reason: reason, Message: message, ObservedGeneration: c.Generation,
		LastTransitionTime: metav1.NewTime(c.Now),
	})
	return news
}

// Raise is Set for a condition that is True with a message, and absent without one.
func (c Conditions) Raise(kind, reason, message string) (news bool) {
	if message == "" {
		c.Remove(kind)
		return false
	}
	return c.Set(kind, metav1.ConditionTrue, reason, message)
}

// Says reports whether the condition is True with the message, of which no more counts than a condition holds.
func (c Conditions) Says(kind, message string) bool {
	found := c.Find(kind)
	return found != nil && found.Status == metav1.ConditionTrue && found.Message == Clip(message, maxMessage)
}

// Remove takes a condition away.
func (c Conditions) Remove(kinds ...string) {
	for _, kind := range kinds {
		meta.RemoveStatusCondition(c.List, kind)
	}
}

// Find returns a condition, nil if there is none.
func (c Conditions) Find(kind string) *metav1.Condition {
	return meta.FindStatusCondition(*c.List, kind)
}

// True reports whether a condition is there and True.
func (c Conditions) True(kind string) bool { return meta.IsStatusConditionTrue(*c.List, kind) }

// reasonForm is what the schema of conditions takes for a reason, besides the length.
var reasonForm = regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$`)

// Status is the condition status for a bool.
func Status(b bool) metav1.ConditionStatus {
	if b {
		return metav1.ConditionTrue
	}
	return metav1.ConditionFalse
}

// Limits of the warnings of an admission response, as the API server cuts them once they are longer than 4096 bytes together.
const (
	MaxWarnings = 10
	// MaxWarning is the length of one in bytes.
	MaxWarning = 255
)

// Clip cuts a text that is longer than limit bytes, and shows that.
func Clip(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit-3], "") + "..."
}

// Refusal is the reason for what the API server refused: rayv1.ReasonQuotaExceeded, ReasonAdmissionDenied or ReasonRequestRefused.
// What a quota or a webhook answers has no mark but its words, which Kubernetes has kept for many versions.
func Refusal(err error) string {
	text := err.Error()
	for _, known := range []struct{ words, reason string }{
		{"exceeded quota", rayv1.ReasonQuotaExceeded},
		{"admission webhook", rayv1.ReasonAdmissionDenied},
		{"failed calling webhook", rayv1.ReasonAdmissionDenied},
		{"ValidatingAdmissionPolicy", rayv1.ReasonAdmissionDenied},
		{"violates PodSecurity", rayv1.ReasonAdmissionDenied},
	} {
		if strings.Contains(text, known.words) {
			return known.reason
		}
	}
	return rayv1.ReasonRequestRefused
}
