// Package conditions sets the conditions in a status, and cuts texts to the lengths that Kubernetes allows. It depends on no kind.
package conditions

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

// Editor changes the conditions of one object during one reconcile.
type Editor struct {
	// List is the list in the status.
	List *[]metav1.Condition
	// Generation is the generation from which the conditions are computed.
	Generation int64
	// Now is used as the time of transitions.
	Now time.Time
}

// Set sets a condition and reports whether status, reason or message changed. A reason that the schema does not allow becomes
// rayv1.ReasonUnknown, because reasons may come from a Pod. A message that is too long is cut.
func (c Editor) Set(kind string, status metav1.ConditionStatus, reason, message string) (news bool) {
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

// Raise sets a condition to True, or removes it if message is empty.
func (c Editor) Raise(kind, reason, message string) (news bool) {
	if message == "" {
		c.Remove(kind)
		return false
	}
	return c.Set(kind, metav1.ConditionTrue, reason, message)
}

// Says reports whether the condition is True with this message, which is first cut as Set does.
func (c Editor) Says(kind, message string) bool {
	found := c.Find(kind)
	return found != nil && found.Status == metav1.ConditionTrue && found.Message == Clip(message, maxMessage)
}

// Remove removes conditions.
func (c Editor) Remove(kinds ...string) {
	for _, kind := range kinds {
		meta.RemoveStatusCondition(c.List, kind)
	}
}

// Find returns a condition, or nil if there is none.
func (c Editor) Find(kind string) *metav1.Condition {
	return meta.FindStatusCondition(*c.List, kind)
}

// True reports whether a condition exists and is True.
func (c Editor) True(kind string) bool { return meta.IsStatusConditionTrue(*c.List, kind) }

// reasonForm is the pattern that the schema of conditions requires for a reason, besides the length.
var reasonForm = regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$`)

// Status returns the condition status for a bool.
func Status(b bool) metav1.ConditionStatus {
	if b {
		return metav1.ConditionTrue
	}
	return metav1.ConditionFalse
}

// Limits for the warnings of an admission response. The API server cuts warnings if their total is longer than 4096 bytes.
const (
	MaxWarnings = 10
	// MaxWarning is the length of one warning in bytes.
	MaxWarning = 255
)

// Clip cuts a text that is longer than limit bytes and appends "...".
func Clip(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit-3], "") + "..."
}

// ClipMiddle puts gap in place of the middle of a text that is longer than limit bytes. It keeps more of the end than of the beginning: the
// beginning has the cause, and a log or a traceback ends with the error.
func ClipMiddle(text, gap string, limit int) string {
	if len(text) <= limit {
		return text
	}
	tail := (limit - len(gap)) * 3 / 4
	return strings.ToValidUTF8(text[:limit-len(gap)-tail], "") + gap + strings.ToValidUTF8(text[len(text)-tail:], "")
}

// Refusal returns the reason for an error of the API server: rayv1.ReasonQuotaExceeded, ReasonAdmissionDenied or
// ReasonRequestRefused. Errors of quotas and webhooks can be recognized only by their text, which Kubernetes has kept for many
// versions.
func Refusal(err error) string {
	text := err.Error()
	if QuotaExceeded(text) {
		return rayv1.ReasonQuotaExceeded
	}
	for _, known := range []struct{ words, reason string }{
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

// QuotaExceeded reports whether the text of an error of the API server is about a quota.
func QuotaExceeded(text string) bool { return strings.Contains(text, "exceeded quota") }
