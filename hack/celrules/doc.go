// Package celrules derives what the API server enforces from the declarations of rules: CEL and bounds for the schemas of the CRDs, and CEL
// for ValidatingAdmissionPolicies where a schema cannot evaluate or afford the rule. hack/internal/crdgen writes the former into
// operator/config/crd, hack/internal/policygen the latter into operator/config/policies.
//
// The checks in Go decide. CEL repeats them with the same texts, and at the same fields as far as it can name them. Tests on a real API
// server compare both.
//
// A rule never refuses an update for an unchanged old problem. The API server ensures that by itself if the node with the rule is
// unchanged. See [rule.Ratchet] for nodes that change for other reasons, above all the worker groups, which the Ray autoscaler scales.
package celrules
