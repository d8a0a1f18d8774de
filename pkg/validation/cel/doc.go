// Package cel has the parts of the CEL expressions of rules, which the API server evaluates in CRDs and in ValidatingAdmissionPolicies.
//
// Errors that neither a CRD nor a policy can check, and the reasons:
//   - Rules that depend on a gate or another setting of the operator, on installed components, or on other objects. RC-525
//     about wait-gcs-ready and sidecars is one of them.
//   - RC-555: it needs the ports that the operator derives from those of the container. A copy of that logic in CEL would diverge.
//   - CJ-012, CJ-014, RJ-056, RJ-514, RS-502: there is no parser of cron, time zones, YAML or JSON.
//
// The CRDs have more limits than the policies. They do not see labels and annotations. Their cost limit does not allow searches of lists
// and maps in each of the possible groups. Inside a list they cannot see that managedBy or clusterSelector makes the list irrelevant.
package cel
