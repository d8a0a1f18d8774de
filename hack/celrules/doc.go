// Package celrules derives from the declarations of rules what the API server enforces by itself: CEL and bounds for the schemas of the CRDs,
// and CEL for ValidatingAdmissionPolicies where a schema cannot see or afford what a rule reads. hack/internal/crdgen writes the former into
// operator/config/crd, hack/internal/policygen the latter into operator/config/policies.
//
// The checks in Go decide; CEL repeats them, in the same words and at the same fields as far as it can name them. Tests on a real API server hold
// the two together.
//
// A rule never refuses an update for what was wrong before in the same way. The API server sees to that by itself where
// the node that carries the rule is unchanged; see [rule.Ratchet] for the nodes that change for other reasons, above all the
// worker groups, which the Ray autoscaler scales.
package celrules
