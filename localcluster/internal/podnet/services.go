package podnet

import (
	"context"
	"fmt"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// Services resolves Services from objects of the cluster, like kube-proxy and the cluster's DNS.
type Services struct{ Client kubernetes.Interface }

// Service implements Hosts.
func (s Services) Service(ctx context.Context, namespace, name string, port uint16) (netip.AddrPort, error) {
	svc, err := s.Client.CoreV1().Services(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return netip.AddrPort{}, err
	}
	return s.behind(ctx, svc, port)
}

// ServiceAt implements Hosts.
func (s Services) ServiceAt(ctx context.Context, addr netip.AddrPort) (netip.AddrPort, error) {
	list, err := s.Client.CoreV1().Services("").List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return netip.AddrPort{}, err
	}
	for i := range list.Items {
		if list.Items[i].Spec.ClusterIP == addr.Addr().String() {
			return s.behind(ctx, &list.Items[i], addr.Port())
		}
	}
	return netip.AddrPort{}, fmt.Errorf("%w: no Service has the cluster IP %s", ErrRefused, addr.Addr())
}

func (s Services) behind(ctx context.Context, svc *corev1.Service, port uint16) (netip.AddrPort, error) {
	slices, err := s.Client.DiscoveryV1().EndpointSlices(svc.Namespace).List(ctx, metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=" + svc.Name})
	if err != nil {
		return netip.AddrPort{}, err
	}
	name, declared := portName(svc, port)
	headless := svc.Spec.ClusterIP == corev1.ClusterIPNone
	if !declared && !headless {
		return netip.AddrPort{}, fmt.Errorf("%w: Service %s/%s has no port %d", ErrRefused, svc.Namespace, svc.Name, port)
	}
	for _, slice := range slices.Items {
		target := port // the name of a headless Service resolves to its Pods
		if !headless {
			var ok bool
			if target, ok = slicePort(slice, name); !ok {
				continue
			}
		}
		for _, e := range slice.Endpoints {
			if e.Conditions.Ready != nil && !*e.Conditions.Ready || len(e.Addresses) == 0 {
				continue
			}
			if addr, err := netip.ParseAddr(e.Addresses[0]); err == nil {
				return netip.AddrPortFrom(addr, target), nil
			}
		}
	}
	return netip.AddrPort{}, fmt.Errorf("%w: Service %s/%s has no ready endpoint", ErrRefused, svc.Namespace, svc.Name)
}

func portName(svc *corev1.Service, port uint16) (string, bool) {
	for _, p := range svc.Spec.Ports {
		if p.Port == int32(port) {
			return p.Name, true
		}
	}
	return "", false
}

func slicePort(slice discoveryv1.EndpointSlice, name string) (uint16, bool) {
	for _, p := range slice.Ports {
		if p.Port != nil && (p.Name == nil && name == "" || p.Name != nil && *p.Name == name) {
			return uint16(*p.Port), true
		}
	}
	return 0, false
}
