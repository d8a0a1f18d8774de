package headpod

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// ErrNoHead means that a Pod is not the running head of the cluster.
var ErrNoHead = errors.New("the cluster has no running head Pod")

// ErrNoPort means that a RayCluster does not declare a port.
var ErrNoPort = errors.New("the head declares no TCP port")

// Head is the dashboard of one RayCluster, or another port of its head.
type Head struct {
	Namespace, Cluster string
	UID                types.UID
	// Port is the port in the Pod, that of the dashboard in Of.
	Port int32
}

// Of returns the head of a RayCluster. The port is the target of the dashboard port of headService, if the user sets one. Otherwise it is
// the port of the Ray container named dashboard, or else 8265: the target port of the head Service.
func Of(rc *rayv1.RayCluster) Head {
	return Head{Namespace: rc.Namespace, Cluster: rc.Name, UID: rc.UID, Port: port(&rc.Spec.HeadGroupSpec)}
}

func port(h *rayv1.HeadGroupSpec) int32 {
	containers := h.Template.Spec.Containers
	if h.HeadService != nil {
		for _, p := range h.HeadService.Spec.Ports {
			if p.Name == rayv1.PortDashboard {
				return targetOf(p, containers)
			}
		}
	}
	if len(containers) > 0 {
		if number, ok := named(containers[:1], rayv1.PortDashboard); ok {
			return number
		}
	}
	return rayv1.DefaultDashboardPort
}

// Declared returns the head with a TCP port that the RayCluster declares, named by its number or its name: a port of headService, of a container of the
// head Pod, or one of those that the head Service has if the Ray container declares none. The dashboard of Of counts as declared. The error names the ports.
func Declared(rc *rayv1.RayCluster, port string) (Head, error) {
	head, known := Of(rc), []string{}
	for _, p := range append(declared(&rc.Spec.HeadGroupSpec), corev1.ServicePort{Name: rayv1.PortDashboard, Port: head.Port}) {
		if number := strconv.Itoa(int(p.Port)); port != "" && p.Name == port || number == port {
			head.Port = targetOf(p, rc.Spec.HeadGroupSpec.Template.Spec.Containers)
			return head, nil
		} else if text := strings.TrimSpace(p.Name + " " + number); !slices.Contains(known, text) {
			known = append(known, text)
		}
	}
	return head, fmt.Errorf("%w %s; it declares %s", ErrNoPort, port, strings.Join(known, ", "))
}

func declared(h *rayv1.HeadGroupSpec) []corev1.ServicePort {
	var all []corev1.ServicePort
	if h.HeadService != nil {
		all = append(all, h.HeadService.Spec.Ports...)
	}
	containers := h.Template.Spec.Containers
	for _, c := range containers {
		for _, p := range c.Ports {
			all = append(all, corev1.ServicePort{Name: p.Name, Port: p.ContainerPort, Protocol: p.Protocol})
		}
	}
	if len(containers) > 0 && len(containers[0].Ports) == 0 {
		all = append(all,
			corev1.ServicePort{Name: rayv1.PortClient, Port: rayv1.DefaultClientPort},
			corev1.ServicePort{Name: rayv1.PortGCSServer, Port: rayv1.DefaultGCSServerPort}, corev1.ServicePort{Name: rayv1.PortServe, Port: rayv1.DefaultServePort})
	}
	return slices.DeleteFunc(all, func(p corev1.ServicePort) bool { return p.Protocol != "" && p.Protocol != corev1.ProtocolTCP })
}

// targetOf is the port of a Pod that a port of a Service leads to.
func targetOf(p corev1.ServicePort, containers []corev1.Container) int32 {
	if p.TargetPort.Type == intstr.String {
		number, _ := named(containers, p.TargetPort.StrVal) // 0, which Address refuses, for a name that no container has
		return number
	}
	if p.TargetPort.IntVal != 0 {
		return p.TargetPort.IntVal
	}
	return p.Port
}

func named(containers []corev1.Container, name string) (int32, bool) {
	for _, c := range containers {
		for _, p := range c.Ports {
			if p.Name == name {
				return p.ContainerPort, true
			}
		}
	}
	return 0, false
}

// Labels select the head Pods of the cluster. Others may bear them: Address decides.
func (h Head) Labels() map[string]string {
	return map[string]string{rayv1.LabelCluster: h.Cluster, rayv1.LabelNodeType: string(rayv1.HeadNode)}
}

// Address is the address of the cluster's dashboard in its Pod. The error is ErrNoHead if the Pod is not the head, is not controlled by the
// RayCluster, or has no address of its own. A Pod that has ended keeps its address in its status, while another Pod may have that address.
func (h Head) Address(pod *corev1.Pod) (netip.AddrPort, error) {
	refuse := func(format string, args ...any) (netip.AddrPort, error) {
		return netip.AddrPort{}, fmt.Errorf("%w: Pod %s "+format, append([]any{ErrNoHead, pod.Name}, args...)...)
	}
	switch {
	case !h.controls(pod):
		return refuse("does not belong to RayCluster %s", h.Cluster)
	case pod.Labels[rayv1.LabelNodeType] != string(rayv1.HeadNode):
		return refuse("is not a head")
	case pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed:
		return refuse("has ended")
	case h.Port <= 0 || h.Port > 65535:
		return refuse("has no such port")
	}
	ip, err := netip.ParseAddr(pod.Status.PodIP)
	if err != nil {
		return refuse("has no address yet")
	}
	ip = ip.Unmap()
	// A Pod on the host network has the address of its node. Kubernetes has admitted that; no other Pod has such an address.
	if !pod.Spec.HostNetwork && isOfNode(pod, ip) {
		return refuse("has the address of its node")
	}
	return netip.AddrPortFrom(ip, uint16(h.Port)), nil
}

// controls reports whether the RayCluster is the controller of the Pod.
func (h Head) controls(pod *corev1.Pod) bool {
	owner := metav1.GetControllerOf(pod)
	return pod.Namespace == h.Namespace && owner != nil && h.UID != "" && owner.UID == h.UID
}

func isOfNode(pod *corev1.Pod, ip netip.Addr) bool {
	texts := []string{pod.Status.HostIP}
	for _, host := range pod.Status.HostIPs {
		texts = append(texts, host.IP)
	}
	for _, text := range texts {
		if host, err := netip.ParseAddr(text); err == nil && host.Unmap() == ip {
			return true
		}
	}
	return false
}
