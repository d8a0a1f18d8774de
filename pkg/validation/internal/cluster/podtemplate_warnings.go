package cluster

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/pkg/validation/internal/pods"
	"github.com/raygate/raygate/pkg/validation/rule"
)

var rc527 = rule.New(rule.Rule{ID: "RC-527", Field: "template.metadata.labels", Condition: "sets ray.io/node-type, ray.io/group, ray.io/cluster to other values", Remedy: "is set by the operator; remove it"})
var rc529 = rule.New(rule.Rule{ID: "RC-529", Field: "template.metadata.name, .namespace", Condition: "set"})

// checkOwnMetadata tells of metadata that the Pods do not get.
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

// checkSharedPorts tells of containers of one Pod, which share its address, that listen at one port.
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

// addedPorts are where Ray listens although the template does not say so. A start parameter that moves a port is the
// matter of another rule.
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

// checkHostNetwork tells of Pods that want the same ports of a node.
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
		if g.MaxReplicas == nil || *g.MaxReplicas > 1 || g.NumOfHosts > 1 {
			pods += 2
		} else {
			pods++
		}
	}
	if pods < 2 {
		return
	}
	for _, p := range paths {
		out.Invalid(rc574, p.Child("template", "spec", "hostNetwork"), true)
	}
}
