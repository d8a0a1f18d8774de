package celrules

// Names cannot change, so a stored object with a bad one stays writable.
func nameLength(id string, part Part, limit, why string) Rule {
	return Rule{ID: id, Part: part, Field: ".metadata.name", OwnWords: true,
		Valid:   "self.metadata.name.size() <= " + limit,
		Says:    "has too many characters, at most " + limit + " are possible, " + why,
		Ratchet: CreateOnly}
}

func nameForm(id string, part Part) Rule {
	return Rule{ID: id, Part: part, Field: ".metadata.name",
		Valid:   "self.metadata.name.matches('" + dns1035Label + "')",
		Says:    "use lower-case letters, digits and dashes, beginning with a letter and not ending with a dash, as in my-cluster-1",
		Ratchet: CreateOnly}
}

// specIsThere also keeps rules on fields of the spec from being passed by by taking away all of it.
func specIsThere(id string, part Part, says string) Rule {
	return Rule{ID: id, Part: part, Field: ".spec", Reason: Required, Valid: "has(self.spec)", Says: says}
}

var objectRules = []Rule{
	nameLength("RC-030", RayCluster, "53", "so that the names of its Services stay within 63"),
	nameForm("RC-031", RayCluster),
	{ID: "RC-120", Part: RayCluster, Node: "status.conditions",
		Valid: "!(self.exists(c, c.type == 'RayClusterSuspending' && c.status == 'True') && self.exists(c, c.type == 'RayClusterSuspended' && c.status == 'True'))",
		Says:  "RayClusterSuspending and RayClusterSuspended cannot both be True; the operator sets them, one after the other"},
	specIsThere("RC-581", RayCluster, "describe the cluster: at least headGroupSpec with a Pod template"),
	{ID: "RJ-060", Part: RayJob, Field: ".status.jobDeploymentStatus", OwnWords: true,
		Valid: "!(" + present("self", "status.jobDeploymentStatus") + ") || self.status.jobDeploymentStatus != 'Waiting' || (" + present("self", "spec.submissionMode") + " && self.spec.submissionMode == 'InteractiveMode')",
		Says:  "Waiting is for InteractiveMode only; the operator sets it"},
	specIsThere("RJ-581", RayJob, jobDescription),
	specIsThere("RS-581", RayService, "describe the service: at least rayClusterConfig and serveConfigV2"),
	{ID: "CJ-011", Part: RayCronJob, Node: "spec.schedule", Ratchet: ByServer,
		Valid: "!self.contains('TZ')",
		Says:  "must not name a time zone; use timeZone"},
	specIsThere("CJ-581", RayCronJob, "give a schedule, and in jobTemplate the spec of its RayJobs"),
	nameLength("RJ-020", RayJob, "47", "so that the name of its RayCluster stays within 53"),
	nameForm("RJ-021", RayJob),
	nameLength("RS-010", RayService, "47", "so that the names of its RayClusters stay within 53"),
	nameForm("RS-011", RayService),
	nameLength("CJ-010", RayCronJob, "36", "so that the names of its RayJobs stay within 47"),
	nameForm("CJ-502", RayCronJob),
}
