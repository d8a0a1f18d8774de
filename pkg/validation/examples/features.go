package examples

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/pkg/validation"
)

func withGCS(o rayv1.GcsFaultToleranceOptions) func(*cluster) {
	return func(rc *cluster) { rc.Spec.GcsFaultToleranceOptions = o.DeepCopy() }
}

func gcs() []row[cluster] {
	const o = "spec.gcsFaultToleranceOptions"
	redis := withGCS(rayv1.GcsFaultToleranceOptions{RedisAddress: "redis:6379"})
	rocks := func(f func(*rayv1.GcsFaultToleranceOptions)) func(*cluster) {
		return func(rc *cluster) {
			rc.Spec.GcsFaultToleranceOptions = &rayv1.GcsFaultToleranceOptions{Backend: rayv1.GcsFTBackendRocksDB}
			f(rc.Spec.GcsFaultToleranceOptions)
		}
	}
	plain := rocks(func(*rayv1.GcsFaultToleranceOptions) {})
	storage := func(s rayv1.GcsEmbeddedStorage) func(*cluster) {
		return rocks(func(o *rayv1.GcsFaultToleranceOptions) { o.Storage = s.DeepCopy() })
	}
	on := gate(validation.GateEmbeddedGCSStorage, true)
	return []row[cluster]{
		{ID: "RC-009", Name: "unknown", Mutate: withGCS(rayv1.GcsFaultToleranceOptions{Backend: "etcd"}), WantFields: at(o + ".backend")},
		{ID: "RC-053", Name: "annotation too", Mutate: both(redis, annotation(rayv1.AnnotationFTEnabled, "false")), WantFields: at("metadata.annotations[ray.io/ft-enabled]")},
		{ID: "RC-054", Name: "address without fault tolerance", Mutate: headEnv("RAY_REDIS_ADDRESS", "x"), WantFields: at(headContainer + ".env[0].name")},
		{ID: "RC-055", Name: "parameter", Mutate: both(redis, headParam("redis-password", "x")), WantFields: at(headParams + "[redis-password]")},
		{ID: "RC-056", Name: "variable", Mutate: both(redis, headEnv("REDIS_PASSWORD", "x")), WantFields: at(headContainer + ".env[0].name")},
		{ID: "RC-057", Name: "variable", Mutate: both(redis, headEnv("RAY_REDIS_ADDRESS", "x")), WantFields: at(headContainer + ".env[0].name")},
		{ID: "RC-058", Name: "annotation", Mutate: both(redis, annotation(rayv1.AnnotationExternalStorageNamespace, "x")), WantFields: at("metadata.annotations[ray.io/external-storage-namespace]")},
		{ID: "RC-059", Name: "gate off", Mutate: plain, WantFields: at(o + ".backend"), Options: gate(validation.GateEmbeddedGCSStorage, false)},
		{ID: "RC-059", Name: "gate not known", Mutate: withGCS(rayv1.GcsFaultToleranceOptions{Backend: "rocksdb", Storage: &rayv1.GcsEmbeddedStorage{ClaimName: "a"}}), WantFields: at(o + ".backend"), Warning: true},
		{ID: "RC-060", Name: "with rocksdb", Mutate: rocks(func(o *rayv1.GcsFaultToleranceOptions) { o.RedisAddress = "x" }), WantFields: at(o + ".redisAddress"), Options: on},
		{ID: "RC-061", Name: "with rocksdb", Mutate: rocks(func(o *rayv1.GcsFaultToleranceOptions) { o.RedisUsername = &rayv1.RedisCredential{Value: "x"} }), WantFields: at(o + ".redisUsername"), Options: on},
		{ID: "RC-062", Name: "with rocksdb", Mutate: rocks(func(o *rayv1.GcsFaultToleranceOptions) { o.RedisPassword = &rayv1.RedisCredential{Value: "x"} }), WantFields: at(o + ".redisPassword"), Options: on},
		{ID: "RC-063", Name: "with rocksdb", Mutate: rocks(func(o *rayv1.GcsFaultToleranceOptions) { o.ExternalStorageNamespace = "x" }), WantFields: at(o + ".externalStorageNamespace"), Options: on},
		{ID: "RC-064", Name: "with a size", Mutate: storage(rayv1.GcsEmbeddedStorage{ClaimName: "c", Size: new(resource.MustParse("1Gi"))}), WantFields: at(o + ".storage.claimName"), Options: on},
		{ID: "RC-010", Name: "unknown", Mutate: storage(rayv1.GcsEmbeddedStorage{DeletionPolicy: new(rayv1.GCSStorageDeletionPolicy("Keep"))}), WantFields: at(o + ".storage.deletionPolicy"), Options: on},
		{ID: "RC-065", Name: "variable", Mutate: both(plain, headEnv("RAY_gcs_storage", "x")), WantFields: at(headContainer + ".env[0].name"), Options: on},
		{ID: "RC-066", Name: "path", Mutate: both(plain, func(rc *cluster) { mount(head(rc), "shared-mem", "/data/gcs") }), WantFields: at(headContainer + ".volumeMounts[0]"), Options: on},
		{ID: "RC-067", Name: "volume", Mutate: both(plain, func(rc *cluster) { headPod(rc).Volumes = []corev1.Volume{emptyDir("gcs-storage")} }), WantFields: at("spec.headGroupSpec.template.spec.volumes[0].name"), Options: on},
		{ID: "RC-068", Name: "with redis", Mutate: withGCS(rayv1.GcsFaultToleranceOptions{RedisAddress: "x", Storage: &rayv1.GcsEmbeddedStorage{}}), WantFields: at(o + ".storage")},
		{ID: "RC-069", Name: "parameter", Mutate: headParam("redis-username", "x"), WantFields: at(headParams + "[redis-username]")},
		{ID: "RC-069", Name: "variable", Mutate: headEnv("REDIS_USERNAME", "x"), WantFields: at(headContainer + ".env[0].name")},
		{ID: "RC-538", Name: "no address", Mutate: withGCS(rayv1.GcsFaultToleranceOptions{}), WantFields: at(o + ".redisAddress"), Warning: true},
		{ID: "RC-539", Name: "both", Mutate: withGCS(rayv1.GcsFaultToleranceOptions{RedisAddress: "x", RedisPassword: &rayv1.RedisCredential{Value: "x", ValueFrom: &corev1.EnvVarSource{}}}), WantFields: at(o + ".redisPassword")},
		{ID: "RC-539", Name: "neither", Mutate: withGCS(rayv1.GcsFaultToleranceOptions{RedisAddress: "x", RedisUsername: &rayv1.RedisCredential{}}), WantFields: at(o + ".redisUsername"), Warning: true},
		{ID: "RC-542", Name: "0", Mutate: storage(rayv1.GcsEmbeddedStorage{Size: new(resource.MustParse("0"))}), WantFields: at(o + ".storage.size"), Options: on},
		{ID: "RC-543", Name: "upwards", Mutate: storage(rayv1.GcsEmbeddedStorage{SubPath: "a/../b"}), WantFields: at(o + ".storage.subPath"), Options: on},
		{ID: "RC-544", Name: "abbreviated", Mutate: storage(rayv1.GcsEmbeddedStorage{AccessModes: []corev1.PersistentVolumeAccessMode{"RWX"}}), WantFields: at(o + ".storage.accessModes[0]"), Options: on},
		{ID: "RC-545", Name: "capital", Mutate: storage(rayv1.GcsEmbeddedStorage{ClaimName: "My_PVC"}), WantFields: at(o + ".storage.claimName"), Options: on, Warning: true},
		{ID: "RC-545", Name: "capital in a class", Mutate: storage(rayv1.GcsEmbeddedStorage{StorageClassName: new("Fast_SSD")}), WantFields: at(o + ".storage.storageClassName"), Options: on},
	}
}

func autoscaler() []row[cluster] {
	const o = "spec.autoscalerOptions"
	options := func(o rayv1.AutoscalerOptions) func(*cluster) {
		return both(autoscaling, func(rc *cluster) { rc.Spec.AutoscalerOptions = o.DeepCopy() })
	}
	priority := func(version string) func(*cluster) {
		return both(autoscalerVersion("v2"), func(rc *cluster) { group(rc).Priority, rc.Spec.RayVersion = new(int32(1)), version })
	}
	return []row[cluster]{
		{ID: "RC-007", Name: "unknown", Mutate: options(rayv1.AutoscalerOptions{UpscalingMode: new(rayv1.UpscalingMode("Fast"))}), WantFields: at(o + ".upscalingMode")},
		{ID: "RC-008", Name: "unknown", Mutate: options(rayv1.AutoscalerOptions{Version: new(rayv1.AutoscalerVersion("v3"))}), WantFields: at(o + ".version")},
		{ID: "RC-049", Name: "no version", Mutate: priority(""), WantFields: at("spec.rayVersion")},
		{ID: "RC-050", Name: "words", Mutate: priority("invalid"), WantFields: at("spec.rayVersion")},
		{ID: "RC-051", Name: "older", Mutate: priority("2.55.0"), WantFields: at("spec.rayVersion")},
		{ID: "RC-071", Name: "variable without autoscaling", Mutate: headEnv("RAY_enable_autoscaler_v2", "1"), WantFields: at("spec.enableInTreeAutoscaling")},
		{ID: "RC-073", Name: "said twice", Mutate: both(autoscalerVersion("v2"), headEnv("RAY_enable_autoscaler_v2", "1")), WantFields: at(o + ".version")},
		{ID: "RC-074", Name: "always", Mutate: both(autoscalerVersion("v2"), func(rc *cluster) { headPod(rc).RestartPolicy = "Always" }), WantFields: at("spec.headGroupSpec.template.spec.restartPolicy")},
		{ID: "RC-075", Name: "always", Mutate: both(autoscalerVersion("v2"), func(rc *cluster) { workerPod(rc).RestartPolicy = "Always" }), WantFields: at(group0 + ".template.spec.restartPolicy")},
		{ID: "RC-076", Name: "negative", Mutate: options(rayv1.AutoscalerOptions{IdleTimeoutSeconds: new(int32(-10))}), WantFields: at(o + ".idleTimeoutSeconds")},
		{ID: "RC-077", Name: "start command", Mutate: options(rayv1.AutoscalerOptions{Env: []corev1.EnvVar{{Name: "KUBERAY_GEN_AUTOSCALER_START_CMD"}}}), WantFields: at(o + ".env[0].name")},
		{ID: "RC-118", Name: "v1", Mutate: autoscalerVersion("v1"), WantFields: at(group0 + ".template.spec.restartPolicy"), Warning: true},
		{ID: "RC-535", Name: "off", Mutate: func(rc *cluster) { rc.Spec.AutoscalerOptions = &rayv1.AutoscalerOptions{} }, WantFields: at(o), Warning: true},
		{ID: "RC-536", Name: "no groups", Mutate: both(autoscaling, func(rc *cluster) { rc.Spec.WorkerGroupSpecs = nil }), WantFields: at("spec.workerGroupSpecs"), Warning: true},
		{ID: "RC-549", Name: "mount of the autoscaler", Mutate: options(rayv1.AutoscalerOptions{VolumeMounts: []corev1.VolumeMount{{Name: "x", MountPath: "/x"}}}), WantFields: at(o + ".volumeMounts[0].name"), Warning: true},
		{ID: "RC-586", Name: "old Ray", Mutate: both(autoscalerVersion("v2"), func(rc *cluster) {
			rc.Spec.RayVersion, head(rc).Image, worker(rc).Image = "2.9.0", "example.com/app:1", "example.com/app:1"
		}), WantFields: at(o + ".version"), Warning: true},
	}
}

func security() []row[cluster] {
	version := func(v string) func(*cluster) { return func(rc *cluster) { rc.Spec.RayVersion = v } }
	byKubernetes := both(tokenAuth, func(rc *cluster) { rc.Spec.AuthOptions.EnableK8sTokenAuth = new(true) })
	tls := both(autoscaling, func(rc *cluster) {
		rc.Spec.TLSOptions, rc.Spec.AutoscalerOptions = &rayv1.TLSOptions{Enabled: new(true)}, &rayv1.AutoscalerOptions{}
	})
	on := gate(validation.GateMTLS, true)
	missing := gate(validation.GateMTLS, true)
	missing.CertManagerMissing = true
	env := []corev1.EnvVar{{Name: "RAY_USE_TLS"}}
	named := []corev1.VolumeMount{{Name: "ray-tls", MountPath: "/x"}}
	placed := []corev1.VolumeMount{{Name: "ray-logs", MountPath: "/etc/ray/tls"}}
	return []row[cluster]{
		{ID: "RC-006", Name: "unknown", Mutate: func(rc *cluster) { rc.Spec.AuthOptions = &rayv1.AuthOptions{Mode: "password"} }, WantFields: at("spec.authOptions.mode")},
		{ID: "RC-091", Name: "no version", Mutate: both(tokenAuth, version("")), WantFields: at("spec.rayVersion")},
		{ID: "RC-092", Name: "words", Mutate: both(tokenAuth, version("invalid-version")), WantFields: at("spec.rayVersion")},
		{ID: "RC-093", Name: "older", Mutate: both(tokenAuth, version("2.50.0")), WantFields: at("spec.rayVersion")},
		{ID: "RC-094", Name: "older", Mutate: both(byKubernetes, version("2.52.0")), WantFields: at("spec.rayVersion")},
		{ID: "RC-095", Name: "both", Mutate: both(byKubernetes, func(rc *cluster) { rc.Spec.AuthOptions.SecretName = new("s") }), WantFields: at("spec.authOptions.secretName")},
		{ID: "RC-096", Name: "no mode", Mutate: func(rc *cluster) { rc.Spec.AuthOptions = &rayv1.AuthOptions{EnableK8sTokenAuth: new(true)} }, WantFields: at("spec.authOptions.mode")},
		{ID: "RC-572", Name: "empty block", Mutate: func(rc *cluster) { rc.Spec.AuthOptions = &rayv1.AuthOptions{} }, WantFields: at("spec.authOptions.mode"), Warning: true},
		{ID: "RC-106", Name: "gate off", Mutate: func(rc *cluster) { rc.Spec.TLSOptions = &rayv1.TLSOptions{} }, WantFields: at("spec.tlsOptions"), Options: gate(validation.GateMTLS, false)},
		{ID: "RC-106", Name: "gate not known", Mutate: func(rc *cluster) { rc.Spec.TLSOptions = &rayv1.TLSOptions{} }, WantFields: at("spec.tlsOptions"), Warning: true},
		{ID: "RC-119", Name: "no cert-manager", Mutate: tls, WantFields: at("spec.tlsOptions.enabled"), Options: missing},
		{ID: "RC-525", Name: "waits for the certificate, worker", Mutate: both(tls, func(rc *cluster) {
			workerPod(rc).Containers = append(workerPod(rc).Containers, sidecar("wait-for-tls-ip-san"))
		}), WantFields: at("spec.workerGroupSpecs[0].template.spec.containers[1].name"), Options: on},
		{ID: "RC-107", Name: "variable", Mutate: both(tls, func(rc *cluster) { head(rc).Env = env }), WantFields: at(headContainer + ".env[0].name"), Options: on},
		{ID: "RC-108", Name: "volume", Mutate: both(tls, func(rc *cluster) { head(rc).VolumeMounts = named }), WantFields: at(headContainer + ".volumeMounts[0].name"), Options: on},
		{ID: "RC-109", Name: "path", Mutate: both(tls, func(rc *cluster) { head(rc).VolumeMounts = placed }), WantFields: at(headContainer + ".volumeMounts[0].mountPath"), Options: on},
		{ID: "RC-110", Name: "variable", Mutate: both(tls, func(rc *cluster) { worker(rc).Env = env }), WantFields: at(workerContainer + ".env[0].name"), Options: on},
		{ID: "RC-111", Name: "volume", Mutate: both(tls, func(rc *cluster) { worker(rc).VolumeMounts = named }), WantFields: at(workerContainer + ".volumeMounts[0].name"), Options: on},
		{ID: "RC-112", Name: "path", Mutate: both(tls, func(rc *cluster) { worker(rc).VolumeMounts = placed }), WantFields: at(workerContainer + ".volumeMounts[0].mountPath"), Options: on},
		{ID: "RC-113", Name: "variable", Mutate: both(tls, func(rc *cluster) { rc.Spec.AutoscalerOptions.Env = env }), WantFields: at("spec.autoscalerOptions.env[0].name"), Options: on},
		{ID: "RC-114", Name: "volume", Mutate: both(tls, func(rc *cluster) { rc.Spec.AutoscalerOptions.VolumeMounts = named }), WantFields: at("spec.autoscalerOptions.volumeMounts[0].name"), Options: on},
		{ID: "RC-115", Name: "path", Mutate: both(tls, func(rc *cluster) { rc.Spec.AutoscalerOptions.VolumeMounts = placed }), WantFields: at("spec.autoscalerOptions.volumeMounts[0].mountPath"), Options: on},
		{ID: "RC-525", Name: "wait for a certificate", Mutate: both(tls, func(rc *cluster) {
			headPod(rc).InitContainers = append(headPod(rc).InitContainers, sidecar("wait-for-tls-ip-san"))
		}), Fix: func(rc *cluster) { headPod(rc).InitContainers[0].Name = "other" }, WantFields: at("spec.headGroupSpec.template.spec.initContainers[0].name"), Options: on},
		{ID: "RC-573", Name: "volume of the head", Mutate: both(tls, func(rc *cluster) { headPod(rc).Volumes = []corev1.Volume{emptyDir("ray-tls")} }), WantFields: at("spec.headGroupSpec.template.spec.volumes[0].name"), Options: on},
		{ID: "RC-573", Name: "volume", Mutate: both(tls, func(rc *cluster) { workerPod(rc).Volumes = []corev1.Volume{emptyDir("ray-tls")} }), WantFields: at(group0 + ".template.spec.volumes[0].name"), Options: on},
	}
}

func collector(backend string, env ...corev1.EnvVar) *rayv1.HistoryServerOptions {
	return &rayv1.HistoryServerOptions{CollectorOptions: &rayv1.CollectorOptions{
		Image: new("collector:1"),
		Env:   append([]corev1.EnvVar{{Name: "STORAGE_BACKEND", Value: backend}}, env...),
	}}
}

func history() []row[cluster] {
	const o = "spec.historyServerOptions"
	on := gate(validation.GateHistoryServer, true)
	with := func(h *rayv1.HistoryServerOptions) func(*cluster) {
		return func(rc *cluster) { rc.Spec.HistoryServerOptions = h.DeepCopy() }
	}
	env := at(o + ".collectorOptions.env")
	mode := func(m string) corev1.EnvVar { return corev1.EnvVar{Name: "AZURE_STORAGE_AUTH_MODE", Value: m} }
	return []row[cluster]{
		{ID: "RC-078", Name: "gate off", Mutate: with(collector("LocalTest")), WantFields: at(o), Options: gate(validation.GateHistoryServer, false)},
		{ID: "RC-078", Name: "gate not known", Mutate: with(collector("LocalTest")), WantFields: at(o), Warning: true},
		{ID: "RC-079", Name: "no collector", Mutate: with(&rayv1.HistoryServerOptions{}), WantFields: at(o + ".collectorOptions"), Options: on},
		{ID: "RC-080", Name: "no image", Mutate: both(with(collector("LocalTest")), func(rc *cluster) { rc.Spec.HistoryServerOptions.CollectorOptions.Image = nil }), WantFields: at(o + ".collectorOptions.image"), Options: on},
		{ID: "RC-081", Name: "role", Mutate: with(collector("LocalTest", corev1.EnvVar{Name: "RAY_ROLE"})), WantFields: at(o + ".collectorOptions.env[1].name"), Options: on},
		{ID: "RC-082", Name: "no storage", Mutate: with(collector("")), WantFields: env, Options: on},
		{ID: "RC-083", Name: "no bucket", Mutate: with(collector("gcs")), WantFields: env, Options: on},
		{ID: "RC-084", Name: "no region", Mutate: with(collector("S3")), WantFields: env, Options: on},
		{ID: "RC-085", Name: "no string", Mutate: with(collector("AzureBlob", mode("connection_string"))), WantFields: env, Options: on},
		{ID: "RC-086", Name: "no URL", Mutate: with(collector("AzureBlob", mode("default"))), WantFields: env, Options: on},
		{ID: "RC-087", Name: "neither", Mutate: with(collector("AzureBlob")), WantFields: env, Options: on},
		{ID: "RC-088", Name: "no region", Mutate: with(collector("AliyunOSS", corev1.EnvVar{Name: "OSS_BUCKET", Value: "b"}, corev1.EnvVar{Name: "OSS_ENDPOINT", Value: "e"})), WantFields: env, Options: on},
	}
}

func network() []row[cluster] {
	const o = "spec.networkPolicy"
	on := gate(validation.GateNetworkPolicy, true)
	in := rayv1.NetworkPolicyRules{IngressRules: []networkingv1.NetworkPolicyIngressRule{{}}}
	out := rayv1.NetworkPolicyRules{EgressRules: []networkingv1.NetworkPolicyEgressRule{{}}}
	with := func(mode rayv1.NetworkPolicyMode, p rayv1.NetworkPolicyConfig) func(*cluster) {
		return func(rc *cluster) {
			rc.Spec.NetworkPolicy = p.DeepCopy()
			rc.Spec.NetworkPolicy.Mode = &mode
		}
	}
	of := func(name string, r rayv1.NetworkPolicyRules) rayv1.NetworkPolicyConfig {
		return rayv1.NetworkPolicyConfig{WorkerGroups: []rayv1.WorkerGroupNetworkPolicyRules{{GroupName: name, NetworkPolicyRules: r}}}
	}
	twice := of("cpu", out)
	twice.WorkerGroups = append(twice.WorkerGroups, twice.WorkerGroups[0])
	return []row[cluster]{
		{ID: "RC-013", Name: "unknown", Mutate: with("AllowAll", rayv1.NetworkPolicyConfig{}), WantFields: at(o + ".mode"), Options: on},
		{ID: "RC-014", Name: "twice", Mutate: with("DenyAll", twice), WantFields: at(o + ".workerGroups[1].groupName"), Options: on},
		{ID: "RC-097", Name: "gate off", Mutate: with("DenyAll", rayv1.NetworkPolicyConfig{}), WantFields: at(o), Options: gate(validation.GateNetworkPolicy, false)},
		{ID: "RC-097", Name: "gate not known", Mutate: with("DenyAll", rayv1.NetworkPolicyConfig{}), WantFields: at(o), Also: []string{"RC-566"}, Warning: true},
		{ID: "RC-098", Name: "ingress", Mutate: with("DenyAllEgress", rayv1.NetworkPolicyConfig{Head: &in}), WantFields: at(o + ".head.ingressRules"), Options: on},
		{ID: "RC-099", Name: "egress", Mutate: with("DenyAllIngress", rayv1.NetworkPolicyConfig{Head: &out}), WantFields: at(o + ".head.egressRules"), Options: on},
		{ID: "RC-100", Name: "ingress", Mutate: with("DenyAllEgress", rayv1.NetworkPolicyConfig{Worker: &in}), WantFields: at(o + ".worker.ingressRules"), Options: on},
		{ID: "RC-101", Name: "egress", Mutate: with("DenyAllIngress", rayv1.NetworkPolicyConfig{Worker: &out}), WantFields: at(o + ".worker.egressRules"), Options: on},
		{ID: "RC-102", Name: "capital", Mutate: both(with("DenyAll", rayv1.NetworkPolicyConfig{}), func(rc *cluster) { group(rc).GroupName = "GPU-Group" }), WantFields: at(group0 + ".groupName"), Options: on},
		{ID: "RC-103", Name: "ingress", Mutate: with("DenyAllEgress", of("cpu", in)), WantFields: at(o + ".workerGroups[0].ingressRules"), Options: on},
		{ID: "RC-104", Name: "egress", Mutate: with("DenyAllIngress", of("cpu", out)), WantFields: at(o + ".workerGroups[0].egressRules"), Options: on},
		{ID: "RC-105", Name: "misspelt", Mutate: with("DenyAll", of("cup", out)), WantFields: at(o + ".workerGroups[0].groupName"), Options: on},
		{ID: "RC-566", Name: "no DNS", Mutate: with("DenyAll", rayv1.NetworkPolicyConfig{Head: &out}), WantFields: at(o + ".worker.egressRules"), Warning: true, Options: on},
	}
}

func updates() []row[cluster] {
	const o = "spec.gcsFaultToleranceOptions"
	backend := func(b rayv1.GcsFaultToleranceBackend) func(*cluster) {
		return withGCS(rayv1.GcsFaultToleranceOptions{Backend: b})
	}
	managed := func(by string) func(*cluster) { return func(rc *cluster) { rc.Spec.ManagedBy = &by } }
	twoGroups := both(recreate, func(rc *cluster) {
		g := group(rc).DeepCopy()
		g.GroupName = "gpu"
		rc.Spec.WorkerGroupSpecs = append(rc.Spec.WorkerGroupSpecs, *g)
	})
	return []row[cluster]{
		{ID: "RC-021", Name: "changed", Update: true, Before: managed(rayv1.ManagedByKubeRayOperator), Mutate: managed(rayv1.ManagedByMultiKueue), WantFields: at("spec.managedBy")},
		{ID: "RC-550", Name: "added", Update: true, Mutate: managed(rayv1.ManagedByMultiKueue), WantFields: at("spec.managedBy"), Warning: true},
		{ID: "RC-023", Name: "changed", Update: true, Before: backend("redis"), Mutate: backend("rocksdb"), WantFields: at(o + ".backend"), Options: gate(validation.GateEmbeddedGCSStorage, true)},
		{ID: "RC-547", Name: "from unset", Update: true, Before: both(recreate, backend("")), Mutate: backend("rocksdb"), WantFields: at(o + ".backend"), Options: gate(validation.GateEmbeddedGCSStorage, true), Warning: true},
		{ID: "RC-546", Name: "claim", Update: true, Before: withGCS(rayv1.GcsFaultToleranceOptions{Backend: "rocksdb", Storage: &rayv1.GcsEmbeddedStorage{ClaimName: "a"}}),
			Mutate: withGCS(rayv1.GcsFaultToleranceOptions{Backend: "rocksdb", Storage: &rayv1.GcsEmbeddedStorage{ClaimName: "b"}}), WantFields: at(o + ".storage.claimName"), Warning: true, Options: gate(validation.GateEmbeddedGCSStorage, true)},
		{ID: "RC-551", Name: "image", Update: true, Mutate: func(rc *cluster) { worker(rc).Image = "rayproject/ray:2.56.0-gpu" }, WantFields: at(group0), Warning: true},
		{ID: "RC-551", Name: "environment", Update: true, Mutate: func(rc *cluster) { worker(rc).Env = []corev1.EnvVar{{Name: "A", Value: "b"}} }, Fix: annotation(rayv1.AnnotationUpgradeStrategy, "RollingUpdate"), WantFields: at(group0), Warning: true},
		{ID: "RC-551", Name: "rolling upgrade of a head without fault tolerance", Update: true, Before: annotation(rayv1.AnnotationUpgradeStrategy, "RollingUpdate"), Mutate: headEnv("A", "b"),
			Fix: both(headEnv("RAY_REDIS_ADDRESS", "redis:6379"), annotation(rayv1.AnnotationFTEnabled, "true")), WantFields: at("spec.headGroupSpec"), Warning: true},
		{ID: "RC-551", Name: "autoscaler", Update: true, Mutate: autoscaling, WantFields: at("spec.enableInTreeAutoscaling"), Warning: true},
		{ID: "RC-551", Name: "resources of the autoscaler", Update: true, Before: autoscalerVersion("v2"), Mutate: func(rc *cluster) { rc.Spec.AutoscalerOptions.Image = new("autoscaler:2") },
			Fix: func(rc *cluster) {
				rc.Spec.AutoscalerOptions.Image, rc.Spec.AutoscalerOptions.IdleTimeoutSeconds = nil, new(int32(30))
			}, WantFields: at("spec.autoscalerOptions"), Warning: true},
		{ID: "RC-552", Name: "removed where that is refused", Update: true, Mutate: func(rc *cluster) { rc.Spec.WorkerGroupSpecs = nil }, Fix: recreate, WantFields: at("spec.workerGroupSpecs"), Options: validation.Options{RefuseGroupRemoval: true}},
		{ID: "RC-552", Name: "removed", Update: true, Mutate: func(rc *cluster) { rc.Spec.WorkerGroupSpecs = nil }, WantFields: at("spec.workerGroupSpecs"), Warning: true},
		{ID: "RC-553", Name: "order", Update: true, Before: twoGroups, Mutate: func(rc *cluster) {
			g := rc.Spec.WorkerGroupSpecs
			g[0], g[1] = g[1], g[0]
		}, WantFields: at(group0 + ".groupName"), Warning: true},
		{ID: "RC-554", Name: "hosts", Update: true, Mutate: func(rc *cluster) { group(rc).NumOfHosts = 2 }, WantFields: at(group0 + ".numOfHosts"), Warning: true},
		{ID: "RC-571", Name: "namespace", Update: true, Before: withGCS(rayv1.GcsFaultToleranceOptions{RedisAddress: "x", ExternalStorageNamespace: "a"}),
			Mutate: withGCS(rayv1.GcsFaultToleranceOptions{RedisAddress: "x", ExternalStorageNamespace: "b"}), WantFields: at(o + ".externalStorageNamespace"), Warning: true},
		{ID: "RC-575", Name: "removed", Update: true, Before: func(rc *cluster) {
			rc.Spec.Suspend = new(true)
			rc.Status.Conditions = []metav1.Condition{{Type: string(rayv1.RayClusterSuspended), Status: metav1.ConditionTrue, Reason: "UserRequest", LastTransitionTime: metav1.Unix(0, 0)}}
		}, Mutate: func(rc *cluster) { rc.Spec.Suspend = nil }, WantFields: at("spec.suspend"), Warning: true},
		{ID: "RC-580", Name: "token", Update: true, Mutate: tokenAuth, WantFields: at("spec.authOptions.mode"), Warning: true},
	}
}
