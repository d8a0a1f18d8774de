package celrules

const (
	letsIn  = "mode DenyAllEgress lets all traffic in; remove the rules, or use DenyAll"
	letsOut = "mode DenyAllIngress lets all traffic out; remove the rules, or use DenyAll"
)

var networkRules = []Rule{
	exceptions("RC-098", "head", "ingressRules", "DenyAllEgress", letsIn),
	exceptions("RC-099", "head", "egressRules", "DenyAllIngress", letsOut),
	exceptions("RC-100", "worker", "ingressRules", "DenyAllEgress", letsIn),
	exceptions("RC-101", "worker", "egressRules", "DenyAllIngress", letsOut),
	groupExceptions("RC-103", "ingressRules", "DenyAllEgress", letsIn),
	groupExceptions("RC-104", "egressRules", "DenyAllIngress", letsOut),
}

func exceptions(id, of, list, mode, says string) Rule {
	return Rule{ID: id, Part: ClusterSpec, Node: "networkPolicy", Field: "." + of + "." + list, Reason: Forbidden,
		Valid: "!has(self.mode) || self.mode != '" + mode + "' || !(" + present("self", of+"."+list) + ") || size(self." + of + "." + list + ") == 0",
		Says:  says}
}

func groupExceptions(id, list, mode, says string) Rule {
	none := "!has(g." + list + ") || size(g." + list + ") == 0"
	return Rule{ID: id, Part: ClusterSpec, Node: "networkPolicy", Field: ".workerGroups", Reason: Forbidden,
		Valid:   "!has(self.mode) || self.mode != '" + mode + "' || !has(self.workerGroups) || self.workerGroups.all(g, " + none + ")",
		NoWorse: noMore("self.workerGroups", "g", none),
		Says:    says}
}
