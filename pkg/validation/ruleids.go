package validation

// Ids of rules that callers single out, such as those that need facts about other objects. The others stand next to their checks.
const (
	// RuleAutoscalerRestartPolicy warns of restart policies that version 1 of the autoscaler cannot live with.
	RuleAutoscalerRestartPolicy = "RC-118"
	// RuleUnevenReplicas is about groups whose Pods are no whole number of replicas.
	RuleUnevenReplicas = "RC-121"
	// RuleNetworkPolicyNames is about NetworkPolicies that belong to someone else.
	RuleNetworkPolicyNames = "RC-122"
	// RuleAutoscalerServiceAccount is about the ServiceAccount of a head with autoscaling.
	RuleAutoscalerServiceAccount = "RC-123"
	// RuleAuthSecret is about a Secret of the user's with the token.
	RuleAuthSecret = "RC-124"
	// RuleClaim warns of a volume claim that differs from the one that exists.
	RuleClaim = "RC-125"
	// RuleWorkersToDelete warns of workers to delete that are none.
	RuleWorkersToDelete = "RC-511"
)
