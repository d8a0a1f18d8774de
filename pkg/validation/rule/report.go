package rule

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Report collects the problems that the checks find in an object, before the tiers of the rules decide about their severity. A nil Report
// ignores them.
//
// Each method adds a problem of the type in its name, at a path, with a remedy: the detail, or else the remedy of the rule. Values that may
// contain a secret (of env, of credentials) must use Forbidden, which shows none.
type Report struct {
	// Problems become errors or warnings, as the tier of their rule has it.
	Problems field.ErrorList
	// Advice only has warnings: cases in which a rule that refuses others may not apply.
	Advice field.ErrorList

	// whole is the report to which this one adds advice, or nil.
	whole *Report
}

// When returns the report if the condition is true, and nil if not: out.When(suspended).Invalid(...). The arguments of a problem are
// evaluated in both cases. Use it for checks that run once in an object or a group, and not for each item of long lists.
func (r *Report) When(broken bool) *Report {
	if broken {
		return r
	}
	return nil
}

// Maybe returns the report of cases in which the rules may not apply.
func (r *Report) Maybe() *Report {
	if r == nil || r.whole != nil {
		return r
	}
	return &Report{whole: r}
}

// Without returns the report for a field that needs a feature gate: problems if the gate is known to be off, advice if it is unknown, and
// nil if it is on.
func (r *Report) Without(g Gate, o Options) *Report {
	switch {
	case o.Enabled(g):
		return nil
	case o.Knows(g):
		return r
	}
	return r.Maybe()
}

func (r *Report) add(by *Rule, problem *field.Error, detail []string) {
	switch {
	case len(detail) > 0 && detail[0] != "":
		problem.Detail = detail[0]
	case problem.Detail == "":
		problem.Detail = by.Remedy
	}
	problem.Origin = by.ID
	if r.whole != nil {
		r.whole.Advice = append(r.whole.Advice, problem)
		return
	}
	r.Problems = append(r.Problems, problem)
}

// Invalid reports an invalid value.
func (r *Report) Invalid(by *Rule, path *field.Path, value any, detail ...string) {
	if r != nil {
		r.add(by, field.Invalid(path, shown(value), ""), detail)
	}
}

// Malformed reports a value for which a validator of Kubernetes returned messages. No messages mean a valid value.
func (r *Report) Malformed(by *Rule, path *field.Path, value string, words []string) {
	if len(words) > 0 {
		r.Invalid(by, path, value, strings.Join(words, "; "))
	}
}

// Forbidden reports a field that must not be set. It shows no value.
func (r *Report) Forbidden(by *Rule, path *field.Path, detail ...string) {
	if r != nil {
		r.add(by, field.Forbidden(path, ""), detail)
	}
}

// Required reports a missing field.
func (r *Report) Required(by *Rule, path *field.Path, detail ...string) {
	if r != nil {
		r.add(by, field.Required(path, ""), detail)
	}
}

// Duplicate reports a value that another item of a list has.
func (r *Report) Duplicate(by *Rule, path *field.Path, value any, detail ...string) {
	if r != nil {
		r.add(by, field.Duplicate(path, shown(value)), detail)
	}
}

// NotFound reports the name of an object that does not exist.
func (r *Report) NotFound(by *Rule, path *field.Path, value any, detail ...string) {
	if r != nil {
		r.add(by, field.NotFound(path, value), detail)
	}
}

// TooMany reports a list, or a value derived from it, that is too long. The detail completes the sentence of the message.
func (r *Report) TooMany(by *Rule, path *field.Path, actual, most int, detail string) {
	if r != nil {
		problem := field.TooMany(path, actual, most)
		r.add(by, problem, []string{problem.Detail + detail})
	}
}

// OneOf reports a value that is not one of the allowed ones, and whether it is one.
func OneOf[T ~string](r *Report, by *Rule, path *field.Path, value T, allowed ...T) bool {
	if slices.Contains(allowed, value) {
		return true
	}
	if r != nil {
		problem := field.NotSupported(path, T(Clipped(string(value))), allowed)
		r.add(by, problem, []string{problem.Detail})
	}
	return false
}

// AtLeast reports a number that is set and too small.
func AtLeast[T int32 | int64](r *Report, by *Rule, path *field.Path, value *T, least T) {
	if value != nil && *value < least {
		r.Invalid(by, path, *value)
	}
}

// shown keeps a text of a megabyte out of messages.
func shown(value any) any {
	if text, ok := value.(string); ok {
		return Clipped(text)
	}
	return value
}

// maxShown is the maximum length of a value in a message.
const maxShown = 256

// Clipped is the text as messages show it.
func Clipped(text string) string {
	if len(text) <= maxShown {
		return text
	}
	return strings.ToValidUTF8(text[:maxShown], "") + "..."
}
