package celrules

import (
	"regexp"
	"strings"
)

// statusWritten is true of nearly every write of the status, by kind. The status of a RayJob has so many fields that a look at one costs as much as
// most rules.
var statusWritten = map[string]string{
	"rayclusters": "self.?status.?lastUpdateTime != oldSelf.?status.?lastUpdateTime",
	"rayservices": "self.?status.?lastUpdateTime != oldSelf.?status.?lastUpdateTime",
}

// usualGuard is a guard that lets nearly every object through, so that rules look into its Pods.
var usualGuard = regexp.MustCompile(`^has\(self[\w.]*\.headGroupSpec\)$`)

// oldAndNew are the values of the node in an expression.
var oldAndNew = regexp.MustCompile(`\b(?:self|oldSelf)\b`)

// exceptStatusWrites moves a rule for updates from the spec to the root, where it is true at once if the status has changed: then the spec has
// not, since the API server keeps the one in writes of the other. It evaluates all rules in both.
func exceptStatusWrites(p Placed[Validation], plural string) Placed[Validation] {
	v, written := p.Item, statusWritten[plural]
	if written == "" || p.Node != "spec" || v.OptionalOldSelf != nil || !strings.Contains(v.Rule, "oldSelf") {
		return p
	}
	below := func(expression string) string { return oldAndNew.ReplaceAllString(expression, "$0.spec") }
	v.Rule = written + " || !has(self.spec) || !has(oldSelf.spec) || " + below(v.Rule)
	v.MessageExpression = below(v.MessageExpression)
	v.FieldPath = ".spec" + v.FieldPath
	return Placed[Validation]{Item: v}
}
