// Package rule is what a rule on a Ray object is made of. A rule is one value, which stands next to the check that asks it:
//
//	var rc047 = rule.New(rule.Rule{ID: "RC-047", Field: "workerGroupSpecs[i].idleTimeoutSeconds", Condition: "below 0", Peer: rule.BySpec,
//		Remedy: "must be at least 0",
//		CEL:    []rule.CEL{eachGroup("!has(g.idleTimeoutSeconds) || g.idleTimeoutSeconds >= 0")}})
//
// Everything else is derived from it: whether it refuses or warns, what the CRDs and the admission policies say (package celrules), its line in
// docs/validation.md, and how an update passes that does not bring the error in. The package knows no rule, and no kind of object.
package rule
