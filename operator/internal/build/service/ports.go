package service

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// headPorts are the ports of the head's Ray container by name; a port N without a name is called N-port. Without any
// port these are Ray's defaults. The metrics port is always among them, because the Pod gets it as well. Start parameters
// are not looked at, as by KubeRay: a user who moves a port declares it.
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

// DashboardPort is the port of the head Service that leads to the dashboard.
func DashboardPort(rc *rayv1.RayCluster) int32 {
	return cmp.Or(headPorts(rc)[rayv1.PortDashboard], rayv1.DefaultDashboardPort)
}

// headServicePorts are headPorts as ports of a Service, sorted by name. The target port is left to the API server.
func headServicePorts(rc *rayv1.RayCluster) []corev1.ServicePort {
	ports := headPorts(rc)
	list := make([]corev1.ServicePort, 0, len(ports))
	for _, name := range slices.Sorted(maps.Keys(ports)) {
		list = append(list, corev1.ServicePort{Name: name, Port: ports[name], AppProtocol: new("tcp")})
	}
	return list
}
