package examples

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/pkg/validation"
)

const serveConfig = `applications:
- name: shop
  import_path: shop.main:app
  route_prefix: /shop
`

// BaseService is a RayService with one application that breaks no rule and gives no warning.
func BaseService() *rayv1.RayService {
	rs := &rayv1.RayService{
		TypeMeta:   metav1.TypeMeta{APIVersion: rayv1.GroupVersion.String(), Kind: "RayService"},
		ObjectMeta: metav1.ObjectMeta{Name: "demo", Namespace: "default"},
		Spec:       rayv1.RayServiceSpec{RayClusterSpec: Base().Spec, ServeConfigV2: serveConfig},
	}
	rayv1.SetRayServiceDefaults(rs)
	return rs
}

type service = rayv1.RayService

func serviceRows() []row[service] {
	var rows []row[service]
	for _, list := range [][]row[service]{serviceMetadata(), serviceClusters(), serveConfigs(), serveServices(), serviceUpgrades(), serviceUpdates()} {
		rows = append(rows, list...)
	}
	return rows
}

func serviceMetadata() []row[service] {
	name := at("metadata.name")
	rename := func(name string) func(*service) { return func(rs *service) { rs.Name = name } }
	annotate := func(key, text string) func(*service) {
		return func(rs *service) { metav1.SetMetaDataAnnotation(&rs.ObjectMeta, key, text) }
	}
	timeout := func(text string) func(*service) { return annotate(rayv1.AnnotationInitializingTimeout, text) }
	timeoutAt := at("metadata.annotations[ray.io/initializing-timeout]")
	return []row[service]{
		{ID: "RS-010", Name: "48 characters", Mutate: rename(strings.Repeat("a", 48)), Fix: rename(strings.Repeat("a", 47)), WantFields: name},
		{ID: "RS-010", Name: "generated name too long", Mutate: func(rs *service) { rs.Name, rs.GenerateName = "", strings.Repeat("a", 43) }, Fix: func(rs *service) { rs.GenerateName = "a-" }, WantFields: at("metadata.generateName")},
		{ID: "RS-011", Name: "dot", Mutate: rename("in.valid"), Fix: rename("in-valid"), WantFields: name},
		{ID: "RS-012", Name: "0s", Mutate: timeout("0s"), Fix: timeout("5m"), WantFields: timeoutAt},
		{ID: "RS-012", Name: "negative", Mutate: timeout("-5m"), Fix: timeout("300"), WantFields: timeoutAt},
		{ID: "RS-012", Name: "words", Mutate: timeout("invalid"), Fix: timeout(""), WantFields: timeoutAt},
		{ID: "RS-538", Name: "pause", Mutate: annotate(rayv1.AnnotationUpgradePaused, "yes"), Fix: annotate(rayv1.AnnotationUpgradePaused, "true"), WantFields: at("metadata.annotations[raygate.io/upgrade-paused]"), Warning: true},
		{ID: "RS-538", Name: "percent sign", Mutate: all(stepwise, annotate(rayv1.AnnotationCanaryWeight, "10%")), Fix: annotate(rayv1.AnnotationCanaryWeight, "10"), WantFields: at("metadata.annotations[raygate.io/canary-weight]"), Warning: true},
		{ID: "RS-538", Name: "gRPC", Mutate: annotate(rayv1.AnnotationGRPCRoute, "True"), Fix: annotate(rayv1.AnnotationGRPCRoute, "false"), WantFields: at("metadata.annotations[raygate.io/grpc-route]"), Warning: true},
		{ID: "RS-538", Name: "no bound", Mutate: all(stepwise, annotate(rayv1.AnnotationCanaryWeight, "10"), annotate(rayv1.AnnotationCanaryAnalysis, "p99<0ms,for=5m")), Fix: annotate(rayv1.AnnotationCanaryAnalysis, "errorRate<0.01,p99<500ms,for=5m"), WantFields: at("metadata.annotations[raygate.io/canary-analysis]"), Warning: true},
		{ID: "RS-538", Name: "unknown action", Mutate: annotate(rayv1.AnnotationUpgradeFailureAction, "Rollback"), Fix: annotate(rayv1.AnnotationUpgradeFailureAction, "Abort"), WantFields: at("metadata.annotations[raygate.io/upgrade-failure-action]"), Warning: true},
		{ID: "RS-539", Name: "no steps", Mutate: annotate(rayv1.AnnotationCanaryWeight, "10"), Fix: stepwise, WantFields: at("metadata.annotations[raygate.io/canary-weight]"), Warning: true},
		{ID: "RS-539", Name: "no port", Mutate: all(stepwise, annotate(rayv1.AnnotationGRPCRoute, "true")), Fix: func(rs *service) {
			serviceHead(rs).Ports = []corev1.ContainerPort{{Name: "dashboard", ContainerPort: 8265}, {Name: "serve", ContainerPort: 8000}, {Name: rayv1.PortServeGRPC, ContainerPort: 9000}}
		}, WantFields: at("metadata.annotations[raygate.io/grpc-route]"), Warning: true},
		{ID: "RS-539", Name: "no weight", Mutate: all(stepwise, annotate(rayv1.AnnotationCanaryAnalysis, "errorRate<.5")), Fix: annotate(rayv1.AnnotationCanaryWeight, "10"), WantFields: at("metadata.annotations[raygate.io/canary-analysis]"), Warning: true},
		{ID: "RS-539", Name: "true", Mutate: annotate(rayv1.AnnotationCanaryConfirmed, "true"), Fix: annotate(rayv1.AnnotationCanaryConfirmed, "demo-x7k2p"), WantFields: at("metadata.annotations[raygate.io/canary-confirmed]"), Warning: true},
		{ID: "RS-539", Name: "another service", Mutate: annotate(rayv1.AnnotationUpgradeAbort, "shop-x7k2p"), WantFields: at("metadata.annotations[raygate.io/upgrade-abort]"), Warning: true},
		{ID: "RS-581", Name: "no spec", Mutate: func(rs *service) { rs.Spec = rayv1.RayServiceSpec{} }, WantFields: at("spec")},
	}
}

func serviceHead(rs *service) *corev1.Container {
	return &rs.Spec.RayClusterSpec.HeadGroupSpec.Template.Spec.Containers[0]
}

// listPorts lists ports of the head by name, from 8265 on.
func listPorts(names ...string) func(*service) {
	return func(rs *service) {
		serviceHead(rs).Ports = nil
		for i, name := range names {
			serviceHead(rs).Ports = append(serviceHead(rs).Ports, corev1.ContainerPort{Name: name, ContainerPort: 8265 + int32(i)})
		}
	}
}

func serviceClusters() []row[service] {
	const c = "spec.rayClusterConfig"
	container0 := c + ".headGroupSpec.template.spec.containers[0]"
	spec := func(f func(*rayv1.RayClusterSpec)) func(*service) {
		return func(rs *service) { f(&rs.Spec.RayClusterSpec) }
	}
	headService := func(name string) func(*service) {
		return spec(func(s *rayv1.RayClusterSpec) {
			s.HeadGroupSpec.HeadService = &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name}}
		})
	}
	suspend := func(on bool) func(*service) { return spec(func(s *rayv1.RayClusterSpec) { s.Suspend = &on }) }
	ingress := func(on bool) func(*service) {
		return spec(func(s *rayv1.RayClusterSpec) { s.HeadGroupSpec.EnableIngress = &on })
	}
	exclude := func(rs *service) { rs.Spec.ExcludeHeadPodFromServeSvc = true }
	workerPort := spec(func(s *rayv1.RayClusterSpec) {
		s.WorkerGroupSpecs[0].Template.Spec.Containers[0].Ports = []corev1.ContainerPort{{Name: "serve", ContainerPort: 8000}}
	})
	rocks := func(storage *rayv1.GcsEmbeddedStorage) func(*service) {
		return spec(func(s *rayv1.RayClusterSpec) {
			s.GcsFaultToleranceOptions = &rayv1.GcsFaultToleranceOptions{Backend: rayv1.GcsFTBackendRocksDB, Storage: storage}
		})
	}
	namespace := func(name string) func(*service) {
		return spec(func(s *rayv1.RayClusterSpec) {
			s.GcsFaultToleranceOptions = &rayv1.GcsFaultToleranceOptions{RedisAddress: "redis:6379", ExternalStorageNamespace: name}
		})
	}
	embedded := gate(validation.GateEmbeddedGCSStorage, true)
	oneNode := gate(validation.GateEmbeddedGCSStorage, true)
	oneNode.Facts = &validation.Facts{Claim: &corev1.PersistentVolumeClaimSpec{AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}}}
	keeps := func(rs *service) {
		rs.Spec.UpgradeStrategy = &rayv1.RayServiceUpgradeStrategy{Type: new(rayv1.RayServiceUpgradeNone)}
	}
	return []row[service]{
		{ID: "RS-013", Name: "token of Kubernetes", Mutate: spec(func(s *rayv1.RayClusterSpec) {
			s.AuthOptions = &rayv1.AuthOptions{Mode: rayv1.AuthModeToken, EnableK8sTokenAuth: new(true)}
		}), Fix: spec(func(s *rayv1.RayClusterSpec) { s.AuthOptions.EnableK8sTokenAuth = nil }), WantFields: at(c + ".authOptions.enableK8sTokenAuth")},
		{ID: "RS-015", Name: "named", Mutate: headService("head"), Fix: headService(""), WantFields: at(c + ".headGroupSpec.headService.metadata.name")},
		{ID: "RS-530", Name: "recreate", Mutate: spec(func(s *rayv1.RayClusterSpec) {
			s.UpgradeStrategy = &rayv1.RayClusterUpgradeStrategy{Type: new(rayv1.RayClusterRecreate)}
		}), Fix: spec(func(s *rayv1.RayClusterSpec) { s.UpgradeStrategy = nil }), WantFields: at(c + ".upgradeStrategy.type")},
		{ID: "RS-535", Name: "no dashboard", Mutate: listPorts("web", "serve"), Fix: listPorts("dashboard", "serve"), WantFields: at(container0 + ".ports"), Warning: true},
		{ID: "RS-512", Name: "no serve", Mutate: listPorts("dashboard"), Fix: listPorts("dashboard", "serve-shop"), WantFields: at(container0 + ".ports")},
		{ID: "RS-516", Name: "claim of the operator", Mutate: rocks(nil), Fix: rocks(&rayv1.GcsEmbeddedStorage{ClaimName: "shared"}), WantFields: at(c + ".gcsFaultToleranceOptions.storage"), Warning: true, Options: embedded},
		{ID: "RS-516", Name: "claim for one node", Mutate: rocks(&rayv1.GcsEmbeddedStorage{ClaimName: "shared"}), Fix: keeps, WantFields: at(c + ".gcsFaultToleranceOptions.storage"), Warning: true, Options: oneNode},
		{ID: "RS-517", Name: "shared", Mutate: namespace("shop"), Fix: namespace(""), WantFields: at(c + ".gcsFaultToleranceOptions.externalStorageNamespace"), Warning: true},
		{ID: "RS-518", Name: "workers without a port", Mutate: exclude, Fix: workerPort, WantFields: at(c + ".workerGroupSpecs[0].template.spec.containers[0].ports"), Warning: true},
		{ID: "RS-519", Name: "ingress", Mutate: ingress(true), Fix: ingress(false), WantFields: at(c + ".headGroupSpec.enableIngress"), Warning: true},
		{ID: "RS-520", Name: "no workers", Mutate: all(exclude, spec(func(s *rayv1.RayClusterSpec) { s.WorkerGroupSpecs = nil })), Fix: func(rs *service) { rs.Spec.ExcludeHeadPodFromServeSvc = false }, WantFields: at("spec.excludeHeadPodFromServeSvc"), Warning: true},
		{ID: "RS-522", Name: "0", Mutate: func(rs *service) { rs.Spec.RayClusterDeletionDelaySeconds = new(int32(0)) }, Fix: func(rs *service) { rs.Spec.RayClusterDeletionDelaySeconds = new(int32(1)) }, WantFields: at("spec.rayClusterDeletionDelaySeconds"), Warning: true},
		{ID: "RS-522", Name: "two days", Mutate: func(rs *service) { rs.Spec.RayClusterDeletionDelaySeconds = new(int32(172800)) }, Fix: func(rs *service) { rs.Spec.RayClusterDeletionDelaySeconds = new(int32(86400)) }, WantFields: at("spec.rayClusterDeletionDelaySeconds"), Warning: true},
		{ID: "RS-002", Name: "negative", Mutate: func(rs *service) { rs.Spec.RayClusterDeletionDelaySeconds = new(int32(-1)) }, Fix: func(rs *service) { rs.Spec.RayClusterDeletionDelaySeconds = new(int32(0)) }, WantFields: at("spec.rayClusterDeletionDelaySeconds")},
		{ID: "RS-524", Name: "suspended cluster", Mutate: suspend(true), Fix: suspend(false), WantFields: at(c + ".suspend"), Warning: true},
		{ID: "RS-524", Name: "resumed", Update: true, Before: suspend(true), Mutate: suspend(false), WantFields: at(c + ".suspend"), Warning: true},
		{ID: "RS-525", Name: "another controller", Mutate: spec(func(s *rayv1.RayClusterSpec) { s.ManagedBy = new(rayv1.ManagedByMultiKueue) }), Fix: func(rs *service) { rs.Spec.ManagedBy = new(rayv1.ManagedByMultiKueue) }, WantFields: at(c + ".managedBy"), Warning: true},
		{ID: "RS-005", Name: "unknown controller", Mutate: func(rs *service) { rs.Spec.ManagedBy = new("me") }, Fix: func(rs *service) { rs.Spec.ManagedBy = new(rayv1.ManagedByMultiKueue) }, WantFields: at("spec.managedBy")},
		{ID: "RS-513", Name: "dead fields", Mutate: func(rs *service) {
			rs.Spec.ServiceUnhealthySecondThreshold, rs.Spec.DeploymentUnhealthySecondThreshold = new(int32(1)), new(int32(1))
		}, WantFields: at("spec.serviceUnhealthySecondThreshold", "spec.deploymentUnhealthySecondThreshold"), Warning: true},
	}
}

func serveConfigs() []row[service] {
	set := func(text string) func(*service) { return func(rs *service) { rs.Spec.ServeConfigV2 = text } }
	app := func(lines ...string) func(*service) {
		return set("applications:\n- " + strings.Join(lines, "\n  ") + "\n")
	}
	two := func(a, b string) func(*service) {
		return set("applications:\n- {import_path: a:b, " + a + "}\n- {import_path: a:b, " + b + "}\n")
	}
	const name, path = "name: shop", "import_path: a:b"
	config := at("spec.serveConfigV2")
	return []row[service]{
		{ID: "RS-502", Name: "broken", Mutate: set("["), Fix: set(serveConfig), WantFields: config},
		{ID: "RS-502", Name: "a list", Mutate: set("- a"), Fix: set(serveConfig), WantFields: config},
		{ID: "RS-503", Name: "empty text", Mutate: set(""), Fix: set(serveConfig), WantFields: config, Warning: true},
		{ID: "RS-503", Name: "empty list", Mutate: set("applications: []"), Fix: set(serveConfig), WantFields: config, Warning: true},
		{ID: "RS-503", Name: "no list", Mutate: set("applications: {}"), Fix: set(serveConfig), WantFields: config, Warning: true},
		{ID: "RS-504", Name: "no name", Mutate: app(path), Fix: app(path, name), WantFields: config, Warning: true},
		{ID: "RS-504", Name: "twice", Mutate: two("name: a, route_prefix: /a", "name: a, route_prefix: /b"), Fix: two("name: a, route_prefix: /a", "name: b, route_prefix: /b"), WantFields: config, Warning: true},
		{ID: "RS-505", Name: "twice", Mutate: two("name: a, route_prefix: /a", "name: b, route_prefix: /a"), Fix: two("name: a", "name: b, route_prefix: null"), WantFields: config, Warning: true},
		{ID: "RS-505", Name: "no slash", Mutate: app(name, path, "route_prefix: a"), Fix: app(name, path, "route_prefix: /a"), WantFields: config, Warning: true},
		{ID: "RS-505", Name: "slash after", Mutate: app(name, path, "route_prefix: /a/"), Fix: app(name, path, "route_prefix: /"), WantFields: config, Warning: true},
		{ID: "RS-506", Name: "missing", Mutate: app(name), Fix: app(name, path), WantFields: config, Warning: true},
		{ID: "RS-506", Name: "a file", Mutate: app(name, "import_path: main"), Fix: app(name, "import_path: shop.main.app"), WantFields: config, Warning: true},
		{ID: "RS-507", Name: "no name", Mutate: app(name, path, "deployments:", "- num_replicas: 1"), Fix: app(name, path, "deployments:", "- {name: a, num_replicas: 1}"), WantFields: config, Warning: true},
		{ID: "RS-507", Name: "two ways to scale", Mutate: app(name, path, "deployments:", "- {name: a, num_replicas: 1, autoscaling_config: {min_replicas: 1}}"), Fix: app(name, path, "deployments:", "- {name: a, num_replicas: auto, autoscaling_config: {min_replicas: 1}}"), WantFields: config, Warning: true},
		{ID: "RS-507", Name: "min above max", Mutate: app(name, path, "deployments:", "- {name: a, autoscaling_config: {min_replicas: 2, max_replicas: 1}}"), Fix: app(name, path, "deployments:", "- {name: a, autoscaling_config: {min_replicas: 1, max_replicas: 1}}"), WantFields: config, Warning: true},
		{ID: "RS-507", Name: "misspelt", Mutate: app(name, path, "deployments:", "- {name: a, replicas: 1}"), Fix: app(name, path, "deployments:", "- {name: a}"), WantFields: config, Warning: true},
		{ID: "RS-508", Name: "port", Mutate: set(serveConfig + "http_options: {port: 9000}"), Fix: set(serveConfig + "http_options: {port: 8000, host: 0.0.0.0}"), WantFields: config, Warning: true},
		{ID: "RS-508", Name: "host", Mutate: set(serveConfig + "http_options: {host: 127.0.0.1}"), Fix: set(serveConfig + "http_options: {}"), WantFields: config, Warning: true},
		{ID: "RS-527", Name: "folder", Mutate: app(name, path, "runtime_env: {working_dir: ./app}"), Fix: app(name, path, "runtime_env: {working_dir: 'https://example.com/app.zip'}"), WantFields: config, Warning: true},
		{ID: "RS-527", Name: "modules of a deployment", Mutate: app(name, path, "deployments:", "- {name: a, ray_actor_options: {runtime_env: {py_modules: ['s3://bucket/a.zip', lib]}}}"), Fix: app(name, path, "deployments:", "- {name: a, ray_actor_options: {runtime_env: {py_modules: ['s3://bucket/a.zip']}}}"), WantFields: config, Warning: true},
		{ID: "RS-509", Name: "single application", Mutate: set("importPath: a.b\n"), Fix: set(serveConfig), WantFields: config, Warning: true},
	}
}

func serveServices() []row[service] {
	set := func(s corev1.Service) func(*service) {
		return func(rs *service) { rs.Spec.ServeService = s.DeepCopy() }
	}
	named := func(name string) func(*service) {
		return set(corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	spec := func(s corev1.ServiceSpec) func(*service) { return set(corev1.Service{Spec: s}) }
	port := func(name string) corev1.ServiceSpec {
		return corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: name, Port: 80}}}
	}
	const svc = "spec.serveService"
	return []row[service]{
		{ID: "RS-514", Name: "unknown type", Mutate: spec(corev1.ServiceSpec{Type: "Internal"}), Fix: spec(corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort}), WantFields: at(svc + ".spec.type")},
		{ID: "RS-514", Name: "other ports", Mutate: spec(port("web")), Fix: spec(port("serve")), WantFields: at(svc + ".spec.ports"), Warning: true},
		{ID: "RS-514", Name: "selector", Mutate: spec(corev1.ServiceSpec{Selector: map[string]string{"a": "b"}}), Fix: spec(corev1.ServiceSpec{}), WantFields: at(svc + ".spec.selector"), Warning: true},
		{ID: "RC-018", Name: "port twice", Mutate: spec(corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "serve", Port: 80}, {Name: "more", Port: 80}}}), Fix: spec(port("serve")), WantFields: at(svc + ".spec.ports[1]")},
		{ID: "RS-526", Name: "upgrade in steps", Mutate: all(stepwise, spec(corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort})), Fix: func(rs *service) { rs.Spec.UpgradeStrategy = nil }, WantFields: at(svc), Warning: true},
		{ID: "RS-515", Name: "dot", Mutate: named("Shop.Svc"), Fix: named("shop"), WantFields: at(svc + ".metadata.name")},
		{ID: "RS-515", Name: "of the head", Mutate: named("demo-head-svc"), Fix: named("demo-serve"), WantFields: at(svc + ".metadata.name"), Warning: true},
	}
}

// stepwise is an upgrade in steps that is fine.
func stepwise(rs *service) {
	rs.Spec.RayClusterSpec.EnableInTreeAutoscaling = new(true)
	rs.Spec.UpgradeStrategy = &rayv1.RayServiceUpgradeStrategy{
		Type: new(rayv1.RayServiceNewClusterWithIncrementalUpgrade),
		ClusterUpgradeOptions: &rayv1.ClusterUpgradeOptions{
			MaxSurgePercent: new(int32(50)), StepSizePercent: new(int32(10)), IntervalSeconds: new(int32(30)), GatewayClassName: "istio",
		},
	}
}

func serviceUpgrades() []row[service] {
	const u = "spec.upgradeStrategy"
	const o = u + ".clusterUpgradeOptions"
	steps := func(f func(*rayv1.ClusterUpgradeOptions)) func(*service) {
		return all(stepwise, func(rs *service) { f(rs.Spec.UpgradeStrategy.ClusterUpgradeOptions) })
	}
	kind := func(t rayv1.RayServiceUpgradeType) func(*service) {
		return func(rs *service) { rs.Spec.UpgradeStrategy = &rayv1.RayServiceUpgradeStrategy{Type: &t} }
	}
	other := all(stepwise, func(rs *service) { rs.Spec.UpgradeStrategy.Type = new(rayv1.RayServiceNewCluster) })
	off := gate(validation.GateIncrementalUpgrade, false)
	return []row[service]{
		{ID: "RS-003", Name: "no step", Mutate: all(other, func(rs *service) { rs.Spec.UpgradeStrategy.ClusterUpgradeOptions.StepSizePercent = nil }), Fix: kind(rayv1.RayServiceNewCluster), WantFields: at(o + ".stepSizePercent")},
		{ID: "RS-003", Name: "no interval, gate off", Mutate: steps(func(o *rayv1.ClusterUpgradeOptions) { o.IntervalSeconds = nil }), Fix: stepwise, WantFields: at(o + ".intervalSeconds"), Options: off},
		{ID: "RS-016", Name: "unknown", Mutate: kind("InvalidType"), Fix: kind(rayv1.RayServiceUpgradeNone), WantFields: at(u + ".type")},
		{ID: "RS-018", Name: "no autoscaling", Mutate: all(stepwise, func(rs *service) { rs.Spec.RayClusterSpec.EnableInTreeAutoscaling = nil }), Fix: stepwise, WantFields: at("spec.rayClusterConfig.enableInTreeAutoscaling")},
		{ID: "RS-019", Name: "no options", Mutate: all(stepwise, func(rs *service) { rs.Spec.UpgradeStrategy.ClusterUpgradeOptions = nil }), Fix: stepwise, WantFields: at(o)},
		{ID: "RS-019", Name: "no options, gate off", Mutate: kind(rayv1.RayServiceNewClusterWithIncrementalUpgrade), Fix: kind(rayv1.RayServiceUpgradeNone), WantFields: at(o), Warning: true, Also: []string{"RS-018", "RS-511"}, Options: off},
		{ID: "RS-020", Name: "101", Mutate: steps(func(o *rayv1.ClusterUpgradeOptions) { o.MaxSurgePercent = new(int32(101)) }), Fix: steps(func(o *rayv1.ClusterUpgradeOptions) { o.MaxSurgePercent = new(int32(100)) }), WantFields: at(o + ".maxSurgePercent")},
		{ID: "RS-021", Name: "absent", Mutate: steps(func(o *rayv1.ClusterUpgradeOptions) { o.StepSizePercent = nil }), Fix: stepwise, WantFields: at(o + ".stepSizePercent")},
		{ID: "RS-021", Name: "negative", Mutate: steps(func(o *rayv1.ClusterUpgradeOptions) { o.StepSizePercent = new(int32(-1)) }), Fix: stepwise, WantFields: at(o + ".stepSizePercent")},
		{ID: "RS-022", Name: "60 of 50", Mutate: steps(func(o *rayv1.ClusterUpgradeOptions) { o.StepSizePercent = new(int32(60)) }), Fix: steps(func(o *rayv1.ClusterUpgradeOptions) { o.StepSizePercent, o.MaxSurgePercent = new(int32(60)), nil }), WantFields: at(o + ".stepSizePercent")},
		{ID: "RS-023", Name: "0", Mutate: steps(func(o *rayv1.ClusterUpgradeOptions) { o.IntervalSeconds = new(int32(0)) }), Fix: steps(func(o *rayv1.ClusterUpgradeOptions) { o.IntervalSeconds = new(int32(1)) }), WantFields: at(o + ".intervalSeconds")},
		{ID: "RS-024", Name: "empty", Mutate: steps(func(o *rayv1.ClusterUpgradeOptions) { o.GatewayClassName = "" }), Fix: stepwise, WantFields: at(o + ".gatewayClassName")},
		{ID: "RS-510", Name: "another type", Mutate: other, Fix: kind(rayv1.RayServiceNewCluster), WantFields: at(o), Warning: true},
		{ID: "RS-511", Name: "gate off", Mutate: stepwise, Fix: kind(rayv1.RayServiceUpgradeNone), WantFields: at(u + ".type"), Warning: true, Options: off},
		{ID: "RS-511", Name: "no step", Mutate: steps(func(o *rayv1.ClusterUpgradeOptions) { o.StepSizePercent = new(int32(0)) }), Fix: steps(func(o *rayv1.ClusterUpgradeOptions) { o.StepSizePercent = new(int32(1)) }), WantFields: at(o + ".stepSizePercent"), Warning: true},
	}
}

func serviceUpdates() []row[service] {
	managed := func(by string) func(*service) { return func(rs *service) { rs.Spec.ManagedBy = &by } }
	upgrading := func(rs *service) {
		rs.Status.Conditions = []metav1.Condition{{Type: rayv1.RayServiceUpgradeInProgress, Status: metav1.ConditionTrue,
			Reason: rayv1.ReasonBothActivePendingClustersExist, LastTransitionTime: metav1.Unix(0, 0)}}
	}
	image := func(rs *service) { serviceHead(rs).Image = "rayproject/ray:2.56.0-gpu" }
	keeps := func(rs *service) {
		rs.Spec.UpgradeStrategy = &rayv1.RayServiceUpgradeStrategy{Type: new(rayv1.RayServiceUpgradeNone)}
	}
	return []row[service]{
		{ID: "RS-004", Name: "changed", Update: true, Before: managed(rayv1.ManagedByKubeRayOperator), Mutate: managed(rayv1.ManagedByMultiKueue), WantFields: at("spec.managedBy")},
		{ID: "RS-027", Name: "removed", Update: true, Before: all(stepwise, upgrading), Mutate: func(rs *service) {
			rs.Spec.UpgradeStrategy = &rayv1.RayServiceUpgradeStrategy{Type: new(rayv1.RayServiceNewCluster)}
		}, WantFields: at("spec.upgradeStrategy.clusterUpgradeOptions")},
		{ID: "RS-521", Name: "image", Update: true, Before: keeps, Mutate: image, WantFields: at("spec.rayClusterConfig"), Warning: true},
		{ID: "RS-523", Name: "type", Update: true, Before: upgrading, Mutate: keeps, WantFields: at("spec.upgradeStrategy"), Warning: true},
		{ID: "X-501", Name: "old client", Update: true, Before: keeps, Mutate: func(rs *service) { rs.Spec.UpgradeStrategy = nil }, WantFields: at("apiVersion"), Warning: true, Options: validation.Options{RequestVersion: "v1alpha1"}},
	}
}
