// Package admission tests what the API server refuses by itself: the schemas and CEL rules of the CRDs and the
// ValidatingAdmissionPolicies, on a real API server. Its verdicts are held to those of pkg/validation.
package admission
