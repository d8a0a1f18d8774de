package celrules

import "strings"

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

func wholeCount(param, of, template string, eachGroup bool) PolicyRule {
	field := ".headGroupSpec.rayStartParams[" + param + "]"
	if eachGroup {
		field = ".rayStartParams[" + param + "]"
	}
	return PolicyRule{ID: "RC-515", Plurals: allKinds, Warning: true, EachGroup: eachGroup, Field: field,
		Valid: keepsCommand(template) + " || " + of + ".?rayStartParams[?'" + param + "'].orValue('').matches('^[0-9]*$') || " + of + ".rayStartParams['" + param + "'].matches('[$`\\'\"\\\\\\\\]')",
		Says:  "must be a whole number of at least 0; ray start refuses units and fractions"}
}

// Errors that neither a CRD nor a policy can hold, and why:
//   - Rules that depend on something: on a gate or other settings of the operator, on what is installed, on other objects. So does
//     RC-525 about wait-gcs-ready and sidecars.
//   - RC-555: it takes the ports that the operator makes of those of the container; a copy of that in CEL would go its own ways.
//   - CJ-012, CJ-014, RJ-056, RJ-514, RS-502: there is no parser of cron, time zones, YAML or JSON.
//
// The CRDs lack more than the policies: they do not see labels and annotations, they cannot afford to look through lists and maps in each
// of the groups that fit into an object, and nothing in a list sees from there that managedBy or clusterSelector leaves it without a meaning.
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
	wholeCount("num-cpus", "cluster.headGroupSpec", "cluster.headGroupSpec.template", false),
	wholeCount("num-gpus", "cluster.headGroupSpec", "cluster.headGroupSpec.template", false),
	wholeCount("num-cpus", "g", "g.template", true),
	wholeCount("num-gpus", "g", "g.template", true),
	namesApart("cluster.headGroupSpec.template", false),
	namesApart("g.template", true),
	{ID: "RC-525", Plurals: allKinds, EachGroup: true, Field: ".template.spec.initContainers",
		Valid: "!" + clusterHistory + " || g.template.?spec.?initContainers.orValue([]).all(c, c.name != 'ray-history-collector')",
		Says:  "the operator adds a container named ray-history-collector with historyServerOptions; use another name"},
	{ID: "RC-525", Plurals: allKinds, EachGroup: true, Field: ".template.spec",
		Valid: "!" + clusterTLS + " || (" + ofContainers("g.template", "c.name != 'wait-for-tls-ip-san'") + ")",
		Says:  "the operator adds an init container named wait-for-tls-ip-san with tlsOptions.enabled; use another name"},
	{ID: "RC-102", Plurals: allKinds, EachGroup: true, Field: ".groupName",
		Valid: "!has(cluster.networkPolicy) || (g.groupName.size() <= 63 && g.groupName.matches('" + dns1123Label + "'))",
		Says:  "becomes part of the name of a NetworkPolicy; use at most 63 lower-case letters, digits and dashes"},
	{ID: "RC-105", Plurals: allKinds, Field: ".networkPolicy.workerGroups",
		Valid: "cluster.?networkPolicy.?workerGroups.orValue([]).all(p, cluster.?workerGroupSpecs.orValue([]).exists(w, w.groupName == p.groupName))",
		Says:  "groupName must be that of an entry of workerGroupSpecs"},
	{ID: "RC-090", Plurals: allKinds, EachGroup: true, Field: ".template.spec.containers",
		Valid: "!" + clusterHistory + " || g.template.?spec.?containers.orValue([]).all(c, c.name != 'ray-history-collector')",
		Says:  "the operator adds a container named ray-history-collector with historyServerOptions; use another name"},
	nodeLabels("RC-036", "cluster.headGroupSpec", false, labelKey, labelKeysSay),
	nodeLabels("RC-045", "g", true, labelKey, labelKeysSay),
	nodeLabels("RC-037", "cluster.headGroupSpec", false, labelValueOf("cluster.headGroupSpec.labels[k]"), labelValuesSay),
	nodeLabels("RC-046", "g", true, labelValueOf("g.labels[k]"), labelValuesSay),
	namesGiven("cluster.headGroupSpec.template", false),
	namesGiven("g.template", true),
	labelValues("cluster.headGroupSpec.template", false),
	labelValues("g.template", true),
	containerNames("cluster.headGroupSpec.template", false),
	containerNames("g.template", true),
	portForms("cluster.headGroupSpec.template", false),
	portForms("g.template", true),
	templateMetadata("cluster.headGroupSpec.template", false),
	templateMetadata("g.template", true),
	portNames("cluster.headGroupSpec.template", false),
	portNames("g.template", true),
	resourcesInOrder("cluster.headGroupSpec.template", false),
	resourcesInOrder("g.template", true),
	{ID: "RC-579", Plurals: kindsWithChild, Warning: true, Field: "metadata.labels[volcano.sh/network-topology-mode]",
		Valid: "!" + keyGiven("labels", labelTopologyMode) + " || labels[" + labelTopologyMode + "] in ['hard', 'soft']",
		Says:  `supported values: "hard", "soft"`},
	{ID: "RC-579", Plurals: kindsWithChild, Warning: true, Field: "metadata.labels[volcano.sh/network-topology-highest-tier-allowed]",
		Valid: "!" + keyGiven("labels", labelTopologyMode) + " || !(" + labelTopologyTier + " in labels) || (labels[" + labelTopologyTier + "].matches('^[0-9]{1,10}$') && int(labels[" + labelTopologyTier + "]) >= 1 && int(labels[" + labelTopologyTier + "]) <= 2147483647)",
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
		Says:  "is ignored and 300 is used; give whole seconds above 0, as in 600"},
	{ID: "RC-569", Plurals: kindsWithChild, Warning: true, Field: "metadata.annotations[ray.io/ft-enabled]",
		Valid: "!(" + annotationFT + " in annotations) || annotations[" + annotationFT + "].lowerAscii() in ['true', 'false']",
		Says:  "means off; use true or false"},
	{ID: "RC-572", Plurals: allKinds, Warning: true, Field: ".authOptions.mode",
		Valid: "!has(cluster.authOptions) || has(cluster.authOptions.mode)",
		Says:  "unset means disabled; set token to demand a token, or disabled to be clear"},
	{ID: "RC-577", Plurals: kindsWithChild, Warning: true, Field: "metadata.labels[ray.io/gang-scheduling-enabled]",
		Valid: "!(" + labelGang + " in labels) || labels[" + labelGang + "] == 'true'",
		Says:  "turns gang scheduling on, whatever its value; remove the label to turn it off"},
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

// ofTemplate is a rule on the Pod template of the head or of each group.
func ofTemplate(id string, eachGroup bool, field, valid, says string) PolicyRule {
	if !eachGroup {
		field = ".headGroupSpec" + field
	}
	return PolicyRule{ID: id, Plurals: allKinds, EachGroup: eachGroup, Field: field, Valid: valid, Says: says}
}

func templateMetadata(template string, eachGroup bool) PolicyRule {
	keys := func(field, key string) string {
		return template + ".?metadata.?" + field + ".orValue({}).all(k, " + strings.ReplaceAll(labelKey, "k.matches", key+".matches") + ")"
	}
	return ofTemplate("RC-530", eachGroup, ".template.metadata", keys("labels", "k")+" && "+keys("annotations", "k.lowerAscii()"),
		"keys of labels and annotations must have at most 63 letters, digits, dashes, underscores and dots, with a letter or digit at both ends, after an optional DNS name and a slash")
}

const (
	labelKeysSay   = "keys must have at most 63 letters, digits, dashes, underscores and dots, with a letter or digit at both ends, after an optional DNS name and a slash"
	labelValuesSay = "values must have at most 63 letters, digits, dashes, underscores and dots, with a letter or digit at both ends"
)

// labelValueOf is true of the value of a label.
func labelValueOf(value string) string {
	return value + ".size() <= 63 && " + value + ".matches('^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$')"
}

// nodeLabels is a rule on each label of a group, k.
func nodeLabels(id, group string, eachGroup bool, fine, says string) PolicyRule {
	field := ".labels"
	if !eachGroup {
		field = ".headGroupSpec.labels"
	}
	return PolicyRule{ID: id, Plurals: allKinds, EachGroup: eachGroup, Field: field, Valid: group + ".?labels.orValue({}).all(k, " + fine + ")", Says: says}
}

// labelValues leaves out labels of which Pods get another value: that of the group, or the operator's.
func labelValues(template string, eachGroup bool) PolicyRule {
	group := strings.TrimSuffix(template, ".template")
	return ofTemplate("RC-530", eachGroup, ".template.metadata.labels",
		template+".?metadata.?labels.orValue({}).all(k, k in ['ray.io/cluster', 'ray.io/node-type', 'ray.io/group'] || k in "+group+".?labels.orValue({}) || ("+
			labelValueOf(template+".metadata.labels[k]")+"))", labelValuesSay)
}

// namesGiven asks for names where the schema takes empty ones.
func namesGiven(template string, eachGroup bool) PolicyRule {
	return ofTemplate("RC-016", eachGroup, ".template.spec", ofContainers(template, "c.name != '' && c.?env.orValue([]).all(e, e.name != '')"),
		"give each container and each variable a name")
}

func containerNames(template string, eachGroup bool) PolicyRule {
	return ofTemplate("RC-540", eachGroup, ".template.spec", ofContainers(template, "c.name == '' || (c.name.size() <= 63 && c.name.matches('"+dns1123Label+"'))"),
		"names of containers must have at most 63 lower-case letters, digits and dashes, with a letter or digit at both ends")
}

func namesApart(template string, eachGroup bool) PolicyRule {
	return ofTemplate("RC-540", eachGroup, ".template.spec.initContainers",
		template+".?spec.?initContainers.orValue([]).all(i, !"+template+".spec.?containers.orValue([]).exists(c, c.name == i.name))",
		"give each container and each init container a name of its own")
}

func portForms(template string, eachGroup bool) PolicyRule {
	return ofTemplate("RC-541", eachGroup, ".template.spec",
		ofContainers(template, "c.?ports.orValue([]).all(p, p.containerPort >= 1 && p.containerPort <= 65535 && p.?protocol.orValue('TCP') in ['', 'TCP', 'UDP', 'SCTP'] && "+
			"p.?name.orValue('').size() <= 15 && p.?name.orValue('').matches('^(([0-9]+-)*[0-9]*[a-z][a-z0-9]*(-[a-z0-9]+)*)?$'))"),
		"ports need a number from 1 to 65535, the protocol TCP, UDP or SCTP, and names of at most 15 lower-case letters, digits and dashes, with a letter among them")
}

// ofContainers is true if all containers and init containers of a template, c, meet the condition.
func ofContainers(template, condition string) string {
	return template + ".?spec.?containers.orValue([]).all(c, " + condition + ") && " + template + ".?spec.?initContainers.orValue([]).all(c, " + condition + ")"
}

func portNames(template string, eachGroup bool) PolicyRule {
	return ofTemplate("RC-541", eachGroup, ".template.spec",
		ofContainers(template, "c.?ports.orValue([]).all(p, p.?name.orValue('') == '' || c.ports.exists_one(q, q.?name.orValue('') == p.name))"),
		"give each port of a container a name of its own")
}

func resourcesInOrder(template string, eachGroup bool) PolicyRule {
	const resources = "c.?resources.?"
	notNegative := func(of string) string {
		return resources + of + ".orValue({}).all(k, !quantity(string(c.resources." + of + "[k])).isLessThan(quantity('0')))"
	}
	return ofTemplate("RC-565", eachGroup, ".template.spec",
		ofContainers(template, notNegative("limits")+" && "+notNegative("requests")+" && "+resources+"requests.orValue({}).all(k, "+resources+"limits[?k].optMap(l, "+
			"quantity(string(c.resources.requests[k])).compareTo(quantity(string(l))) <= 0).orValue(true))"),
		"resources must be at least 0, and requests must not exceed limits")
}
