package pod

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// addMetricsPort declares the port by which Prometheus finds Pods, unless the user declared one with this name.
func addMetricsPort(ray *corev1.Container) {
	isMetrics := func(p corev1.ContainerPort) bool { return p.Name == rayv1.PortMetrics }
	if !slices.ContainsFunc(ray.Ports, isMetrics) {
		ray.Ports = append(ray.Ports, corev1.ContainerPort{Name: rayv1.PortMetrics, ContainerPort: rayv1.DefaultMetricsPort})
	}
}
