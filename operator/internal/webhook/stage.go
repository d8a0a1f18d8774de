package webhook

import (
	"fmt"
	"strings"

	"github.com/raygate/raygate/pkg/validation"
)

// Stage decides what happens to objects that break a rule. A new installation, or one with many old objects, can start with
// warnings and enforce later. The stage changes only the answers, not the checks or the metrics.
type Stage string

const (
	// StageEnforce rejects them.
	StageEnforce Stage = "Enforce"
	// StageWarn admits them and returns warnings.
	StageWarn Stage = "Warn"
	// StageAudit admits them without warnings. The audit log and the metrics contain the problems.
	StageAudit Stage = "Audit"
)

// ParseStage parses the name of a stage, ignoring case; empty means StageEnforce.
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

// auditKey is the annotation of audit events; the API server prefixes it with the name of the webhook.
const auditKey = "would-refuse"

// soften converts the answer of StageEnforce to that of the stage.
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
