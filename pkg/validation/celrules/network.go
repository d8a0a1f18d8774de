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
	{ID: "RC-102", Part: ClusterSpec, Field: ".workerGroupSpecs",
		Valid:   "!has(self.networkPolicy) || " + allGroups(labelName),
		NoWorse: noMoreGroups(labelName),
		Says:    "becomes part of the name of a NetworkPolicy; use at most 63 lower-case letters, digits and dashes"},
	groupExceptions("RC-103", "ingressRules", "DenyAllEgress", letsIn),
	groupExceptions("RC-104", "egressRules", "DenyAllIngress", letsOut),
	{ID: "RC-105", Part: ClusterSpec, Field: ".networkPolicy.workerGroups",
		Valid: policiesNameGroups,
		// To ask the rule of the old object too would cost too much. Nothing can have become wrong if there is no new policy and
		// the groups have the names they had.
		Update: "(" + policiesNameGroups + ") || (" + present("oldSelf", "networkPolicy.workerGroups") +
			" && self.networkPolicy.workerGroups.all(p, oldSelf.networkPolicy.workerGroups.exists(o, o.groupName == p.groupName)) && has(self.workerGroupSpecs) == has(oldSelf.workerGroupSpecs)" +
			" && (!has(self.workerGroupSpecs) || self.workerGroupSpecs.map(g, g.groupName) == oldSelf.workerGroupSpecs.map(g, g.groupName)))",
		Says: "must be the groupName of an entry of workerGroupSpecs"},
}

const labelName = "g.groupName.matches('" + dns1123Label + "')"

var policiesNameGroups = "!(" + present("self", "networkPolicy.workerGroups") + ") || self.networkPolicy.workerGroups.all(p, p.groupName == '' || " +
	"(has(self.workerGroupSpecs) && self.workerGroupSpecs.exists(g, g.groupName == p.groupName)))"

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
