package cluster

import (
	"fmt"
	"net/netip"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/pkg/validation/cel"
	"github.com/raygate/raygate/pkg/validation/internal/metadata"
	"github.com/raygate/raygate/pkg/validation/internal/pods"
	"github.com/raygate/raygate/pkg/validation/rule"
)

func checkHeadGroup(out *rule.Report, c *Spec, path *field.Path) {
	h := &c.Spec.HeadGroupSpec
	checkNodeGroup(out, c, headGroup(h), path)
	checkHeadPorts(out, c, headGroup(h), path)
	if h.ServiceType != "" && (h.HeadService == nil || h.HeadService.Spec.Type == "") { // headService may have a type of its own
		rc557.Check(out, path.Child("serviceType"), h.ServiceType)
	}
	checkHeadService(out, c, path.Child("headService"))
	checkExternalHead(out, h, path)
	checkIngress(out, h, path.Child("ingressOptions"))
}

var rc561 = rule.New(rule.Rule{ID: "RC-561", Field: "headGroupSpec.ingressOptions", Condition: "set while enableIngress is not true", Remedy: "has no effect while enableIngress is not true",
	Policies: []rule.Policy{{Field: ".headGroupSpec.ingressOptions", Valid: "!has(cluster.headGroupSpec.ingressOptions) || cluster.headGroupSpec.?enableIngress.orValue(false)"}}})
var rc557 = rule.NewEnum(rule.Rule{ID: "RC-557", Field: "headGroupSpec.serviceType", Condition: "not \"\", ClusterIP, NodePort, LoadBalancer, ExternalName, unless headService has a type", Tier: rule.Kubernetes,
	CEL: []rule.CEL{{Node: "headGroupSpec", Field: ".serviceType", Valid: "!has(self.serviceType) || (" + cel.Present("self", "headService.spec.type") + " && self.headService.spec.type != '') || self.serviceType in ['', 'ClusterIP', 'NodePort', 'LoadBalancer', 'ExternalName']"}}}, ServiceTypes...)

// ServiceTypes are the types of Services.
var ServiceTypes = []corev1.ServiceType{corev1.ServiceTypeClusterIP, corev1.ServiceTypeNodePort, corev1.ServiceTypeLoadBalancer, corev1.ServiceTypeExternalName}

var rc558 = rule.New(rule.Rule{ID: "RC-558", Field: "headGroupSpec.headService.metadata.name", Condition: "not a DNS-1035 label", Tier: rule.Kubernetes,
	Remedy: "use at most 63 lower-case letters, digits and dashes, beginning with a letter and not ending with a dash",
	CEL:    []rule.CEL{{Node: "headGroupSpec.headService.metadata.name", Ratchet: rule.ByServer, Valid: "self == '' || (self.size() <= 63 && self.matches('" + cel.DNS1035Label + "'))"}}})

func checkHeadService(out *rule.Report, c *Spec, path *field.Path) {
	svc := c.Spec.HeadGroupSpec.HeadService
	if svc == nil {
		return
	}
	out.When(svc.Name != "" && len(validation.IsDNS1035Label(svc.Name)) > 0).Invalid(rc558, path.Child("metadata", "name"), svc.Name)
	CheckServicePorts(out, svc.Spec.Ports, path.Child("spec", "ports"))
	checkHeadServicePorts(out, &c.Spec.HeadGroupSpec, path.Child("spec", "ports"))
	for _, key := range operatorSelector {
		v, set := svc.Spec.Selector[key]
		out.When(set).Invalid(rc556, path.Child("spec", "selector").Key(key), v, "is replaced by the operator; remove it")
	}
	out.When(svc.Spec.ClusterIP == corev1.ClusterIPNone && c.Options.HeadClusterIPService).Invalid(rc556, path.Child("spec", "clusterIP"), svc.Spec.ClusterIP,
		"contradicts the operator, which is configured to give head Services an address; remove it")
	out.When(svc.Namespace != "" && c.meta.Namespace != "" && svc.Namespace != c.meta.Namespace).Invalid(rc556, path.Child("metadata", "namespace"), svc.Namespace, "the Service is made in the namespace of the cluster; remove it")
}

var rc555 = rule.New(rule.Rule{ID: "RC-555", Field: "headGroupSpec.headService.spec.ports", Condition: "name or number equal to one of the ports that the operator adds", Tier: rule.Kubernetes})

// checkHeadServicePorts compares the user's ports with those that the operator adds for the ports of the container.
func checkHeadServicePorts(out *rule.Report, h *rayv1.HeadGroupSpec, path *field.Path) {
	number, name := generatedPorts(&h.Template)
	for i, port := range h.HeadService.Spec.Ports {
		key, p := pods.PortKey(port.Port, port.Protocol), path.Index(i)
		switch other, taken := number[port.Name]; {
		case taken && other != port.Port:
			out.Invalid(rc555, p.Child("port"), port.Port, fmt.Sprintf("the operator adds port %d with the name %s; use that number, or another name", other, port.Name))
		case taken:
			out.Duplicate(rc555, p.Child("name"), port.Name, "the operator adds this port already; leave it out")
		default:
			if other, taken := name[key]; taken {
				out.Invalid(rc555, p.Child("name"), port.Name, fmt.Sprintf("the operator adds port %d with the name %s; leave it out", port.Port, other))
			}
		}
	}
}

var rc018 = rule.New(rule.Rule{ID: "RC-018", Field: "headGroupSpec.headService.spec.ports, and spec.serveService.spec.ports of a RayService", Condition: "repeated port with protocol", Peer: rule.BySchema,
	Marker: rule.InSchema})

// CheckServicePorts checks the list of ports of a Service.
func CheckServicePorts(out *rule.Report, ports []corev1.ServicePort, path *field.Path) {
	pods.Repeats(out, pods.Unique{By: rc018, Path: path, Remedy: pods.OncePerPort}, ports, func(p *corev1.ServicePort) pods.ProtocolPort { return pods.PortKey(p.Port, p.Protocol) })
}

var rc589 = rule.New(rule.Rule{ID: "RC-589", Field: "headGroupSpec.serviceType, headGroupSpec.headService.spec.type", Condition: "ExternalName",
	Remedy: "leads workers and clients to a host outside of the cluster; operator and gateway connect to the head Pod all the same. Use ClusterIP"})

// checkExternalHead checks the type of the head Service.
func checkExternalHead(out *rule.Report, h *rayv1.HeadGroupSpec, path *field.Path) {
	at, t := path.Child("serviceType"), h.ServiceType
	if h.HeadService != nil && h.HeadService.Spec.Type != "" {
		at, t = path.Child("headService", "spec", "type"), h.HeadService.Spec.Type
	}
	out.When(t == corev1.ServiceTypeExternalName).Invalid(rc589, at, t, rc589.Remedy)
}

// generatedPorts are the ports of the head Service that the operator makes, by name and by number.
func generatedPorts(t *corev1.PodTemplateSpec) (number map[string]int32, name map[pods.ProtocolPort]string) {
	number, name = map[string]int32{}, map[pods.ProtocolPort]string{}
	add := func(n string, port int32) {
		number[n], name[pods.PortKey(port, corev1.ProtocolTCP)] = port, n
	}
	container := RayContainer(t)
	if container == nil || len(container.Ports) == 0 {
		for _, s := range servicePorts {
			add(s.name, s.byDefault)
		}
		add(rayv1.PortServe, rayv1.DefaultServePort)
		return number, name
	}
	for _, p := range container.Ports {
		if p.Name == "" {
			add(fmt.Sprintf("%d-port", p.ContainerPort), p.ContainerPort)
		} else {
			add(p.Name, p.ContainerPort)
		}
	}
	if _, given := number[rayv1.PortMetrics]; !given {
		add(rayv1.PortMetrics, rayv1.DefaultMetricsPort)
	}
	return number, name
}

// operatorSelector are the keys by which the head Service finds the head.
var operatorSelector = []string{rayv1.LabelCluster, rayv1.LabelNodeType, rayv1.LabelIdentifier, rayv1.LabelAppName, rayv1.LabelCreatedBy}

var rc556 = rule.New(rule.Rule{ID: "RC-556", Field: "headGroupSpec.headService.spec", Condition: "selector keys of the operator, clusterIP None against the configuration of the operator, or a namespace other than the cluster's"})
var rc012 = rule.NewEnum(rule.Rule{ID: "RC-012", Field: "headGroupSpec.ingressOptions.pathType", Peer: rule.BySchema, Marker: rule.InSchema}, rayv1.IngressPathTypeExact, rayv1.IngressPathTypePrefix, rayv1.IngressPathTypeImplementationSpecific)
var rc562 = rule.New(rule.Rule{ID: "RC-562", Field: "headGroupSpec.ingressOptions.path, .host", Condition: "with enableIngress, which makes a Route on OpenShift: path without leading / (pathType not ImplementationSpecific); host no DNS name (wildcard first label allowed), or an IP"})

// checkIngress reports fields that the API server refuses in the Ingress, if there is one. On OpenShift the operator makes a Route, which
// has none of these fields.
func checkIngress(out *rule.Report, h *rayv1.HeadGroupSpec, path *field.Path) {
	o := h.IngressOptions
	if o == nil {
		return
	}
	rc012.CheckGiven(out, path.Child("pathType"), o.PathType)
	if !metadata.IsTrue(h.EnableIngress) {
		out.Forbidden(rc561, path)
		return
	}
	free := ptr.Deref(o.PathType, "") == rayv1.IngressPathTypeImplementationSpecific
	at, host := ptr.Deref(o.Path, "/"), ptr.Deref(o.Host, "")
	out.When(!free && !strings.HasPrefix(at, "/")).Invalid(rc562, path.Child("path"), at, "must begin with a slash unless pathType is ImplementationSpecific")
	if host != "" {
		checkIngressHost(out, host, path.Child("host"))
	}
}

func checkIngressHost(out *rule.Report, host string, path *field.Path) {
	if _, err := netip.ParseAddr(host); err == nil {
		out.Invalid(rc562, path, host, "must be a DNS name, not an address")
		return
	}
	check := validation.IsDNS1123Subdomain
	if strings.HasPrefix(host, "*.") {
		check = validation.IsWildcardDNS1123Subdomain
	}
	out.When(len(check(host)) > 0).Invalid(rc562, path, host, "must be a DNS name in lower case, as in ray.example.com or *.example.com")
}
