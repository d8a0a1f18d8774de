package cluster

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/pkg/validation/cel"
	"github.com/raygate/raygate/pkg/validation/internal/pods"
	"github.com/raygate/raygate/pkg/validation/rule"
)

var rc033 = rule.New(rule.Rule{ID: "RC-033", Field: "headGroupSpec.template.spec.containers", Condition: "empty", Peer: rule.BySpec, Remedy: "give at least one container; the first runs Ray",
	CEL: []rule.CEL{{Node: "headGroupSpec.template", Field: ".spec.containers", Reason: rule.Required, Valid: cel.OneContainer}}})
var rc038 = rule.New(rule.Rule{ID: "RC-038", Field: "workerGroupSpecs[i].template.spec.containers", Condition: "empty", Peer: rule.BySpec, Remedy: "give at least one container; the first runs Ray",
	CEL: []rule.CEL{cel.EachGroup(rule.Required, "g.template.?spec.?containers[?0].hasValue()", "template.spec.containers: give at least one container; the first runs Ray")}})

// checkPodTemplate applies the rules for any Pod template, and those for the changes that the operator makes to the template of a group.
func checkPodTemplate(out *rule.Report, c *Spec, g nodeGroup, path *field.Path) {
	spec, t := path.Child("spec"), g.template
	pods.Template{
		PodTemplateSpec: t,
		Volumes:         addedVolumes,
		Overwritten:     g.overwrites,
		Reserved: func(name string, isInit bool, path *field.Path) {
			checkReservedName(out, c, g, container{name, isInit, path})
		},
	}.Check(out, path)
	out.When(len(t.Spec.Containers) == 0).Required(g.rule(rc033, rc038), spec.Child("containers"))
	checkRestartPolicy(out, c, g, spec.Child("restartPolicy"))
	checkTLSTemplate(out, c, g, spec)
	checkOwnMetadata(out, c, g, path.Child("metadata"))
	checkRayContainer(out, t, spec.Child("containers"))
	checkSharedPorts(out, g, spec.Child("containers"))
}

// overwrites reports whether Pods get another value of the label than the template has.
func (g nodeGroup) overwrites(key string) bool {
	_, byGroup := g.labels[key]
	return byGroup || key == rayv1.LabelCluster || key == rayv1.LabelNodeType || key == rayv1.LabelGroup
}

var rc074 = rule.New(rule.Rule{ID: "RC-074", Field: "headGroupSpec.template.spec.restartPolicy", Condition: "neither unset nor Never, with autoscalerOptions.version v2", Peer: rule.BySpec, Reads: []string{"autoscalerOptions.version", "enableInTreeAutoscaling"},
	Remedy: "must be Never or unset with the autoscaler v2, which replaces Pods by itself",
	CEL: []rule.CEL{{Field: ".headGroupSpec.template.spec.restartPolicy", When: cel.Autoscaling, Valid: "!" + cel.VersionIsV2 + " || !(" + cel.Present("self.headGroupSpec.template", "spec.restartPolicy") + ")" +
		" || !(self.headGroupSpec.template.spec.restartPolicy in ['Always', 'OnFailure'])"}}})
var rc075 = rule.New(rule.Rule{ID: "RC-075", Field: "workerGroupSpecs[i].template.spec.restartPolicy", Condition: "neither unset nor Never, with autoscalerOptions.version v2", Peer: rule.BySpec, Reads: []string{"autoscalerOptions.version", "enableInTreeAutoscaling"},
	Remedy: "must be Never or unset with the autoscaler v2, which replaces Pods by itself",
	CEL: []rule.CEL{{Field: ".workerGroupSpecs", When: cel.Autoscaling, Valid: "!" + cel.VersionIsV2 + " || " + cel.AllGroups(cel.NeverRestarts),
		NoWorse: cel.NoMoreGroups(cel.NeverRestarts)}}})
var rc560 = rule.New(rule.Rule{ID: "RC-560", Field: "template.spec.restartPolicy", Condition: "not \"\", Always, OnFailure, Never", Tier: rule.Kubernetes,
	CEL: []rule.CEL{
		cel.EachGroup("", "g.template.?spec.?restartPolicy.orValue('') in "+cel.RestartPolicies, "template.spec.restartPolicy: "+cel.PoliciesOfRestart),
		{Node: "headGroupSpec.template.spec.restartPolicy", Ratchet: rule.ByServer, Valid: "self in " + cel.RestartPolicies, Says: cel.PoliciesOfRestart},
	}})

func checkRestartPolicy(out *rule.Report, c *Spec, g nodeGroup, path *field.Path) {
	policy := g.template.Spec.RestartPolicy
	if policy == "" ||
		!rule.OneOf(out, rc560, path, policy, corev1.RestartPolicyAlways, corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever) {
		return
	}
	out.When(c.Autoscaling && c.versionOption() == rayv1.AutoscalerVersionV2 && policy != corev1.RestartPolicyNever).Invalid(g.rule(rc074, rc075), path, string(policy))
}

// addedVolumes are the volumes that the operator adds to Pods, so that a mount may refer to them.
var addedVolumes = []string{rayv1.VolumeSharedMemory, rayv1.VolumeRayLogs, rayv1.VolumeRayToken, rayv1.VolumeTLS, rayv1.VolumeGCSStorage}

var rc525 = rule.New(rule.Rule{ID: "RC-525", Field: "containers[j].name, initContainers[j].name of Pod templates", Condition: "ray-history-collector or ray-job-submitter among init containers, wait-gcs-ready among containers (warning if the operator may add it), wait-for-tls-ip-san with TLS on, or a sidecar of the operator's configuration", Tier: rule.Kubernetes, Mixed: true,
	CEL: []rule.CEL{
		cel.AddedToHead("initContainers", rayv1.ContainerHistoryCollector, cel.History, "a container of this name with historyServerOptions"),
		cel.AddedToHead("containers", rayv1.ContainerWaitTLS, cel.TLSOn, "an init container of this name with tlsOptions.enabled"),
		cel.AddedToHead("initContainers", rayv1.ContainerWaitTLS, cel.TLSOn, "an init container of this name with tlsOptions.enabled"),
		{Part: rule.JobSpec, Field: ".rayClusterSpec.headGroupSpec.template.spec.initContainers", When: cel.JobInSidecar, Valid: cel.NoRayCluster + " || !has(" + cel.HeadOfJob + ".spec.initContainers) || " + cel.HeadOfJob + ".spec.initContainers.all(c, c.name != 'ray-job-submitter')",
			Says: "the operator adds a container of this name in SidecarMode; use another name"},
	},
	Policies: []rule.Policy{
		{EachGroup: true, Field: ".template.spec.initContainers", Valid: "!" + cel.ClusterHistory + " || g.template.?spec.?initContainers.orValue([]).all(c, c.name != 'ray-history-collector')",
			Says: "the operator adds a container named ray-history-collector with historyServerOptions; use another name"},
		{EachGroup: true, Field: ".template.spec", Valid: "!" + cel.ClusterTLS + " || (" + cel.OfContainers("g.template", "c.name != 'wait-for-tls-ip-san'") + ")",
			Says: "the operator adds an init container named wait-for-tls-ip-san with tlsOptions.enabled; use another name"},
	}})
var rc526 = rule.New(rule.Rule{ID: "RC-526", Field: "workerGroupSpecs[i].template.spec.initContainers[j].name", Condition: "wait-gcs-ready while init container injection is on (warning where that is not known)", Tier: rule.Kubernetes, Mixed: true, Depends: "ENABLE_INIT_CONTAINER_INJECTION"})
var rc089 = rule.New(rule.Rule{ID: "RC-089", Field: "headGroupSpec.template.spec.containers[j].name", Condition: "ray-history-collector", Peer: rule.BySpec,
	CEL: []rule.CEL{cel.AddedToHead("containers", rayv1.ContainerHistoryCollector, cel.History,
		"a container of this name with historyServerOptions")}})
var rc090 = rule.New(rule.Rule{ID: "RC-090", Field: "workerGroupSpecs[i].template.spec.containers[j].name", Condition: "ray-history-collector", Peer: rule.BySpec,
	Policies: []rule.Policy{{EachGroup: true, Field: ".template.spec.containers", Valid: "!" + cel.ClusterHistory + " || g.template.?spec.?containers.orValue([]).all(c, c.name != 'ray-history-collector')",
		Says: "the operator adds a container named ray-history-collector with historyServerOptions; use another name"}}})
var rc524 = rule.New(rule.Rule{ID: "RC-524", Field: "headGroupSpec.template.spec.containers[j].name, initContainers[j].name", Condition: "autoscaler with autoscaling on", Tier: rule.Kubernetes, Reads: []string{"enableInTreeAutoscaling"},
	CEL: []rule.CEL{
		cel.AddedToHead("containers", rayv1.ContainerAutoscaler, cel.Autoscaling, "a container of this name with enableInTreeAutoscaling"),
		cel.AddedToHead("initContainers", rayv1.ContainerAutoscaler, cel.Autoscaling, "a container of this name with enableInTreeAutoscaling"),
	}})

// container is one of the two lists of a Pod template.
type container struct {
	name   string
	isInit bool
	path   *field.Path // of the name
}

// checkReservedName refuses the name of a container that the operator adds to the Pod. Only the operator knows whether it adds the
// container that makes workers wait.
func checkReservedName(out *rule.Report, c *Spec, g nodeGroup, it container) {
	collector, waits, perhaps := g.rule(rc089, rc090), rc525, out
	if it.isInit {
		collector, waits = rc525, rc526
	}
	if !c.Options.FromOperator {
		perhaps = out.Maybe()
	}
	for _, r := range []struct {
		name  string
		added bool
		out   *rule.Report
		by    *rule.Rule
		why   string
	}{
		{rayv1.ContainerAutoscaler, g.head && c.Autoscaling, out, rc524, "the operator adds a container of this name with enableInTreeAutoscaling"},
		{rayv1.ContainerHistoryCollector, c.Spec.HistoryServerOptions != nil, out, collector, "the operator adds a container of this name with historyServerOptions"},
		{rayv1.ContainerJobSubmitter, g.head && it.isInit && c.SidecarSubmitter, out, rc525, "the operator adds a container of this name in SidecarMode"},
		{rayv1.ContainerWaitTLS, c.tls, out, rc525, "the operator adds an init container of this name with tlsOptions.enabled"},
		{rayv1.ContainerWaitGCSReady, !g.head && !c.Options.NoInitContainers, perhaps, waits, "the operator adds an init container of this name to workers"},
		{it.name, slices.Contains(sidecars(c, g), it.name), out, rc525, "the configuration of the operator adds a container of this name"},
	} {
		if it.name == r.name && r.added {
			r.out.Invalid(r.by, it.path, it.name, r.why+"; use another name")
			return
		}
	}
}

// sidecars are the containers that the operator's configuration adds to the Pod.
func sidecars(c *Spec, g nodeGroup) []string {
	if g.head {
		return c.Options.HeadSidecars
	}
	return c.Options.WorkerSidecars
}

var rc527 = rule.New(rule.Rule{ID: "RC-527", Field: "template.metadata.labels", Condition: "sets ray.io/node-type, ray.io/group, ray.io/cluster to other values", Remedy: "is set by the operator; remove it"})
var rc529 = rule.New(rule.Rule{ID: "RC-529", Field: "template.metadata.name, .namespace", Condition: "set"})

// checkOwnMetadata reports metadata that the Pods do not get.
func checkOwnMetadata(out *rule.Report, c *Spec, g nodeGroup, path *field.Path) {
	t := g.template
	out.When(t.Name != "").Invalid(rc529, path.Child("name"), t.Name, "is ignored; Pods are named after the cluster and the group")
	out.When(t.Namespace != "").Invalid(rc529, path.Child("namespace"), t.Namespace, "is ignored; Pods are made in the namespace of the cluster")
	for _, own := range []struct{ key, value string }{
		{rayv1.LabelNodeType, g.kind()},
		{rayv1.LabelGroup, g.name},
		{rayv1.LabelCluster, c.meta.Name},
	} {
		if v, set := t.Labels[own.key]; set && v != own.value {
			out.Invalid(rc527, path.Child("labels").Key(own.key), v)
		}
	}
}

var rc532 = rule.New(rule.Rule{ID: "RC-532", Field: "template.spec.containers[0].image", Condition: "empty", Remedy: "give an image with Ray, unless an admission webhook fills it in"})
var rc533 = rule.New(rule.Rule{ID: "RC-533", Field: "template.spec.containers", Condition: "container 0 does not look like Ray while a later one does (name starts with ray, or image has ray)"})

func checkRayContainer(out *rule.Report, t *corev1.PodTemplateSpec, path *field.Path) {
	if len(t.Spec.Containers) == 0 {
		return
	}
	forbidVariables(out, t.Spec.Containers[0].Env, path.Index(0).Child("env"), operatorEnv)
	out.When(t.Spec.Containers[0].Image == "").Required(rc532, path.Index(0).Child("image"))
	if looksLikeRay(&t.Spec.Containers[0]) {
		return
	}
	for i := 1; i < len(t.Spec.Containers); i++ {
		if looksLikeRay(&t.Spec.Containers[i]) {
			out.Invalid(rc533, path, t.Spec.Containers[0].Name, fmt.Sprintf("Ray runs in the first container, but %q looks like Ray; put it first", t.Spec.Containers[i].Name))
			return
		}
	}
}

func looksLikeRay(c *corev1.Container) bool {
	return strings.HasPrefix(c.Name, "ray") || strings.Contains(c.Image, "ray")
}

// operatorEnv are the variables of the Ray container that a user can override, and thereby break the cluster.
var operatorEnv = allTaken(rc523, "is set by the operator; another value can break the cluster",
	"RAY_ADDRESS", "RAY_PORT", "FQ_RAY_IP", "RAY_IP", "RAY_CLUSTER_NAME", "KUBERAY_GEN_RAY_START_CMD", "RAY_NODE_TYPE_NAME", "RAY_CLOUD_INSTANCE_ID")

var rc523 = rule.New(rule.Rule{ID: "RC-523", Field: "template.spec.containers[0].env", Condition: "sets RAY_ADDRESS, RAY_PORT, FQ_RAY_IP, RAY_IP, RAY_CLUSTER_NAME, KUBERAY_GEN_RAY_START_CMD, RAY_NODE_TYPE_NAME or RAY_CLOUD_INSTANCE_ID"})
var rc548 = rule.New(rule.Rule{ID: "RC-548", Field: "containers[j].ports of Pod templates", Condition: "two containers of one Pod listen on one port and protocol"})

// checkSharedPorts reports containers of one Pod that listen on the same port: they share its address.
func checkSharedPorts(out *rule.Report, g nodeGroup, path *field.Path) {
	t := g.template
	if len(t.Spec.Containers) < 2 {
		return
	}
	owner := map[pods.ProtocolPort]int{}
	for _, port := range addedPorts(g) {
		owner[pods.PortKey(port, corev1.ProtocolTCP)] = 0
	}
	for i := range t.Spec.Containers {
		for j, port := range t.Spec.Containers[i].Ports {
			key := pods.PortKey(port.ContainerPort, port.Protocol)
			if other, taken := owner[key]; taken && other != i {
				out.Invalid(rc548, path.Index(i).Child("ports").Index(j).Child("containerPort"), port.ContainerPort, fmt.Sprintf("container %q listens there too; only one of them can", t.Spec.Containers[other].Name))
				continue
			}
			owner[key] = i
		}
	}
}

// addedPorts are ports of Ray that the template does not declare. Another rule handles start parameters that move a port.
func addedPorts(g nodeGroup) []int32 {
	listed := g.template.Spec.Containers[0].Ports
	var ports []int32
	for _, s := range servicePorts {
		byDefault := g.head && len(listed) == 0 || s.name == rayv1.PortMetrics && !slices.ContainsFunc(listed, named(s.name))
		if byDefault && g.rayStartParams[s.param] == "" {
			ports = append(ports, s.byDefault)
		}
	}
	return ports
}

var rc574 = rule.New(rule.Rule{ID: "RC-574", Field: "template.spec.hostNetwork", Condition: "true with more than one Ray pod able to share a node and fixed ports",
	Remedy: "two Ray Pods on one node want the same ports; keep them apart by anti-affinity"})

// checkHostNetwork reports Pods that want the same ports of a node.
func checkHostNetwork(out *rule.Report, c *Spec, path *field.Path) {
	var paths []*field.Path
	var pods int64
	if c.Spec.HeadGroupSpec.Template.Spec.HostNetwork {
		paths, pods = append(paths, path.Child("headGroupSpec")), 1
	}
	for i := range c.Spec.WorkerGroupSpecs {
		g := &c.Spec.WorkerGroupSpecs[i]
		if !g.Template.Spec.HostNetwork {
			continue
		}
		paths = append(paths, path.Child("workerGroupSpecs").Index(i))
		pods++
		if g.MaxReplicas == nil || *g.MaxReplicas > 1 || g.NumOfHosts > 1 {
			pods++
		}
	}
	for _, p := range paths {
		out.When(pods > 1).Invalid(rc574, p.Child("template", "spec", "hostNetwork"), true)
	}
}
