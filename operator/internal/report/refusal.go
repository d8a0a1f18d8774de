package report

import (
	"strings"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

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
