package pod

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/raytest"
)

// allOptions turn on whatever a cluster may ask for.
var allOptions = Options{MTLS: true, HistoryServer: true}

// autoscaled, collected, encrypted and authenticated turn on a feature each.
var (
	autoscaled = raytest.Autoscaling()
	collected  = raytest.Spec(func(s *rayv1.RayClusterSpec) {
		s.HistoryServerOptions = &rayv1.HistoryServerOptions{CollectorOptions: &rayv1.CollectorOptions{Image: new("collector")}}
	})
	encrypted     = raytest.Spec(func(s *rayv1.RayClusterSpec) { s.TLSOptions = &rayv1.TLSOptions{Enabled: new(true)} })
	authenticated = authOptions(rayv1.AuthOptions{Mode: rayv1.AuthModeToken})
)

func authOptions(o rayv1.AuthOptions) raytest.ClusterOption {
	return raytest.Spec(func(s *rayv1.RayClusterSpec) { s.AuthOptions = &o })
}

func gcsOptions(o rayv1.GcsFaultToleranceOptions) raytest.ClusterOption {
	return raytest.Spec(func(s *rayv1.RayClusterSpec) { s.GcsFaultToleranceOptions = &o })
}

func autoscalerOptions(o rayv1.AutoscalerOptions) raytest.ClusterOption {
	return raytest.Spec(func(s *rayv1.RayClusterSpec) { s.AutoscalerOptions = &o })
}

// buildBoth builds the head and a worker of a cluster.
func buildBoth(o Options, opts ...raytest.ClusterOption) (head, worker *corev1.Pod) {
	rc := raytest.RayCluster("ns/demo", append([]raytest.ClusterOption{raytest.Workers("cpu", 1)}, opts...)...)
	return Head(rc, o), Worker(rc, &rc.Spec.WorkerGroupSpecs[0], o)
}

// containerOf returns a container or init container by name.
func containerOf(t *testing.T, p *corev1.Pod, name string) *corev1.Container {
	t.Helper()
	for _, c := range slices.Concat(p.Spec.InitContainers, p.Spec.Containers) {
		if c.Name == name {
			return &c
		}
	}
	t.Fatalf("the Pod has no container %s", name)
	return nil
}

// envOf is the environment of a container, with "ref" for what is no text.
func envOf(c *corev1.Container) map[string]string {
	env := map[string]string{}
	for _, v := range c.Env {
		env[v.Name] = v.Value
		if v.ValueFrom != nil {
			env[v.Name] = "ref"
		}
	}
	return env
}

// pick returns the entries of those keys that are there.
func pick(m map[string]string, keys ...string) map[string]string {
	picked := map[string]string{}
	for _, k := range keys {
		if v, ok := m[k]; ok {
			picked[k] = v
		}
	}
	return picked
}

func namesOf[T any](list []T, name func(T) string) []string {
	var all []string
	for _, e := range list {
		all = append(all, name(e))
	}
	return all
}

func containerName(c corev1.Container) string { return c.Name }
func mountName(m corev1.VolumeMount) string   { return m.Name }
func envName(v corev1.EnvVar) string          { return v.Name }

// TestOrder turns everything on and looks at the order of what results.
func TestOrder(t *testing.T) {
	own := func(s *corev1.PodSpec) {
		s.InitContainers = []corev1.Container{{Name: "user-init"}}
		s.Containers = append(s.Containers, corev1.Container{Name: "user-sidecar"})
		s.Containers[0].Env = []corev1.EnvVar{{Name: "USER"}}
		s.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "user", MountPath: "/user"}}
		s.Volumes = []corev1.Volume{{Name: "user"}}
	}
	o := allOptions
	o.Env = []corev1.EnvVar{{Name: "OPERATOR"}}
	o.HeadSidecars, o.WorkerSidecars = []corev1.Container{{Name: "head-sidecar"}}, []corev1.Container{{Name: "worker-sidecar"}}
	k8sAuth := authOptions(rayv1.AuthOptions{Mode: rayv1.AuthModeToken, EnableK8sTokenAuth: new(true)})
	version := rayv1.AutoscalerVersionV1
	redis := &rayv1.RedisCredential{Value: "x"}

	head, worker := buildBoth(o, autoscaled, collected, encrypted, k8sAuth,
		autoscalerOptions(rayv1.AutoscalerOptions{Version: &version}),
		gcsOptions(rayv1.GcsFaultToleranceOptions{RedisAddress: "redis:6379", RedisUsername: redis, RedisPassword: redis}),
		raytest.Labels(map[string]string{rayv1.LabelOriginatedFromCRD: "RayService"}),
		raytest.Spec(func(s *rayv1.RayClusterSpec) {
			own(&s.HeadGroupSpec.Template.Spec)
			own(&s.WorkerGroupSpecs[0].Template.Spec)
		}))
	rocks, _ := buildBoth(o, autoscaled, encrypted, k8sAuth, gcsOptions(rayv1.GcsFaultToleranceOptions{Backend: rayv1.GcsFTBackendRocksDB}))

	middle := []string{
		"RAY_CLUSTER_NAME", "RAY_CLUSTER_NAMESPACE", "RAY_CLOUD_INSTANCE_ID", "RAY_NODE_TYPE_NAME", "KUBERAY_GEN_RAY_START_CMD", "RAY_PORT",
		"RAY_timeout_ms_task_wait_for_death_info", "RAY_gcs_server_request_timeout_seconds", "RAY_SERVE_KV_TIMEOUT_S",
		"RAY_ADDRESS", "RAY_USAGE_STATS_KUBERAY_IN_USE",
	}
	features := []string{
		"RAY_AUTH_MODE", "RAY_ENABLE_K8S_TOKEN_AUTH", "RAY_USE_TLS", "RAY_TLS_SERVER_CERT", "RAY_TLS_SERVER_KEY", "RAY_TLS_CA_CERT", "OPERATOR",
	}
	export := []string{
		"RAY_DASHBOARD_ENABLE_K8S_DISK_USAGE",
		"RAY_enable_ray_event", "RAY_enable_core_worker_ray_event_to_aggregator", "RAY_DASHBOARD_AGGREGATOR_AGENT_EVENTS_EXPORT_ADDR",
		"RAY_DASHBOARD_AGGREGATOR_AGENT_EXPOSABLE_EVENT_TYPES", "RAY_DASHBOARD_AGGREGATOR_AGENT_PUBLISHER_HTTP_ENDPOINT_EXPOSABLE_EVENT_TYPES",
	}
	want := map[string][]string{
		"head containers":   {"ray-head", "user-sidecar", "autoscaler", "ray-history-collector", "head-sidecar"},
		"worker containers": {"ray-worker", "user-sidecar", "ray-history-collector", "worker-sidecar"},
		"head init":         {"wait-for-tls-ip-san", "user-init"},
		"worker init":       {"wait-for-tls-ip-san", "user-init", "wait-gcs-ready"},
		"head mounts":       {"user", "ray-token", "ray-tls", "shared-mem", "ray-logs"},
		"worker mounts":     {"user", "ray-token", "ray-tls", "shared-mem", "ray-logs"},
		"rocksdb mounts":    {"gcs-storage", "ray-token", "ray-tls", "shared-mem", "ray-logs"},
		"autoscaler mounts": {"ray-token", "ray-tls", "ray-logs"},
		"collector mounts":  {"ray-token", "ray-logs"},
		"head env": slices.Concat(
			[]string{"USER", "RAY_enable_autoscaler_v2", "RAY_external_storage_namespace", "RAY_REDIS_ADDRESS", "REDIS_USERNAME", "REDIS_PASSWORD"},
			features, middle, []string{"RAY_USAGE_STATS_EXTRA_TAGS"}, export),
		"worker env": slices.Concat(
			[]string{"USER", "RAY_gcs_rpc_server_reconnect_timeout_s"},
			features, []string{"FQ_RAY_IP", "RAY_IP"}, middle, export),
		"wait-gcs-ready env": slices.Concat([]string{"USER"}, features[:6], []string{"FQ_RAY_IP", "RAY_IP"}),
		"autoscaler env": slices.Concat(
			[]string{"RAY_CLUSTER_NAME", "RAY_CLUSTER_NAMESPACE", "RAY_HEAD_POD_NAME", "KUBERAY_CRD_VER", "KUBERAY_GEN_AUTOSCALER_START_CMD"},
			features[:6]),
	}
	got := map[string][]string{
		"head containers":    namesOf(head.Spec.Containers, containerName),
		"worker containers":  namesOf(worker.Spec.Containers, containerName),
		"head init":          namesOf(head.Spec.InitContainers, containerName),
		"worker init":        namesOf(worker.Spec.InitContainers, containerName),
		"head mounts":        namesOf(head.Spec.Containers[0].VolumeMounts, mountName),
		"worker mounts":      namesOf(worker.Spec.Containers[0].VolumeMounts, mountName),
		"rocksdb mounts":     namesOf(rocks.Spec.Containers[0].VolumeMounts, mountName),
		"autoscaler mounts":  namesOf(containerOf(t, head, "autoscaler").VolumeMounts, mountName),
		"collector mounts":   namesOf(containerOf(t, head, "ray-history-collector").VolumeMounts, mountName),
		"head env":           namesOf(head.Spec.Containers[0].Env, envName),
		"worker env":         namesOf(worker.Spec.Containers[0].Env, envName),
		"wait-gcs-ready env": namesOf(containerOf(t, worker, "wait-gcs-ready").Env, envName),
		"autoscaler env":     namesOf(containerOf(t, head, "autoscaler").Env, envName),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
	volumes := func(p *corev1.Pod) []string {
		return namesOf(p.Spec.Volumes, func(v corev1.Volume) string { return v.Name })
	}
	for name, p := range map[string]*corev1.Pod{"head mounts": head, "worker mounts": worker, "rocksdb mounts": rocks} {
		if diff := cmp.Diff(want[name], volumes(p)); diff != "" {
			t.Errorf("volumes beside %s (-want +got):\n%s", name, diff)
		}
	}
}
