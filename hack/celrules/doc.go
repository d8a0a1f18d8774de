// Package celrules derives what the API server enforces from the declarations of rules: CEL and bounds for the schemas of the CRDs, and CEL
// for ValidatingAdmissionPolicies. The CRDs validate new objects. A policy that belongs to each CRD applies the same rules to updates, because
// CEL of a CRD costs the API server time in each write of the status, too. The other policies are optional; they have the rules that a schema
// cannot evaluate or afford. hack/internal/crdgen writes the CRDs, hack/internal/policygen the policies.
//
// The checks in Go decide. CEL repeats them with the same texts, and at the same fields as far as it can name them. Tests on a real API
// server compare both.
//
// A rule never refuses an update for an unchanged old problem; see [rule.Ratchet].
package celrules
