package page

// noRule is an id of the catalogue that no problem has: its subject is no property of an object, or is reported under other ids.
type noRule struct {
	// ID is as stable as the id of a rule.
	ID string
	// Subject of the id, as a clause.
	What string
	// Why describes what handles it instead.
	Why string
}

const operatorStart = "the operator does not start, and says which setting to change"

var noRules = []noRule{
	{ID: "CJ-004", What: "jobTemplate breaks a rule of the schema", Why: "reported under the id of that rule, at its path in the template"},
	{ID: "CJ-015", What: "jobTemplate breaks a rule for a RayJobSpec", Why: "reported under the id of that rule, at its path in the template"},
	{ID: "CJ-511", What: "managedBy may change in jobTemplate", Why: "would loosen RJ-009 and RC-021 in a template; left as strict as the CRDs of KubeRay, which an operator swap may find installed"},
	{ID: "OC-001", What: "--enable-batch-scheduler and --batch-scheduler are both given", Why: operatorStart},
	{ID: "OC-002", What: "--batch-scheduler is not a known scheduler", Why: operatorStart},
	{ID: "OC-003", What: "gate KubernetesWAS together with a batch scheduler", Why: operatorStart},
	{ID: "OC-004", What: "a log encoder is neither json nor console", Why: operatorStart},
	{ID: "OC-005", What: "gate SidecarSubmitterRestart on Kubernetes before 1.35", Why: operatorStart},
	{ID: "OC-006", What: "--feature-gates with an unknown gate, a malformed pair or a locked value", Why: operatorStart},
	{ID: "OC-007", What: "--config that cannot be read as a Configuration", Why: operatorStart},
	{ID: "OC-010", What: "the version of Kubernetes cannot be read while gate SidecarSubmitterRestart is on", Why: operatorStart},
	{ID: "RC-004", What: "minReplicas or maxReplicas of a worker group absent", Why: "cannot be: the schema fills in 0 and 2147483647; RC-039 is for callers that skip the schema"},
	{ID: "RJ-055", What: "rayClusterSpec breaks a rule for a RayClusterSpec", Why: "reported under the id of that rule, at its path in the job"},
	{ID: "RJ-536", What: "a job leaves ValidationFailed when the rules pass", Why: "the controller sees to it"},
	{ID: "RS-014", What: "rayClusterConfig breaks a rule for a RayClusterSpec", Why: "reported under the id of that rule, at its path in the service"},
	{ID: "X-505", What: "errors of a stored object are reported in its status", Why: "the controllers set a condition, on every kind"},
}
