package validation

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Violation is one problem in the form that every entry point prints.
type Violation struct {
	// Field is the path of the field, as in spec.workerGroupSpecs[0].groupName.
	Field string
	// Message says what is wrong and what would be right. It never holds a secret.
	Message string
	// Rule is the stable id of the rule, as in RC-501, or what the origin of a problem that is not from this package says.
	Rule string
	// Type is the kind of problem, as the API server has it in the causes of a refusal.
	Type field.ErrorType
}

// Violations turns a verdict into what entry points print: in the order in which the fields stand in the API, without repeats.
func Violations(errs field.ErrorList) []Violation {
	violations := make([]Violation, 0, len(errs))
	seen := make(map[Violation]bool, len(errs))
	for _, err := range errs {
		if err == nil {
			continue
		}
		v := Violation{Field: err.Field, Message: message(err), Rule: err.Origin, Type: err.Type}
		if !seen[v] {
			seen[v] = true
			violations = append(violations, v)
		}
	}
	object, order := typeOf(violations), make(map[string][]pathStep, len(violations))
	for _, v := range violations {
		order[v.Field] = ranked(object, splitPath(v.Field))
	}
	slices.SortStableFunc(violations, func(a, b Violation) int { return comparePaths(order[a.Field], order[b.Field]) })
	return violations
}

// message is the text of a problem. Errors of this type are what decoders find; they say all in their detail.
func message(err *field.Error) string {
	if err.Type == field.ErrorTypeTypeInvalid {
		return err.Detail
	}
	return err.ErrorBody()
}

// Summary is the verdict in one line, for conditions and events: "path: message; path: message". Empty for no errors.
func Summary(errs field.ErrorList) string {
	violations := Violations(errs)
	parts := make([]string, len(violations))
	for i, v := range violations {
		parts[i] = v.Field + ": " + v.Message
	}
	return strings.Join(parts, "; ")
}

// WarningTexts is the form in which warnings reach kubectl and other clients: "path: text (rule)", in the order of the
// fields.
func WarningTexts(warnings field.ErrorList) []string {
	violations := Violations(warnings)
	texts := make([]string, len(violations))
	for i, v := range violations {
		texts[i] = v.Field + ": " + v.Message + " (" + v.Rule + ")"
	}
	return texts
}
