package celrules

import (
	"regexp"
	"slices"
	"strings"
)

// PolicyRule is one validation of a ValidatingAdmissionPolicy: a rule that a CRD cannot hold, because it reads metadata
// or because the API server would estimate it to cost too much. A policy sees all of the object and has no estimate, but
// it cannot name a field, so its message begins with one.
type PolicyRule struct {
	// ID is the rule of pkg/validation. It ends the message.
	ID string
	// Plurals are the kinds.
	Plurals []string
	// Warning rules warn; the others refuse.
	Warning bool
	// EachGroup asks the rule for each worker group, g.
	EachGroup bool
	// Valid is true of a good object. It knows annotations, labels and spec of the object, cluster for the
	// RayClusterSpec in it, which is there, and g. An update of an object that broke the rule before passes.
	Valid string
	// Field and Says are the message. Within EachGroup the field is below the group.
	Field, Says string
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

// Expression is what the policy of a kind evaluates.
func (r PolicyRule) Expression(plural string) string {
	if OfKubernetes(r.ID) && selectsIn[plural] {
		return "variables.selects || " + r.expression()
	}
	return r.expression()
}

func (r PolicyRule) expression() string {
	now, before := inObject(r.Valid, policyNew), inObject(r.Valid, policyOld)
	if r.EachGroup {
		before = groupWord.ReplaceAllString(before, "o")
		if OfKubernetes(r.ID) {
			now = noPods + ") || (" + now
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

// Message is what the user reads.
func (r PolicyRule) Message(plural string) string {
	field := r.Field
	switch {
	case r.EachGroup:
		field = places[ClusterSpec][plural] + ".workerGroupSpecs" + field
	case strings.HasPrefix(field, "."):
		field = places[ClusterSpec][plural] + field
	}
	return field + ": " + r.Says + " (" + r.ID + ")"
}

// PoliciesOf returns the refusing or the warning rules of a kind, by their ids.
func PoliciesOf(plural string, warning bool) []PolicyRule {
	var out []PolicyRule
	for _, r := range policyRules {
		if r.Warning == warning && slices.Contains(r.Plurals, plural) {
			out = append(out, r)
		}
	}
	slices.SortStableFunc(out, func(a, b PolicyRule) int { return strings.Compare(a.ID, b.ID) })
	return out
}

// InPolicy reports whether a policy has the rule.
func InPolicy(id string) bool {
	return slices.ContainsFunc(policyRules, func(r PolicyRule) bool { return r.ID == id })
}
