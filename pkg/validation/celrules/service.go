package celrules

var serviceRules = []Rule{
	{ID: "RS-013", Part: RayService, Node: "spec.rayClusterConfig.authOptions", Field: ".enableK8sTokenAuth",
		Valid: "!has(self.enableK8sTokenAuth) || !self.enableK8sTokenAuth",
		Says:  tokenAlone},
	{ID: "RS-015", Part: RayService, Node: "spec.rayClusterConfig.headGroupSpec.headService", Field: ".metadata.name",
		Valid: "!(" + present("self", "metadata.name") + ") || self.metadata.name == ''",
		Says:  "must be empty, since each cluster of the service has a head Service of its own"},
	{ID: "RS-016", Part: RayService, Node: "spec.upgradeStrategy.type", Ratchet: ByServer,
		Valid: "self in ['NewCluster', 'NewClusterWithIncrementalUpgrade', 'None']",
		Says:  `supported values: "NewCluster", "NewClusterWithIncrementalUpgrade", "None"`},
	{ID: "RS-512", Part: RayService, Node: "spec", Field: ".rayClusterConfig.headGroupSpec.template.spec.containers", Reason: Required,
		Valid: "has(self.serveService) || !has(self.rayClusterConfig) || !has(" + headOfService + ".spec) || !has(" + headOfService + ".spec.containers) || size(" + headOfService + ".spec.containers) == 0 || !has(" + headOfService + ".spec.containers[0].ports)" +
			" || size(" + headOfService + ".spec.containers[0].ports) == 0 || " + headOfService + ".spec.containers[0].ports.exists(p, has(p.name) && (p.name == 'serve' || p.name.startsWith('serve-')))",
		Says: "ports are listed, but none is named serve; add it, with containerPort 8000 usually, or give serveService"},
	ofServeService("RS-514", ".spec.type", "self.serveService.spec.type in ['', 'ClusterIP', 'NodePort', 'LoadBalancer', 'ExternalName']",
		`supported values: "ClusterIP", "NodePort", "LoadBalancer", "ExternalName"`),
	ofServeService("RS-515", ".metadata.name", "self.serveService.metadata.name == '' || (self.serveService.metadata.name.size() <= 63 && self.serveService.metadata.name.matches('"+dns1035Label+"'))",
		"use at most 63 lower-case letters, digits and dashes, beginning with a letter and not ending with a dash"),
	{ID: "RS-530", Part: RayService, Node: "spec.rayClusterConfig.upgradeStrategy", Field: ".type", Reason: Forbidden,
		Valid: "!has(self.type)",
		Says:  "the cluster belongs to a RayService" + ownerDecides},
}

const headOfService = "self.rayClusterConfig.headGroupSpec.template"

const inSteps = "NewClusterWithIncrementalUpgrade"

// ofServeService is a rule on a field of the Service that users call, which an upgrade in steps does not make.
func ofServeService(id, field, valid, says string) Rule {
	return Rule{ID: id, Part: RayService, Node: "spec", Field: ".serveService" + field, Unchanged: []string{"serveService" + field, "upgradeStrategy.type"},
		Valid: "!(" + present("self", "serveService"+field) + ") || (" + present("self", "upgradeStrategy.type") + " && self.upgradeStrategy.type == '" + inSteps + "') || " + valid,
		Says:  says}
}
