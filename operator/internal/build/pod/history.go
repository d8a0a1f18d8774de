package pod

import (
	"cmp"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/names"
)

// collectorEventsPort is the port on which the collector receives events from the Ray processes of its Pod.
const collectorEventsPort = "8084"

// collectedEvents are the kinds of events that the history server can show.
var collectedEvents = strings.Join([]string{
	"TASK_DEFINITION_EVENT",
	"TASK_LIFECYCLE_EVENT",
	"ACTOR_TASK_DEFINITION_EVENT",
	"TASK_PROFILE_EVENT",
	"DRIVER_JOB_DEFINITION_EVENT",
	"DRIVER_JOB_LIFECYCLE_EVENT",
	"ACTOR_DEFINITION_EVENT",
	"ACTOR_LIFECYCLE_EVENT",
	"NODE_DEFINITION_EVENT",
	"NODE_LIFECYCLE_EVENT",
}, ",")

// collectorOptions returns nil without a collector.
func (n *node) collectorOptions() *rayv1.CollectorOptions {
	if o := n.rc.Spec.HistoryServerOptions; n.o.HistoryServer && o != nil {
		return o.CollectorOptions
	}
	return nil
}

// newCollector returns the container that uploads logs and events of the node to the history server's storage; nil without a
// collector.
func (n *node) newCollector(params map[string]string) *corev1.Container {
	if n.collectorOptions() == nil {
		return nil
	}
	o := n.collectorOptions().DeepCopy()
	c := &corev1.Container{
		Name:            rayv1.ContainerHistoryCollector,
		Image:           ptr.Deref(o.Image, ""),
		ImagePullPolicy: cmp.Or(ptr.Deref(o.ImagePullPolicy, ""), corev1.PullIfNotPresent),
		Resources:       corev1.ResourceRequirements{Requests: Amounts("50m", "64Mi"), Limits: Amounts("200m", "256Mi")},
		Env:             n.collectorEnv(params),
	}
	c.Resources = ptr.Deref(o.Resources, c.Resources)
	c.Env = Override(c.Env, o.Env)
	return c
}

func (n *node) collectorEnv(params map[string]string) []corev1.EnvVar {
	role := "Worker"
	if n.isHead() {
		role = "Head"
	}
	env := []corev1.EnvVar{
		field("POD_IP", "status.podIP"),
		text("RAY_CLUSTER_NAME", n.rc.Name),
		text("RAY_CLUSTER_NAMESPACE", n.rc.Namespace),
		text("RAY_ROLE", role),
		text("EVENTS_PORT", collectorEventsPort),
		text("FQ_RAY_IP", names.HeadHost(n.rc, n.o.ClusterDomain)),
	}
	if kind := n.rc.Labels[rayv1.LabelOriginatedFromCRD]; kind != "" {
		env = append(env, text("OWNER_KIND", kind))
	}
	if name := n.rc.Labels[rayv1.LabelOriginatedFromCRName]; name != "" {
		env = append(env, text("OWNER_NAME", name))
	}
	if n.isHead() {
		port := portParam(params, paramDashboardPort, rayv1.DefaultDashboardPort)
		env = append(env, text("RAY_DASHBOARD_ADDRESS", "http://localhost:"+strconv.Itoa(int(port))))
	}
	return env
}

// addExportEnv makes Ray send events to the collector, if there is one.
func (n *node) addExportEnv(ray *corev1.Container) {
	if n.collectorOptions() == nil {
		return
	}
	env := environment{&ray.Env}
	env.setDefault(text("RAY_enable_ray_event", "true"))
	env.setDefault(text("RAY_enable_core_worker_ray_event_to_aggregator", "true"))
	env.setDefault(text("RAY_DASHBOARD_AGGREGATOR_AGENT_EVENTS_EXPORT_ADDR", "http://localhost:"+collectorEventsPort+"/v1/events"))
	env.setDefault(text("RAY_DASHBOARD_AGGREGATOR_AGENT_EXPOSABLE_EVENT_TYPES", collectedEvents))
	env.setDefault(text("RAY_DASHBOARD_AGGREGATOR_AGENT_PUBLISHER_HTTP_ENDPOINT_EXPOSABLE_EVENT_TYPES", collectedEvents))
}
