package service

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// headPorts returns the ports of the head's Ray container by name; an unnamed port N is called N-port. Without any port it returns
// Ray's defaults. It always includes the metrics port, because the Pod gets it too. Like KubeRay, it ignores start parameters:
// users who move a port must declare it.
func headPorts(rc *rayv1.RayCluster) map[string]int32 {
	ports := map[string]int32{}
	if containers := rc.Spec.HeadGroupSpec.Template.Spec.Containers; len(containers) > 0 {
		for _, p := range containers[0].Ports {
			ports[cmp.Or(p.Name, strconv.Itoa(int(p.ContainerPort))+"-port")] = p.ContainerPort
		}
	}
	if len(ports) == 0 {
		ports = map[string]int32{
			rayv1.PortClient:    rayv1.DefaultClientPort,
			rayv1.PortGCSServer: rayv1.DefaultGCSServerPort,
			rayv1.PortDashboard: rayv1.DefaultDashboardPort,
			rayv1.PortServe:     rayv1.DefaultServePort,
		}
	}
	if _, ok := ports[rayv1.PortMetrics]; !ok {
		ports[rayv1.PortMetrics] = rayv1.DefaultMetricsPort
	}
	return ports
}

// DashboardPort returns the port of the head Service for the dashboard.
func DashboardPort(rc *rayv1.RayCluster) int32 {
	return cmp.Or(headPorts(rc)[rayv1.PortDashboard], rayv1.DefaultDashboardPort)
}

// DashboardPortOf returns the port for the dashboard of a head Service as it is; 0 if it has none of that name.
func DashboardPortOf(svc *corev1.Service) int32 {
	for i := range svc.Spec.Ports {
		if svc.Spec.Ports[i].Name == rayv1.PortDashboard {
			return svc.Spec.Ports[i].Port
		}
	}
	return 0
}

// headServicePorts returns headPorts as Service ports, sorted by name. The API server sets the target port.
func headServicePorts(rc *rayv1.RayCluster) []corev1.ServicePort {
	ports := headPorts(rc)
	list := make([]corev1.ServicePort, 0, len(ports))
	for _, name := range slices.Sorted(maps.Keys(ports)) {
		list = append(list, corev1.ServicePort{Name: name, Port: ports[name], AppProtocol: new("tcp")})
	}
	return list
}
