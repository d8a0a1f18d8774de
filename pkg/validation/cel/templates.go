package cel

import (
	"strings"

	"github.com/raygate/raygate/pkg/validation/rule"
)

// Keys of labels and annotations, in quotes, and conditions on the cluster in the terms of policies.
const (
	AnnotationFT       = "'ray.io/ft-enabled'"
	AnnotationStorage  = "'ray.io/external-storage-namespace'"
	annotationCommand  = "'ray.io/overwrite-container-cmd'"
	AnnotationTimeout  = "'ray.io/initializing-timeout'"
	AnnotationDeadline = "'ray.io/gcs-ft-deletion-timeout'"
	LabelTopologyMode  = "'volcano.sh/network-topology-mode'"
	LabelTopologyTier  = "'volcano.sh/network-topology-highest-tier-allowed'"
	LabelOrigin        = "'ray.io/originated-from-crd'"
	LabelGang          = "'ray.io/gang-scheduling-enabled'"

	ClusterTLS     = "cluster.?tlsOptions.?enabled.orValue(false)"
	ClusterHistory = "has(cluster.historyServerOptions)"
	ClusterScales  = "cluster.?enableInTreeAutoscaling.orValue(false)"
)

// KeyGiven is true if a map has a text for the key.
func KeyGiven(m, key string) string {
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

// WholeNumbers are rules on start parameters of the head and of each group whose values must be digits.
func WholeNumbers(params ...string) []rule.Policy {
	var rules []rule.Policy
	of := func(group, field string, eachGroup bool) {
		for _, param := range params {
			value := group + ".?rayStartParams[?'" + param + "'].orValue('')"
			rules = append(rules, rule.Policy{EachGroup: eachGroup, Field: field + "[" + param + "]",
				Valid: keepsCommand(group+".template") + " || " + value + ".matches('^[0-9]*$') || " + group + ".rayStartParams['" + param + "'].matches('[$`\\'\"\\\\\\\\]')"})
		}
	}
	of("cluster.headGroupSpec", ".headGroupSpec.rayStartParams", false)
	of("g", ".rayStartParams", true)
	return rules
}

// OfTemplates is a rule on the Pod template of the head and of each group. valid is true of a valid $group.template.
type OfTemplates struct{ field, valid, says string }

// Templates are policies for the rules.
func Templates(rules ...OfTemplates) []rule.Policy {
	var both []rule.Policy
	for _, r := range rules {
		both = append(both,
			rule.Policy{Field: ".headGroupSpec" + r.field, Valid: strings.ReplaceAll(r.valid, "$group", "cluster.headGroupSpec"), Says: r.says},
			rule.Policy{EachGroup: true, Field: r.field, Valid: strings.ReplaceAll(r.valid, "$group", "g"), Says: r.says})
	}
	return both
}

// Messages about labels.
const (
	LabelKeysSay   = "keys must have at most 63 letters, digits, dashes, underscores and dots, with a letter or digit at both ends, after an optional DNS name and a slash"
	LabelValuesSay = "values must have at most 63 letters, digits, dashes, underscores and dots, with a letter or digit at both ends"
)

// LabelValueOf is true of the value of a label.
func LabelValueOf(value string) string {
	return value + ".size() <= 63 && " + value + ".matches('^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$')"
}

// NodeLabels is a rule on each label of a group, k.
func NodeLabels(group string, eachGroup bool, fine, says string) rule.Policy {
	field := ".labels"
	if !eachGroup {
		field = ".headGroupSpec.labels"
	}
	return rule.Policy{EachGroup: eachGroup, Field: field, Valid: group + ".?labels.orValue({}).all(k, " + fine + ")", Says: says}
}

// Rules on Pod templates.
var (
	// TemplateMetadata requires valid keys of labels and annotations.
	TemplateMetadata = OfTemplates{".template.metadata", keysOf("labels", "k") + " && " + keysOf("annotations", "k.lowerAscii()"),
		"keys of labels and annotations must have at most 63 letters, digits, dashes, underscores and dots, with a letter or digit at both ends, after an optional DNS name and a slash"}
	// LabelValues leaves out labels that Pods get with another value: that of the group, or the operator's.
	LabelValues = OfTemplates{".template.metadata.labels", "$group.template.?metadata.?labels.orValue({}).all(k, " +
		"k in ['ray.io/cluster', 'ray.io/node-type', 'ray.io/group'] || k in $group.?labels.orValue({}) || (" + LabelValueOf("$group.template.metadata.labels[k]") + "))",
		LabelValuesSay}
	// NamesGiven requires names, because the schema accepts empty ones.
	NamesGiven = ofContainers("c.name != '' && c.?env.orValue([]).all(e, e.name != '')", "give each container and each variable a name")
	// ContainerNames requires valid names of containers.
	ContainerNames = ofContainers("c.name == '' || (c.name.size() <= 63 && c.name.matches('"+DNS1123Label+"'))",
		"names of containers must have at most 63 lower-case letters, digits and dashes, with a letter or digit at both ends")
	// NamesApart requires different names for containers and init containers.
	NamesApart = OfTemplates{".template.spec.initContainers",
		"$group.template.?spec.?initContainers.orValue([]).all(i, !$group.template.spec.?containers.orValue([]).exists(c, c.name == i.name))",
		"give each container and each init container a name of its own"}
	// PortForms requires valid ports of containers.
	PortForms = ofContainers("c.?ports.orValue([]).all(p, p.containerPort >= 1 && p.containerPort <= 65535 && p.?protocol.orValue('TCP') in ['', 'TCP', 'UDP', 'SCTP'] && "+
		"p.?name.orValue('').size() <= 15 && p.?name.orValue('').matches('^(([0-9]+-)*[0-9]*[a-z][a-z0-9]*(-[a-z0-9]+)*)?$'))",
		"ports need a number from 1 to 65535, the protocol TCP, UDP or SCTP, and names of at most 15 lower-case letters, digits and dashes, with a letter among them")
	// PortNames requires different names for the ports of a container.
	PortNames = ofContainers("c.?ports.orValue([]).all(p, p.?name.orValue('') == '' || c.ports.exists_one(q, q.?name.orValue('') == p.name))",
		"give each port of a container a name of its own")
	// ResourcesInOrder requires valid resources of containers.
	ResourcesInOrder = ofContainers(notNegative("limits")+" && "+notNegative("requests")+" && c.?resources.?requests.orValue({}).all(k, c.?resources.?limits[?k].optMap(l, "+
		"quantity(string(c.resources.requests[k])).compareTo(quantity(string(l))) <= 0).orValue(true))",
		"resources must be at least 0, and requests must not exceed limits")
)

func keysOf(field, key string) string {
	return "$group.template.?metadata.?" + field + ".orValue({}).all(k, " + strings.ReplaceAll(LabelKey, "k.matches", key+".matches") + ")"
}

func notNegative(of string) string {
	return "c.?resources.?" + of + ".orValue({}).all(k, !quantity(string(c.resources." + of + "[k])).isLessThan(quantity('0')))"
}

func ofContainers(condition, says string) OfTemplates {
	return OfTemplates{".template.spec", OfContainers("$group.template", condition), says}
}

// OfContainers is true if all containers and init containers of a template, c, meet the condition.
func OfContainers(template, condition string) string {
	return template + ".?spec.?containers.orValue([]).all(c, " + condition + ") && " + template + ".?spec.?initContainers.orValue([]).all(c, " + condition + ")"
}
