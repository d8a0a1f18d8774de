package celrules

import "strings"

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
	// The gate RayServiceIncrementalUpgrade, on by default, turns the next seven into warnings where it is off. No CRD can know.
	{ID: "RS-018", Part: RayService, Node: "spec", Field: ".rayClusterConfig.enableInTreeAutoscaling", Reason: Required,
		Valid: "!(" + present("self", "upgradeStrategy.type") + ") || self.upgradeStrategy.type != '" + inSteps + "' || !has(self.rayClusterConfig) || " +
			"(has(self.rayClusterConfig.enableInTreeAutoscaling) && self.rayClusterConfig.enableInTreeAutoscaling)",
		Says: "must be true with NewClusterWithIncrementalUpgrade, which lets the new cluster grow step by step"},
	{ID: "RS-019", Part: RayService, Node: "spec.upgradeStrategy", Field: ".clusterUpgradeOptions", Reason: Required,
		Valid: "!has(self.type) || self.type != '" + inSteps + "' || has(self.clusterUpgradeOptions)",
		Says:  "is needed with NewClusterWithIncrementalUpgrade: stepSizePercent, intervalSeconds and gatewayClassName"},
	upgradeOption("RS-020", "maxSurgePercent", "!has(o.maxSurgePercent) || "+percent("o.maxSurgePercent"), "must be from 0 to 100"),
	upgradeOption("RS-021", "stepSizePercent", "!has(o.stepSizePercent) || "+percent("o.stepSizePercent"), "must be from 0 to 100"),
	stepWithinSurge("RS-022"),
	upgradeOption("RS-023", "intervalSeconds", "!has(o.intervalSeconds) || o.intervalSeconds > 0", "must be above 0"),
	namedGateway("RS-024"),
	{ID: "RS-027", Part: RayService, Field: ".spec.upgradeStrategy.clusterUpgradeOptions", Reason: Required, Transition: true,
		Valid: "!(" + present("oldSelf", "spec.upgradeStrategy.clusterUpgradeOptions") + ") || (" + present("self", "spec.upgradeStrategy.clusterUpgradeOptions") + ")" +
			" || !has(oldSelf.spec.upgradeStrategy.type) || oldSelf.spec.upgradeStrategy.type != '" + inSteps + "' || !(" + present("oldSelf", "status.conditions") + ")" +
			" || !oldSelf.status.conditions.exists(c, c.type == 'UpgradeInProgress' && c.status == 'True')",
		Says: "cannot be removed while an upgrade in steps runs; wait for its end"},
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

const inSteps = "NewClusterWithIncrementalUpgrade"

func percent(of string) string { return "(" + of + " >= 0 && " + of + " <= 100)" }

// upgradeOption is a rule on one of the clusterUpgradeOptions, o, of an upgrade in steps.
func upgradeOption(id, option, valid, says string) Rule {
	return Rule{ID: id, Part: RayService, Node: "spec.upgradeStrategy", Field: ".clusterUpgradeOptions." + option,
		Valid: "!has(self.type) || self.type != '" + inSteps + "' || !has(self.clusterUpgradeOptions) || " + strings.ReplaceAll(valid, "o.", "self.clusterUpgradeOptions."),
		Says:  says}
}

func stepWithinSurge(id string) Rule {
	r := upgradeOption(id, "stepSizePercent", "!has(o.stepSizePercent) || !"+percent("o.stepSizePercent")+" || o.stepSizePercent <= (has(o.maxSurgePercent) ? o.maxSurgePercent : 100)",
		"must not exceed maxSurgePercent")
	r.OwnWords = true
	return r
}

func namedGateway(id string) Rule {
	r := upgradeOption(id, "gatewayClassName", "(has(o.gatewayClassName) && o.gatewayClassName != '')", "name the GatewayClass that splits the traffic")
	r.Reason = Required
	return r
}
