package celrules

import (
	"regexp"
	"slices"
	"strings"

	"github.com/raygate/raygate/pkg/validation"
	"github.com/raygate/raygate/pkg/validation/cel"
	"github.com/raygate/raygate/pkg/validation/rule"
)

// PolicyRule is one validation of a ValidatingAdmissionPolicy.
type PolicyRule struct {
	rule.Policy
	// ID is the rule. It ends the message.
	ID string

	ofKubernetes bool
}

// Variables of a policy, for the new and the old object. A part that is missing is null, and a map is empty.
const (
	policyNew, policyOld = "variables.", "variables.old_"
)

var policyWords = regexp.MustCompile(`\b(annotations|labels|spec|cluster)\b`)

// inObject makes the words of an expression variables. Fields of the same name, as in g.labels, are left alone.
func inObject(expr, prefix string) string {
	var b strings.Builder
	last := 0
	for _, at := range policyWords.FindAllStringIndex(expr, -1) {
		b.WriteString(expr[last:at[0]])
		if at[0] == 0 || !strings.ContainsRune(".?'/", rune(expr[at[0]-1])) {
			b.WriteString(prefix)
		}
		b.WriteString(expr[at[0]:at[1]])
		last = at[1]
	}
	return b.String() + expr[last:]
}

var groupWord = regexp.MustCompile(`\bg\b`)

// Expression is the expression in the policy of a kind.
func (r PolicyRule) Expression(plural string) string {
	if r.ofKubernetes && selectsIn[plural] {
		return "variables.selects || " + r.expression()
	}
	return r.expression()
}

func (r PolicyRule) expression() string {
	now, before := inObject(r.Valid, policyNew), inObject(r.Valid, policyOld)
	if r.EachGroup {
		before = groupWord.ReplaceAllString(before, "o")
		if r.ofKubernetes {
			now = cel.NoPods + ") || (" + now
		}
		return "variables.groups.all(g, (" + now + ") || variables.old_groups.exists(o, o.groupName == g.groupName && !(" + before + ")))"
	}
	missing := "false"
	if regexp.MustCompile(`\bcluster\b`).MatchString(r.Valid) {
		missing = "variables.cluster == null"
		before = "variables.old_cluster == null || (" + before + ")"
	} else if regexp.MustCompile(`\bspec\b`).MatchString(r.Valid) {
		missing = "variables.spec == null"
		before = "variables.old_spec == null || (" + before + ")"
	}
	return missing + " || (" + now + ") || (request.operation == 'UPDATE' && !(" + before + "))"
}

// Message is the message for users.
func (r PolicyRule) Message(plural string) string {
	field := r.Field
	switch {
	case r.EachGroup:
		field = places[rule.ClusterSpec][plural] + ".workerGroupSpecs" + field
	case strings.HasPrefix(field, "."):
		field = places[rule.ClusterSpec][plural] + field
	}
	return field + ": " + r.Says + suffix(r.ID)
}

// PoliciesOf returns the refusing or the warning rules of a kind, by their ids.
func PoliciesOf(plural string, warning bool) []PolicyRule {
	var out []PolicyRule
	for _, declared := range validation.Rules() {
		for _, p := range declared.Policies {
			parts := p.Parts
			if parts == nil {
				parts = []rule.Part{rule.Part(declared.Kind)}
			}
			there := slices.ContainsFunc(parts, func(part rule.Part) bool { _, ok := places[part][plural]; return ok })
			if !there || (p.Warning || declared.Tier == rule.Advice) != warning {
				continue
			}
			if p.Says == "" {
				p.Says = declared.Remedy
			}
			out = append(out, PolicyRule{Policy: p, ID: declared.ID, ofKubernetes: declared.Tier == rule.Kubernetes})
		}
	}
	return out
}
