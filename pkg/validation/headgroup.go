package validation

import (
	"fmt"
	"net/netip"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

func validateHeadGroup(c *cluster, path *field.Path) field.ErrorList {
	h := &c.spec.HeadGroupSpec
	errs := validateNodeGroup(c, headGroup(h), path)
	errs = append(errs, validateServiceType(h, path.Child("serviceType"))...)
	errs = append(errs, validateHeadService(h, path.Child("headService"))...)
	errs = append(errs, validateIngress(h, path.Child("ingressOptions"))...)
	return errs
}

func warnHeadGroup(c *cluster, path *field.Path) field.ErrorList {
	h := &c.spec.HeadGroupSpec
	warnings := warnNodeGroup(c, headGroup(h), path)
	warnings = append(warnings, warnHeadPorts(c, headGroup(h), path)...)
	warnings = append(warnings, warnHeadService(c, path.Child("headService"))...)
	if h.IngressOptions != nil && !isTrue(h.EnableIngress) {
		warnings = append(warnings, forbidden("RC-561", path.Child("ingressOptions"), "has no effect while enableIngress is not true"))
	}
	return warnings
}

// validateServiceType looks at the type of the head Service, unless headService has one of its own.
func validateServiceType(h *rayv1.HeadGroupSpec, path *field.Path) field.ErrorList {
	if h.ServiceType == "" || h.HeadService != nil && h.HeadService.Spec.Type != "" {
		return nil
	}
	return notIn("RC-557", path, h.ServiceType, serviceTypes...)
}

var serviceTypes = []corev1.ServiceType{corev1.ServiceTypeClusterIP, corev1.ServiceTypeNodePort, corev1.ServiceTypeLoadBalancer, corev1.ServiceTypeExternalName}

func validateHeadService(h *rayv1.HeadGroupSpec, path *field.Path) field.ErrorList {
	if h.HeadService == nil {
		return nil
	}
	var errs field.ErrorList
	if name := h.HeadService.Name; name != "" && len(validation.IsDNS1035Label(name)) > 0 {
		errs = append(errs, invalid("RC-558", path.Child("metadata", "name"), name,
			"use at most 63 lower-case letters, digits and dashes, beginning with a letter and not ending with a dash"))
	}
	errs = append(errs, validateServicePorts(h.HeadService.Spec.Ports, path.Child("spec"))...)
	return append(errs, validateHeadServicePorts(h, path.Child("spec", "ports"))...)
}

// validateHeadServicePorts compares the user's ports with those that the operator adds for the ports of the container.
func validateHeadServicePorts(h *rayv1.HeadGroupSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	number, name := generatedPorts(&h.Template)
	for i, port := range h.HeadService.Spec.Ports {
		key, p := portKey(port.Port, port.Protocol), path.Index(i)
		switch other, taken := number[port.Name]; {
		case taken && other != port.Port:
			errs = append(errs, invalid("RC-555", p.Child("port"), port.Port, fmt.Sprintf("the operator adds port %d with the name %s; use that number, or another name", other, port.Name)))
		case taken:
			errs = append(errs, duplicate("RC-555", p.Child("name"), port.Name, "the operator adds this port already; leave it out"))
		default:
			if other, taken := name[key]; taken {
				errs = append(errs, invalid("RC-555", p.Child("name"), port.Name, fmt.Sprintf("the operator adds port %d with the name %s; leave it out", port.Port, other)))
			}
		}
	}
	return errs
}

func validateServicePorts(ports []corev1.ServicePort, path *field.Path) field.ErrorList {
	return repeats("RC-018", path, "ports", ports, func(p *corev1.ServicePort) protocolPort { return portKey(p.Port, p.Protocol) }, "", oncePerPort)
}

// generatedPorts are the ports of the head Service that the operator makes, by name and by number.
func generatedPorts(t *corev1.PodTemplateSpec) (number map[string]int32, name map[protocolPort]string) {
	number, name = map[string]int32{}, map[protocolPort]string{}
	add := func(n string, port int32) {
		number[n], name[portKey(port, corev1.ProtocolTCP)] = port, n
	}
	container := rayContainer(t)
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

func warnHeadService(c *cluster, path *field.Path) field.ErrorList {
	svc := c.spec.HeadGroupSpec.HeadService
	if svc == nil {
		return nil
	}
	var warnings field.ErrorList
	for _, key := range operatorSelector {
		if v, set := svc.Spec.Selector[key]; set {
			warnings = append(warnings, invalid("RC-556", path.Child("spec", "selector").Key(key), v, "is replaced by the operator; remove it"))
		}
	}
	if svc.Spec.ClusterIP == corev1.ClusterIPNone && c.options.HeadClusterIPService {
		warnings = append(warnings, invalid("RC-556", path.Child("spec", "clusterIP"), svc.Spec.ClusterIP, "contradicts the operator, which is configured to give head Services an address; remove it"))
	}
	if svc.Namespace != "" && c.meta.Namespace != "" && svc.Namespace != c.meta.Namespace {
		warnings = append(warnings, invalid("RC-556", path.Child("metadata", "namespace"), svc.Namespace, "the Service is made in the namespace of the cluster; remove it"))
	}
	return warnings
}

// validateIngress looks for what the API server refuses in the Ingress, if there is one: on OpenShift the operator makes a Route, which has
// none of this.
func validateIngress(h *rayv1.HeadGroupSpec, path *field.Path) field.ErrorList {
	o := h.IngressOptions
	if o == nil {
		return nil
	}
	var errs field.ErrorList
	free := false
	if o.PathType != nil {
		errs = append(errs, notIn("RC-012", path.Child("pathType"), *o.PathType,
			rayv1.IngressPathTypeExact, rayv1.IngressPathTypePrefix, rayv1.IngressPathTypeImplementationSpecific)...)
		free = *o.PathType == rayv1.IngressPathTypeImplementationSpecific
	}
	if !isTrue(h.EnableIngress) {
		return errs
	}
	if o.Path != nil && !free && !strings.HasPrefix(*o.Path, "/") {
		errs = append(errs, invalid("RC-562", path.Child("path"), *o.Path, "must begin with a slash unless pathType is ImplementationSpecific"))
	}
	if o.Host != nil && *o.Host != "" {
		errs = append(errs, validateIngressHost(*o.Host, path.Child("host"))...)
	}
	return errs
}

func validateIngressHost(host string, path *field.Path) field.ErrorList {
	if _, err := netip.ParseAddr(host); err == nil {
		return field.ErrorList{invalid("RC-562", path, host, "must be a DNS name, not an address")}
	}
	check := validation.IsDNS1123Subdomain
	if strings.HasPrefix(host, "*.") {
		check = validation.IsWildcardDNS1123Subdomain
	}
	if len(check(host)) > 0 {
		return field.ErrorList{invalid("RC-562", path, host, "must be a DNS name in lower case, as in ray.example.com or *.example.com")}
	}
	return nil
}
