package celrules

var headRules = []Rule{
	{ID: "RC-033", Part: ClusterSpec, Node: "headGroupSpec.template", Field: ".spec.containers", Reason: Required,
		Valid: oneContainer,
		Says:  "give at least one container; the first runs Ray"},
	resourcesOnce("RC-034", "headGroupSpec"),
	{ID: "RC-035", Part: ClusterSpec, Node: "headGroupSpec.rayStartParams",
		Valid: "!('labels' in self)",
		Says:  "move it to the field labels of the group"},
	{ID: "RC-525", Part: ClusterSpec, Field: ".headGroupSpec.template.spec.initContainers",
		Valid: "!has(self.historyServerOptions) || !" + inHeadPod("initContainers", "x.name == 'ray-history-collector'"),
		Says:  "the operator adds a container of this name with historyServerOptions; use another name"},
	waitForTLS("containers"),
	waitForTLS("initContainers"),
	headContainers("containers"),
	headContainers("initContainers"),
	{ID: "RC-541", Part: ClusterSpec, Node: "headGroupSpec.template", Field: ".spec.containers", Partly: true,
		Valid: "!(" + oneContainer + ") || !has(self.spec.containers[0].ports) || self.spec.containers[0].ports.all(p, p.containerPort >= 1 && p.containerPort <= 65535)",
		Says:  "must be from 1 to 65535"},
	{ID: "RC-558", Part: ClusterSpec, Node: "headGroupSpec.headService.metadata.name", Ratchet: ByServer,
		Valid: "self == '' || (self.size() <= 63 && self.matches('" + dns1035Label + "'))",
		Says:  "use at most 63 lower-case letters, digits and dashes, beginning with a letter and not ending with a dash"},
	restartPolicy("RC-560", "headGroupSpec.template.spec.restartPolicy"),
	{ID: "RC-557", Part: ClusterSpec, Node: "headGroupSpec", Field: ".serviceType",
		Valid: "!has(self.serviceType) || (" + present("self", "headService.spec.type") + " && self.headService.spec.type != '') || self.serviceType in ['', 'ClusterIP', 'NodePort', 'LoadBalancer', 'ExternalName']",
		Says:  `supported values: "ClusterIP", "NodePort", "LoadBalancer", "ExternalName"`},
}

func waitForTLS(list string) Rule {
	return Rule{ID: "RC-525", Part: ClusterSpec, Field: ".headGroupSpec.template.spec." + list,
		Valid: "!" + tlsOn + " || !" + inHeadPod(list, "x.name == 'wait-for-tls-ip-san'"),
		Says:  "the operator adds an init container of this name with tlsOptions.enabled; use another name"}
}

func headContainers(list string) Rule {
	return Rule{ID: "RC-540", Part: ClusterSpec, Node: "headGroupSpec.template", Field: ".spec." + list, Partly: true,
		Valid: "!has(self.spec) || !has(self.spec." + list + ") || self.spec." + list + ".all(c, " + containerNamed("c") + ")",
		Says:  namesOfContainers}
}
