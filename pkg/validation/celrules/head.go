package celrules

var headRules = []Rule{
	{ID: "RC-033", Part: ClusterSpec, Node: "headGroupSpec.template", Field: ".spec.containers", Reason: Required,
		Valid: oneContainer,
		Says:  "give at least one container; the first runs Ray"},
	resourcesOnce("RC-034", "headGroupSpec"),
	labelsParam("RC-035", "headGroupSpec"),
	labelKeys("RC-036", "headGroupSpec"),
	{ID: "RC-525", Part: ClusterSpec, Field: ".headGroupSpec.template.spec.initContainers",
		Valid: "!has(self.historyServerOptions) || !" + inHeadPod("initContainers", "x.name == 'ray-history-collector'"),
		Says:  "the operator adds a container of this name with historyServerOptions; use another name"},
	waitForTLS("containers"),
	waitForTLS("initContainers"),
	{ID: "RC-540", Part: ClusterSpec, Node: "headGroupSpec.template.spec", Field: ".initContainers",
		Valid: "!has(self.initContainers) || !has(self.containers) || self.initContainers.all(i, !self.containers.exists(c, c.name == i.name))",
		Says:  "is the name of an ordinary container too; give each a name of its own"},
	{ID: "RC-558", Part: ClusterSpec, Node: "headGroupSpec.headService.metadata.name", Ratchet: ByServer,
		Valid: "self == '' || (self.size() <= 63 && self.matches('" + dns1035Label + "'))",
		Says:  "use at most 63 lower-case letters, digits and dashes, beginning with a letter and not ending with a dash"},
	restartPolicy("RC-560", "headGroupSpec.template.spec.restartPolicy"),
	{ID: "RC-557", Part: ClusterSpec, Node: "headGroupSpec", Field: ".serviceType",
		Valid: "!has(self.serviceType) || (" + present("self", "headService.spec.type") + " && self.headService.spec.type != '') || self.serviceType in ['', 'ClusterIP', 'NodePort', 'LoadBalancer', 'ExternalName']",
		Says:  `supported values: "ClusterIP", "NodePort", "LoadBalancer", "ExternalName"`},
	ofIngress(".path", "!has(self.ingressOptions.path) || self.ingressOptions.path.startsWith('/') || (has(self.ingressOptions.pathType) && self.ingressOptions.pathType == 'ImplementationSpecific')",
		"must begin with a slash unless pathType is ImplementationSpecific"),
	ofIngress(".host", "!has(self.ingressOptions.host) || (!self.ingressOptions.host.matches('"+ipv4+"') && !self.ingressOptions.host.contains(':'))",
		"must be a DNS name, not an address"),
	ofIngress(".host", "!has(self.ingressOptions.host) || self.ingressOptions.host == '' || self.ingressOptions.host.matches('"+ipv4+"') || self.ingressOptions.host.contains(':') || "+
		"(self.ingressOptions.host.size() <= 253 && self.ingressOptions.host.matches('"+ingressHost+"'))",
		"must be a DNS name in lower case, as in ray.example.com or *.example.com"),
}

const (
	ipv4        = `^((25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])(\\.|$)){4}$`
	ingressHost = `^(\\*\\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
)

// ofIngress is a rule on the options of the Ingress where there is one.
func ofIngress(field, valid, says string) Rule {
	return Rule{ID: "RC-562", Part: ClusterSpec, Node: "headGroupSpec", Field: ".ingressOptions" + field, Unchanged: []string{"ingressOptions", "enableIngress"},
		Valid: "!has(self.ingressOptions) || !has(self.enableIngress) || !self.enableIngress || " + valid,
		Says:  says}
}

func waitForTLS(list string) Rule {
	return Rule{ID: "RC-525", Part: ClusterSpec, Field: ".headGroupSpec.template.spec." + list,
		Valid: "!" + tlsOn + " || !" + inHeadPod(list, "x.name == 'wait-for-tls-ip-san'"),
		Says:  "the operator adds an init container of this name with tlsOptions.enabled; use another name"}
}
