package webhook

import (
	"fmt"
	"strings"

	"github.com/raygate/raygate/pkg/validation"
)

// Stage says what becomes of objects that break a rule. A new installation, or one with many old objects, can look first
// and refuse later. It changes answers only: the same requests arrive, and the same are counted.
type Stage string

const (
	// StageEnforce refuses them.
	StageEnforce Stage = "Enforce"
	// StageWarn lets them pass and tells the client what is wrong.
	StageWarn Stage = "Warn"
	// StageAudit lets them pass in silence. What would have been said is in the audit log and the metrics.
	StageAudit Stage = "Audit"
)

// ParseStage reads the name of a stage in any case; the empty text is StageEnforce.
func ParseStage(text string) (Stage, error) {
	if text == "" {
		return StageEnforce, nil
	}
	for _, s := range []Stage{StageEnforce, StageWarn, StageAudit} {
		if strings.EqualFold(text, string(s)) {
			return s, nil
		}
	}
	return "", fmt.Errorf("%q is no stage; use %s, %s or %s", text, StageEnforce, StageWarn, StageAudit)
}

// auditKey is the annotation of audit events; the API server puts the name of the webhook before it.
const auditKey = "would-refuse"

// soften turns the answer that enforces into what the stage makes of it.
func (s Stage) soften(a answer, v validation.Verdict) answer {
	switch s {
	case StageWarn:
		a.response.Warnings = warningTexts(append(v.Errors, v.Warnings...))
	case StageAudit:
		a.response.Warnings = nil
	default:
		return a
	}
	if a.outcome == outcomeDenied {
		a.outcome = outcomeTolerated
		a.response.Allowed = true
		a.response.AuditAnnotations = map[string]string{auditKey: a.response.Result.Message}
		a.response.Result = nil
	}
	return a
}
