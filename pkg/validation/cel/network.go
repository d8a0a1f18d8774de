package cel

import "github.com/raygate/raygate/pkg/validation/rule"

// Messages about exceptions.
const (
	LetsIn  = "mode DenyAllEgress lets all traffic in; remove the rules, or use DenyAll"
	LetsOut = "mode DenyAllIngress lets all traffic out; remove the rules, or use DenyAll"
)

// Exceptions refuses exceptions from a denial that the mode does not make, for the head or for workers.
func Exceptions(of, list, mode, says string) rule.CEL {
	return rule.CEL{Node: "networkPolicy", Field: "." + of + "." + list, Reason: rule.Forbidden,
		Valid: "!has(self.mode) || self.mode != '" + mode + "' || !(" + Present("self", of+"."+list) + ") || size(self." + of + "." + list + ") == 0",
		Says:  says}
}

// GroupExceptions is Exceptions for the groups of the policy.
func GroupExceptions(list, mode, says string) rule.CEL {
	none := "!has(g." + list + ") || size(g." + list + ") == 0"
	return rule.CEL{Node: "networkPolicy", Field: ".workerGroups", Reason: rule.Forbidden,
		Valid:   "!has(self.mode) || self.mode != '" + mode + "' || !has(self.workerGroups) || self.workerGroups.all(g, " + none + ")",
		NoWorse: noMore("self.workerGroups", "g", none),
		Says:    says}
}
