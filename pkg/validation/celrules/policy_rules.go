package celrules

var (
	allKinds       = []string{"rayclusters", "rayjobs", "rayservices", "raycronjobs"}
	kindsWithChild = []string{"rayclusters", "rayjobs", "rayservices"}
)

const (
	annotationFT       = "'ray.io/ft-enabled'"
	annotationStorage  = "'ray.io/external-storage-namespace'"
	annotationCommand  = "'ray.io/overwrite-container-cmd'"
	annotationTimeout  = "'ray.io/initializing-timeout'"
	annotationDeadline = "'ray.io/gcs-ft-deletion-timeout'"
	labelTopologyMode  = "'volcano.sh/network-topology-mode'"
	labelTopologyTier  = "'volcano.sh/network-topology-highest-tier-allowed'"
	labelOrigin        = "'ray.io/originated-from-crd'"
	labelGang          = "'ray.io/gang-scheduling-enabled'"

	clusterTLS     = "cluster.?tlsOptions.?enabled.orValue(false)"
	clusterHistory = "has(cluster.historyServerOptions)"
	clusterScales  = "cluster.?enableInTreeAutoscaling.orValue(false)"
)

// keyGiven is true if a map has a text for the key.
func keyGiven(m, key string) string {
	return "(" + key + " in " + m + " && " + m + "[" + key + "] != '')"
}

// keepsCommand is true if the annotation at the object or at the template keeps the user's command, or the command itself
// starts Ray.
func keepsCommand(template string) string {
	return template + ".?spec.?containers[?0].?command.orValue([]).exists(w, w.contains('ray start')) || " +
		template + ".?spec.?containers[?0].?args.orValue([]).exists(w, w.contains('ray start')) || " +
		"(" + annotationCommand + " in annotations && annotations[" + annotationCommand + "].lowerAscii() == 'true') || " +
		template + ".?metadata.?annotations[?" + annotationCommand + "].orValue('').lowerAscii() == 'true'"
}

func wholeCounts(of, template string, eachGroup bool) PolicyRule {
	field := ".headGroupSpec.rayStartParams"
	if eachGroup {
		field = ".rayStartParams"
	}
	return PolicyRule{ID: "RC-515", Plurals: allKinds, EachGroup: eachGroup, Field: field,
		Valid: keepsCommand(template) + " || ['num-cpus', 'num-gpus'].all(k, " + of + ".?rayStartParams[?k].orValue('').matches('^[0-9]*$') || " + of + ".rayStartParams[k].contains('$'))",
		Says:  "num-cpus and num-gpus must be a whole number of at least 0; ray start refuses units and fractions"}
}

var policyRules = []PolicyRule{
	{ID: "RC-053", Plurals: kindsWithChild, Field: "metadata.annotations[ray.io/ft-enabled]",
		Valid: "!has(cluster.gcsFaultToleranceOptions) || !" + keyGiven("annotations", annotationFT),
		Says:  "gcsFaultToleranceOptions says so already; remove the annotation"},
	{ID: "RC-054", Plurals: allKinds, Field: ".headGroupSpec.template.spec.containers[0].env",
		Valid: "has(cluster.gcsFaultToleranceOptions) || (" + annotationFT + " in annotations && annotations[" + annotationFT + "].lowerAscii() == 'true') || " +
			"cluster.headGroupSpec.template.?spec.?containers[?0].?env.orValue([]).all(e, e.name != 'RAY_REDIS_ADDRESS')",
		Says: "RAY_REDIS_ADDRESS needs GCS fault tolerance; use gcsFaultToleranceOptions.redisAddress"},
	{ID: "RC-058", Plurals: kindsWithChild, Field: "metadata.annotations[ray.io/external-storage-namespace]",
		Valid: "!has(cluster.gcsFaultToleranceOptions) || !" + keyGiven("annotations", annotationStorage),
		Says:  "use gcsFaultToleranceOptions.externalStorageNamespace"},
	{ID: "RC-090", Plurals: allKinds, EachGroup: true, Field: ".template.spec.containers",
		Valid: "!" + clusterHistory + " || g.template.?spec.?containers.orValue([]).all(c, c.name != 'ray-history-collector')",
		Says:  "the operator adds a container named ray-history-collector with historyServerOptions; use another name"},
	{ID: "RC-110", Plurals: allKinds, EachGroup: true, Field: ".template.spec.containers[0].env",
		Valid: "!" + clusterTLS + " || g.template.?spec.?containers[?0].?env.orValue([]).all(e, !(e.name in " + tlsNames + "))",
		Says:  tlsVariables},
	{ID: "RC-111", Plurals: allKinds, EachGroup: true, Field: ".template.spec.containers[0].volumeMounts",
		Valid: "!" + clusterTLS + " || g.template.?spec.?containers[?0].?volumeMounts.orValue([]).all(m, m.name != 'ray-tls')",
		Says:  tlsMountName},
	{ID: "RC-112", Plurals: allKinds, EachGroup: true, Field: ".template.spec.containers[0].volumeMounts",
		Valid: "!" + clusterTLS + " || g.template.?spec.?containers[?0].?volumeMounts.orValue([]).all(m, m.mountPath != '/etc/ray/tls')",
		Says:  tlsMountPath},
	{ID: "RC-573", Plurals: allKinds, EachGroup: true, Field: ".template.spec.volumes",
		Valid: "!" + clusterTLS + " || g.template.?spec.?volumes.orValue([]).all(v, v.name != 'ray-tls')",
		Says:  "the operator adds the volume ray-tls; use another name"},
	{ID: "RC-117", Plurals: []string{"rayclusters"}, Field: "spec.upgradeStrategy.type",
		Valid: "!has(cluster.upgradeStrategy) || !has(cluster.upgradeStrategy.type) || !(" + labelOrigin + " in labels) || !(labels[" + labelOrigin + "] in ['RayJob', 'RayService'])",
		Says:  "the cluster belongs to a RayJob or a RayService, which decides about upgrades; remove it"},
	wholeCounts("cluster.headGroupSpec", "cluster.headGroupSpec.template", false),
	wholeCounts("g", "g.template", true),
	{ID: "RC-540", Plurals: allKinds, Field: ".headGroupSpec.template.spec",
		Valid: containersNamed("cluster.headGroupSpec.template"),
		Says:  "give each container and each init container a name of its own, of at most 63 lower-case letters, digits and dashes, with a letter or digit at both ends"},
	{ID: "RC-540", Plurals: allKinds, EachGroup: true, Field: ".template.spec",
		Valid: containersNamed("g.template"),
		Says:  "give each container and each init container a name of its own, of at most 63 lower-case letters, digits and dashes, with a letter or digit at both ends"},
	{ID: "RC-579", Plurals: kindsWithChild, Field: "metadata.labels[volcano.sh/network-topology-mode]",
		Valid: "!(" + labelTopologyMode + " in labels) || labels[" + labelTopologyMode + "] in ['hard', 'soft']",
		Says:  `supported values: "hard", "soft"`},
	{ID: "RC-579", Plurals: kindsWithChild, Field: "metadata.labels[volcano.sh/network-topology-highest-tier-allowed]",
		Valid: "!(" + labelTopologyTier + " in labels) || (labels[" + labelTopologyTier + "].matches('^[0-9]{1,10}$') && int(labels[" + labelTopologyTier + "]) >= 1 && int(labels[" + labelTopologyTier + "]) <= 2147483647)",
		Says:  "must be a whole number of at least 1"},
	{ID: "RS-012", Plurals: []string{"rayservices"}, Field: "metadata.annotations[ray.io/initializing-timeout]",
		Valid: "!" + keyGiven("annotations", annotationTimeout) + " || " +
			"(annotations[" + annotationTimeout + "].matches('^[+]?[0-9]{1,9}$') && annotations[" + annotationTimeout + "].matches('[1-9]')) || " +
			"(annotations[" + annotationTimeout + "].matches('^[+]?([0-9]+([.][0-9]*)?(ns|us|ms|s|m|h))+$') && duration(annotations[" + annotationTimeout + "]) > duration('0s'))",
		Says: "must be a duration above 0, as in 5m, or seconds, as in 300"},

	{ID: "RC-504", Plurals: allKinds, Warning: true, EachGroup: true, Field: ".groupName",
		Valid: "g.groupName == g.groupName.lowerAscii()",
		Says:  "is lower-cased in Pod names and cannot be used with networkPolicy; prefer lower case"},
	{ID: "RC-535", Plurals: allKinds, Warning: true, Field: ".autoscalerOptions",
		Valid: "!has(cluster.autoscalerOptions) || " + clusterScales,
		Says:  "has no effect while enableInTreeAutoscaling is not true"},
	{ID: "RC-536", Plurals: allKinds, Warning: true, Field: ".workerGroupSpecs",
		Valid: "!" + clusterScales + " || size(cluster.?workerGroupSpecs.orValue([])) > 0",
		Says:  "the autoscaler has nothing to scale; add a group"},
	{ID: "RC-538", Plurals: allKinds, Warning: true, Field: ".gcsFaultToleranceOptions.redisAddress",
		Valid: "!has(cluster.gcsFaultToleranceOptions) || cluster.gcsFaultToleranceOptions.?backend.orValue('') == 'rocksdb' || cluster.gcsFaultToleranceOptions.?redisAddress.orValue('') != ''",
		Says:  "give host:port of Redis, or the head does not start"},
	{ID: "RC-561", Plurals: allKinds, Warning: true, Field: ".headGroupSpec.ingressOptions",
		Valid: "!has(cluster.headGroupSpec.ingressOptions) || cluster.headGroupSpec.?enableIngress.orValue(false)",
		Says:  "has no effect while enableIngress is not true"},
	{ID: "RC-568", Plurals: kindsWithChild, Warning: true, Field: "metadata.annotations[ray.io/gcs-ft-deletion-timeout]",
		Valid: "!(" + annotationDeadline + " in annotations) || annotations[" + annotationDeadline + "].matches('^[+]?0*[1-9][0-9]{0,8}$')",
		Says:  "must be whole seconds above 0"},
	{ID: "RC-569", Plurals: kindsWithChild, Warning: true, Field: "metadata.annotations[ray.io/ft-enabled]",
		Valid: "!(" + annotationFT + " in annotations) || annotations[" + annotationFT + "].lowerAscii() in ['true', 'false']",
		Says:  "means false; use true or false"},
	{ID: "RC-572", Plurals: allKinds, Warning: true, Field: ".authOptions.mode",
		Valid: "!has(cluster.authOptions) || has(cluster.authOptions.mode)",
		Says:  "unset means disabled; set token to demand a token, or disabled to be clear"},
	{ID: "RC-577", Plurals: kindsWithChild, Warning: true, Field: "metadata.labels[ray.io/gang-scheduling-enabled]",
		Valid: "!(" + labelGang + " in labels) || labels[" + labelGang + "] == 'true'",
		Says:  "turns gang scheduling on whatever its value; remove the label to turn it off"},
	{ID: "RC-582", Plurals: allKinds, Warning: true, EachGroup: true, Field: ".idleTimeoutSeconds",
		Valid: "!has(g.idleTimeoutSeconds) || " + clusterScales,
		Says:  "has no effect while enableInTreeAutoscaling is not true"},
	{ID: "RC-583", Plurals: allKinds, Warning: true, EachGroup: true, Field: ".priority",
		Valid: "!has(g.priority) || g.priority == 0 || " + clusterScales,
		Says:  "has no effect while enableInTreeAutoscaling is not true"},
	{ID: "RJ-503", Plurals: []string{"rayjobs"}, Warning: true, Field: "spec.entrypoint",
		Valid: "spec.?submissionMode.orValue('') != 'InteractiveMode' || spec.?entrypoint.orValue('') == ''",
		Says:  "is ignored in InteractiveMode, where the user submits the job; remove it"},
	{ID: "RJ-505", Plurals: []string{"rayjobs"}, Warning: true, Field: "spec.rayClusterSpec",
		Valid: "!has(spec.rayClusterSpec) || size(spec.?clusterSelector.orValue({})) == 0",
		Says:  "is ignored, since clusterSelector names a cluster; keep one of the two"},
}

// containersNamed is true if the containers of a template have names of the right form, and none is used twice.
func containersNamed(template string) string {
	containers, inits := template+".?spec.?containers.orValue([])", template+".?spec.?initContainers.orValue([])"
	form := "x.name.size() <= 63 && x.name.matches('" + dns1123Label + "')"
	return containers + ".all(x, " + form + ") && " + inits + ".all(x, " + form + " && !" + containers + ".exists(y, y.name == x.name))"
}
