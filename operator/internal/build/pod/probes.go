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

// healthEndpointVersion is the first Ray release whose agent reports the health of the whole node, so that the kubelet can ask it and no program
// of the image has to run.
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
			// A worker whose proxy does not answer must leave the serve Service at once. Liveness does not depend on the proxy: Serve's controller
			// restarts a proxy that hangs, and a restart of the worker would lose its replicas and objects.
			ray.ReadinessProbe.ProbeHandler = proxyCheck(health, params, servePort(ray))
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

// proxyCheck returns the check of Serve's proxy. Without the health endpoint of a node, a command checks its raylet, too.
func proxyCheck(health corev1.ProbeHandler, params map[string]string, port int32) corev1.ProbeHandler {
	const path = "-/healthz"
	if health.HTTPGet != nil {
		return corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/" + path, Port: intstr.FromInt32(port)}}
	}
	return execAll(raylet(params), success(10, port, path))
}

func raylet(params map[string]string) string {
	return success(2, AgentPort(params), "api/local_raylet_healthz")
}

// AgentPort returns the port of the dashboard agent of a node with these start parameters.
func AgentPort(params map[string]string) int32 {
	return portParam(params, paramAgentListenPort, rayv1.DefaultDashboardAgentListenPort)
}

// success returns a command that asks a server of the node. An image without wget, where the shell's exit code is 127, has Python.
func success(timeout int, port int32, path string) string {
	url := fmt.Sprintf("http://localhost:%d/%s", port, path)
	const python = "import sys,urllib.request as r; print(r.urlopen(sys.argv[1], timeout=int(sys.argv[2])).read().decode())"
	return fmt.Sprintf(`{ wget --tries 1 -T %[1]d -q -O- %[2]s || { [ $? = 127 ] && python3 -c '%[3]s' %[2]s %[1]d; }; } | grep success`, timeout, url, python)
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
