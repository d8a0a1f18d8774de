// Package cel holds the pieces of CEL from which rules are put together: what the API server asks by CRDs and by ValidatingAdmissionPolicies.
//
// Errors that neither a CRD nor a policy can hold, and why:
//   - Rules that depend on something: on a gate or other settings of the operator, on what is installed, on other objects. So does
//     RC-525 about wait-gcs-ready and sidecars.
//   - RC-555: it takes the ports that the operator makes of those of the container; a copy of that in CEL would go its own ways.
//   - CJ-012, CJ-014, RJ-056, RJ-514, RS-502: there is no parser of cron, time zones, YAML or JSON.
//
// The CRDs lack more than the policies: they do not see labels and annotations, they cannot afford to look through lists and maps in each
// of the groups that fit into an object, and nothing in a list sees from there that managedBy or clusterSelector leaves it without a meaning.
package cel
