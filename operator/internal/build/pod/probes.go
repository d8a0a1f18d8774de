package pod

import (
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/version"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// healthEndpointVersion is the first Ray release whose agent reports the health of the whole node, so that the image needs no
// wget.
var healthEndpointVersion = version.MustParseGeneric("2.53.0")

// addProbes adds the probes that the user did not set. Liveness has long timeouts, because killing a Ray node loses its objects;
// readiness is quick.
func (n *node) addProbes(ray *corev1.Container, params map[string]string) {
	timeout := int32(2)
	if n.isHead() {
		timeout = 5
	}
	health := n.healthCheck(params)
	if ray.LivenessProbe == nil {
		ray.LivenessProbe = probe(health, 30, timeout, 120)
	}
	if ray.ReadinessProbe == nil {
		ray.ReadinessProbe = probe(*health.DeepCopy(), 10, timeout, 10)
		if !n.isHead() && n.ofRayService() {
			// A worker whose proxy does not answer must leave the serve Service at once.
			ray.ReadinessProbe.ProbeHandler = execAll(
				raylet(params),
				success(10, servePort(ray), "-/healthz"),
			)
			ray.ReadinessProbe.FailureThreshold = 1
		}
	}
}

func probe(handler corev1.ProbeHandler, delay, timeout, failures int32) *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler: handler, InitialDelaySeconds: delay, TimeoutSeconds: timeout, PeriodSeconds: 5, SuccessThreshold: 1, FailureThreshold: failures,
	}
}

func (n *node) healthCheck(params map[string]string) corev1.ProbeHandler {
	// A version that cannot be parsed, such as nightly, might be an old one.
	if v, err := version.ParseGeneric(n.rc.Spec.RayVersion); err == nil && v.AtLeast(healthEndpointVersion) {
		return corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{
			Path: "/api/healthz",
			Port: intstr.FromInt32(AgentPort(params)),
		}}
	}
	if n.isHead() {
		dashboard := portParam(params, paramDashboardPort, rayv1.DefaultDashboardPort)
		return execAll(raylet(params), success(10, dashboard, "api/gcs_healthz"))
	}
	return execAll(raylet(params))
}

func raylet(params map[string]string) string {
	return success(2, AgentPort(params), "api/local_raylet_healthz")
}

// AgentPort returns the port of the dashboard agent of a node with these start parameters.
func AgentPort(params map[string]string) int32 {
	return portParam(params, paramAgentListenPort, rayv1.DefaultDashboardAgentListenPort)
}

func success(timeout int, port int32, path string) string {
	return fmt.Sprintf("wget --tries 1 -T %d -q -O- http://localhost:%d/%s | grep success", timeout, port, path)
}

func execAll(checks ...string) corev1.ProbeHandler {
	return corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"bash", "-c", strings.Join(checks, " && ")}}}
}

func servePort(ray *corev1.Container) int32 {
	for i := range ray.Ports {
		if ray.Ports[i].Name == rayv1.PortServe {
			return ray.Ports[i].ContainerPort
		}
	}
	return rayv1.DefaultServePort
}

// portParam returns a port from the start parameters. Text that is not a 32-bit number, such as a $VARIABLE, counts as absent.
func portParam(params map[string]string, name string, byDefault int32) int32 {
	if port, err := strconv.ParseInt(params[name], 10, 32); err == nil {
		return int32(port)
	}
	return byDefault
}
