package validation

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

func warnPodTemplate(c *cluster, g nodeGroup, path *field.Path) field.ErrorList {
	warnings := warnTemplateMetadata(c, g, path.Child("metadata"))
	spec := path.Child("spec")
	warnings = append(warnings, warnRayContainer(g.template, spec.Child("containers"))...)
	warnings = append(warnings, warnOperatorEnv(rayContainer(g.template), spec.Child("containers").Index(0).Child("env"))...)
	warnings = append(warnings, warnSharedPorts(g, spec.Child("containers"))...)
	warnings = append(warnings, warnReservedNames(c, g, spec)...)
	return warnings
}

// warnTemplateMetadata tells of metadata that the Pods do not get.
func warnTemplateMetadata(c *cluster, g nodeGroup, path *field.Path) field.ErrorList {
	t := g.template
	var warnings field.ErrorList
	if t.Name != "" {
		warnings = append(warnings, invalid("RC-529", path.Child("name"), t.Name, "is ignored; Pods are named after the cluster and the group"))
	}
	if t.Namespace != "" {
		warnings = append(warnings, invalid("RC-529", path.Child("namespace"), t.Namespace, "is ignored; Pods are made in the namespace of the cluster"))
	}
	for _, own := range []struct{ key, value string }{
		{rayv1.LabelNodeType, g.kind()},
		{rayv1.LabelGroup, g.name},
		{rayv1.LabelCluster, c.meta.Name},
	} {
		if v, set := t.Labels[own.key]; set && v != own.value {
			warnings = append(warnings, invalid("RC-527", path.Child("labels").Key(own.key), v, "is set by the operator; remove it"))
		}
	}
	return warnings
}

func warnRayContainer(t *corev1.PodTemplateSpec, path *field.Path) field.ErrorList {
	if len(t.Spec.Containers) == 0 {
		return nil
	}
	var warnings field.ErrorList
	if t.Spec.Containers[0].Image == "" {
		warnings = append(warnings, required("RC-532", path.Index(0).Child("image"), "give an image with Ray, unless an admission webhook fills it in"))
	}
	if looksLikeRay(&t.Spec.Containers[0]) {
		return warnings
	}
	for i := 1; i < len(t.Spec.Containers); i++ {
		if looksLikeRay(&t.Spec.Containers[i]) {
			return append(warnings, invalid("RC-533", path, t.Spec.Containers[0].Name,
				fmt.Sprintf("Ray runs in the first container, but %q looks like Ray; put it first", t.Spec.Containers[i].Name)))
		}
	}
	return warnings
}

func looksLikeRay(c *corev1.Container) bool {
	return strings.HasPrefix(c.Name, "ray") || strings.Contains(c.Image, "ray")
}

// operatorEnv are the variables of the Ray container that a user can override, and thereby break the cluster.
var operatorEnv = paramSet("RAY_ADDRESS", "RAY_PORT", "FQ_RAY_IP", "RAY_IP", "RAY_CLUSTER_NAME", "KUBERAY_GEN_RAY_START_CMD", "RAY_NODE_TYPE_NAME", "RAY_CLOUD_INSTANCE_ID")

func warnOperatorEnv(c *corev1.Container, path *field.Path) field.ErrorList {
	if c == nil {
		return nil
	}
	var warnings field.ErrorList
	for i := range c.Env {
		if name := c.Env[i].Name; operatorEnv[name] {
			warnings = append(warnings, forbidden("RC-523", path.Index(i).Child("name"), name+" is set by the operator; another value can break the cluster"))
		}
	}
	return warnings
}

// warnSharedPorts tells of containers of one Pod, which share its address, that listen at one port.
func warnSharedPorts(g nodeGroup, path *field.Path) field.ErrorList {
	t := g.template
	if len(t.Spec.Containers) < 2 {
		return nil
	}
	var warnings field.ErrorList
	owner := map[protocolPort]int{}
	for _, port := range addedPorts(g) {
		owner[portKey(port, corev1.ProtocolTCP)] = 0
	}
	for i := range t.Spec.Containers {
		for j, port := range t.Spec.Containers[i].Ports {
			key := portKey(port.ContainerPort, port.Protocol)
			if other, taken := owner[key]; taken && other != i {
				warnings = append(warnings, invalid("RC-548", path.Index(i).Child("ports").Index(j).Child("containerPort"), port.ContainerPort,
					fmt.Sprintf("container %q listens there too; only one of them can", t.Spec.Containers[other].Name)))
				continue
			}
			owner[key] = i
		}
	}
	return warnings
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

// warnHostNetwork tells of Pods that want the same ports of a node.
func warnHostNetwork(c *cluster, path *field.Path) field.ErrorList {
	var paths []*field.Path
	var pods int64
	if c.spec.HeadGroupSpec.Template.Spec.HostNetwork {
		paths, pods = append(paths, path.Child("headGroupSpec")), 1
	}
	for i := range c.spec.WorkerGroupSpecs {
		g := &c.spec.WorkerGroupSpecs[i]
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
		return nil
	}
	var warnings field.ErrorList
	for _, p := range paths {
		warnings = append(warnings, invalid("RC-574", p.Child("template", "spec", "hostNetwork"), true, "two Ray Pods on one node want the same ports; keep them apart by anti-affinity"))
	}
	return warnings
}
