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
	{ID: "RS-514", Part: RayService, Node: "spec.serveService.spec.type", Ratchet: ByServer,
		Valid: "self in ['', 'ClusterIP', 'NodePort', 'LoadBalancer', 'ExternalName']",
		Says:  `supported values: "ClusterIP", "NodePort", "LoadBalancer", "ExternalName"`},
	{ID: "RS-515", Part: RayService, Node: "spec.serveService.metadata.name", Ratchet: ByServer,
		Valid: "self == '' || (self.size() <= 63 && self.matches('" + dns1035Label + "'))",
		Says:  "use at most 63 lower-case letters, digits and dashes, beginning with a letter and not ending with a dash"},
	{ID: "RS-515", Part: RayService, Field: ".spec.serveService.metadata.name",
		Valid: "!(" + present("self", "spec.serveService.metadata.name") + ") || self.spec.serveService.metadata.name != self.metadata.name + '-head-svc'",
		Says:  "is the name of the head Service; use another"},
	{ID: "RS-530", Part: RayService, Node: "spec.rayClusterConfig.upgradeStrategy", Field: ".type", Reason: Forbidden,
		Valid: "!has(self.type)",
		Says:  "the cluster belongs to a RayService" + ownerDecides},
	{ID: "RS-535", Part: RayService, Node: "spec.rayClusterConfig.headGroupSpec.template", Field: ".spec.containers", Reason: Required,
		Valid: hasDashboard,
		Says:  dashboardPort},
}

const headOfService = "self.rayClusterConfig.headGroupSpec.template"
