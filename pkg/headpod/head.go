package headpod

import (
	"errors"
	"fmt"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// ErrNoHead means that a Pod is not the running head of the cluster.
var ErrNoHead = errors.New("the cluster has no running head Pod")

// Head is the dashboard of one RayCluster.
type Head struct {
	Namespace, Cluster string
	UID                types.UID
	// Port is the port of the dashboard in the Pod.
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
		return refuse("has no dashboard port")
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
