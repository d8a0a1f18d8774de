// Package rule declares rules on Ray objects. A rule is one value, next to the check that uses it:
//
//	var rc047 = rule.New(rule.Rule{ID: "RC-047", Field: "workerGroupSpecs[i].idleTimeoutSeconds", Condition: "below 0", Peer: rule.BySpec,
//		Remedy: "must be at least 0",
//		CEL:    []rule.CEL{eachGroup("!has(g.idleTimeoutSeconds) || g.idleTimeoutSeconds >= 0")}})
//
// Everything else is derived from it: whether it refuses or warns, the expressions of the CRDs and the admission policies (package
// celrules), its line in docs/validation.md, and how an update passes that does not add the error. The package contains no rule and no kind
// of object.
package rule
