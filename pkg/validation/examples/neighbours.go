package examples

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// clusterFixes turn broken RayClusters into the nearest valid ones, by rule and name of the example: the last number that
// is allowed, the feature that was missing. Examples that are not here are fixed by taking the change back.
func clusterFixes() map[string]func(*cluster) {
	rename := func(name string) func(*cluster) { return func(rc *cluster) { rc.Name, rc.GenerateName = name, "" } }
	named := func(name string) func(*cluster) { return func(rc *cluster) { group(rc).GroupName = name } }
	set := func(f func(*rayv1.WorkerGroupSpec)) func(*cluster) { return func(rc *cluster) { f(group(rc)) } }
	version := func(v string) func(*cluster) { return func(rc *cluster) { rc.Spec.RayVersion = v } }
	gcsOptions := func(f func(*rayv1.GcsFaultToleranceOptions)) func(*cluster) {
		return func(rc *cluster) { f(rc.Spec.GcsFaultToleranceOptions) }
	}
	storage := func(f func(*rayv1.GcsEmbeddedStorage)) func(*cluster) {
		return gcsOptions(func(o *rayv1.GcsFaultToleranceOptions) { f(o.Storage) })
	}
	options := func(f func(*rayv1.AutoscalerOptions)) func(*cluster) {
		return func(rc *cluster) { f(rc.Spec.AutoscalerOptions) }
	}
	collectorEnv := func(env ...corev1.EnvVar) func(*cluster) {
		return func(rc *cluster) {
			c := rc.Spec.HistoryServerOptions.CollectorOptions
			c.Env = append(c.Env, env...)
		}
	}
	value := func(name string) corev1.EnvVar { return corev1.EnvVar{Name: name, Value: "x"} }
	secret := func(name string) corev1.EnvVar {
		return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{Key: "k"}}}
	}
	denyAll := func(rc *cluster) { rc.Spec.NetworkPolicy.Mode = new(rayv1.NetworkPolicyDenyAll) }
	second := func(name string) func(*cluster) {
		return func(rc *cluster) { rc.Spec.WorkerGroupSpecs[1].GroupName = name }
	}
	never := corev1.RestartPolicyNever
	tlsOff := func(rc *cluster) { rc.Spec.TLSOptions.Enabled = new(false) }
	v2 := func(rc *cluster) {
		rc.Spec.EnableInTreeAutoscaling = new(true)
		rc.Spec.AutoscalerOptions = &rayv1.AutoscalerOptions{Version: new(rayv1.AutoscalerVersionV2)}
	}
	recreates := func(rc *cluster) { recreate(rc) }
	service := func(f func(*corev1.Service)) func(*cluster) {
		return func(rc *cluster) { f(rc.Spec.HeadGroupSpec.HeadService) }
	}
	ingress := func(f func(*rayv1.IngressOptions)) func(*cluster) {
		return func(rc *cluster) { f(rc.Spec.HeadGroupSpec.IngressOptions) }
	}
	return map[string]func(*cluster){
		"RC-030/54 characters":                rename(strings.Repeat("a", 53)),
		"RC-030/generated name too long":      func(rc *cluster) { rc.GenerateName = strings.Repeat("a", 48) },
		"RC-031/dot":                          rename("in-valid"),
		"RC-031/digit first":                  rename("abc1"),
		"RC-563/long name with autoscaling":   rename(strings.Repeat("a", 50)),
		"RC-563/long name with ingress":       rename(strings.Repeat("a", 37)),
		"RC-568/duration for seconds":         annotation(rayv1.AnnotationGCSFTDeletionTimeout, "300"),
		"RC-569/yes":                          annotation(rayv1.AnnotationFTEnabled, "True"),
		"RC-570/1":                            annotation(rayv1.AnnotationEnableServeService, "true"),
		"RC-577/false means on":               label(rayv1.LabelGangSchedulingEnabled, "true"),
		"RC-578/another scheduler":            func(rc *cluster) { rc.Labels = map[string]string{rayv1.LabelYuniKornQueue: "q"} },
		"RC-579/tier in words":                label(rayv1.LabelVolcanoNetworkTopologyHighestTierAllowed, "2"),
		"RC-579/unknown mode":                 label(rayv1.LabelVolcanoNetworkTopologyMode, "soft"),
		"RC-120/suspending and suspended":     func(rc *cluster) { rc.Status.Conditions[0].Status = metav1.ConditionFalse },
		"RC-022/unknown controller":           func(rc *cluster) { rc.Spec.ManagedBy = new(rayv1.ManagedByMultiKueue) },
		"RC-015/unknown strategy":             recreates,
		"RC-117/cluster of a RayJob":          label(rayv1.LabelOriginatedFromCRD, "RayCluster"),
		"RC-040/negative":                     set(func(g *rayv1.WorkerGroupSpec) { g.MinReplicas = new(int32(0)) }),
		"RC-041/negative":                     set(func(g *rayv1.WorkerGroupSpec) { g.MaxReplicas = new(int32(0)) }),
		"RC-042/5 above 3":                    set(func(g *rayv1.WorkerGroupSpec) { g.MaxReplicas = new(int32(5)) }),
		"RC-047/negative":                     set(func(g *rayv1.WorkerGroupSpec) { g.IdleTimeoutSeconds = new(int32(0)) }),
		"RC-048/without v2":                   v2,
		"RC-052/without v2":                   v2,
		"RC-072/with autoscaling":             set(func(g *rayv1.WorkerGroupSpec) { g.Suspend = new(false) }),
		"RC-501/twice":                        second("gpu"),
		"RC-502/blank inside":                 named("small-group"),
		"RC-503/underscore":                   named("a-b"),
		"RC-504/capital":                      named("small-group"),
		"RC-505/differs by case":              second("cpu2"),
		"RC-506/headgroup":                    named("head-group"),
		"RC-507/above maxReplicas":            set(func(g *rayv1.WorkerGroupSpec) { g.Replicas = new(int32(5)) }),
		"RC-508/negative":                     set(func(g *rayv1.WorkerGroupSpec) { g.Replicas = new(int32(0)) }),
		"RC-509/negative":                     set(func(g *rayv1.WorkerGroupSpec) { g.NumOfHosts = 1 }),
		"RC-510/product":                      set(func(g *rayv1.WorkerGroupSpec) { g.NumOfHosts = 1 }),
		"RC-564/58 characters":                named(strings.Repeat("a", 57)),
		"RC-582/without autoscaling":          autoscaling,
		"RC-583/without autoscaling":          autoscaling,
		"RC-034/both":                         func(rc *cluster) { delete(rc.Spec.HeadGroupSpec.RayStartParams, "num-cpus") },
		"RC-043/both":                         func(rc *cluster) { delete(group(rc).RayStartParams, "memory") },
		"RC-036/exclamation mark":             func(rc *cluster) { rc.Spec.HeadGroupSpec.Labels = map[string]string{"ray.io/zone": "v"} },
		"RC-037/slash":                        func(rc *cluster) { rc.Spec.HeadGroupSpec.Labels = map[string]string{"k": "TPU-V6E"} },
		"RC-045/exclamation mark":             func(rc *cluster) { group(rc).Labels = map[string]string{"ray.io/zone": "v"} },
		"RC-046/slash":                        func(rc *cluster) { group(rc).Labels = map[string]string{"k": "a.b"} },
		"RC-514/words":                        func(rc *cluster) { group(rc).Resources = map[string]string{"CPU": "500m"} },
		"RC-515/millicores":                   headParam("num-cpus", "$CPUS"),
		"RC-515/negative, on a worker":        workerParam("num-gpus", "0"),
		"RC-516/unit":                         headParam("memory", "4294967296"),
		"RC-517/text for a number":            headParam("resources", `'{"a": 1}'`),
		"RC-518/name for a port":              headParam("port", "6379"),
		"RC-518/min above max":                headParam("max-worker-port", "20"),
		"RC-519/two numbers":                  headParam("port", "6380"),
		"RC-528/unquoted":                     headParam("temp-dir", "'/tmp/a; b'"),
		"RC-524/with autoscaling":             func(rc *cluster) { rc.Spec.EnableInTreeAutoscaling = nil },
		"RC-530/blank in a key":               func(rc *cluster) { group(rc).Template.Labels = map[string]string{"a-b": "c"} },
		"RC-541/underscore":                   func(rc *cluster) { worker(rc).Ports[0].Name = "dashboard-port" },
		"RC-541/number on the head":           func(rc *cluster) { head(rc).Ports[1].ContainerPort = 65535 },
		"RC-541/number":                       func(rc *cluster) { worker(rc).Ports[0].ContainerPort = 65535 },
		"RC-549/no such volume":               func(rc *cluster) { workerPod(rc).Volumes = []corev1.Volume{emptyDir("data")} },
		"RC-560/sometimes":                    func(rc *cluster) { workerPod(rc).RestartPolicy = corev1.RestartPolicyOnFailure },
		"RC-565/request above limit":          func(rc *cluster) { worker(rc).Resources.Limits[corev1.ResourceCPU] = resource.MustParse("2") },
		"RC-565/negative":                     func(rc *cluster) { worker(rc).Resources.Limits[corev1.ResourceCPU] = resource.MustParse("0") },
		"RC-587/GPU request below the limit":  gpus("2", "2"),
		"RC-587/GPU request without a limit":  gpus("1", "1"),
		"RC-574/many workers":                 set(func(g *rayv1.WorkerGroupSpec) { g.MaxReplicas = new(int32(1)) }),
		"RC-018/port twice":                   service(func(s *corev1.Service) { s.Spec.Ports[1].Protocol = corev1.ProtocolUDP }),
		"RC-555/another number":               service(func(s *corev1.Service) { s.Spec.Ports[0].Name = "web" }),
		"RC-555/another name":                 service(func(s *corev1.Service) { s.Spec.Ports[0].Port = 80 }),
		"RC-557/unknown type":                 func(rc *cluster) { rc.Spec.HeadGroupSpec.ServiceType = corev1.ServiceTypeNodePort },
		"RC-558/dot":                          service(func(s *corev1.Service) { s.Name = "head-svc" }),
		"RC-012/unknown":                      ingress(func(o *rayv1.IngressOptions) { o.PathType = new(rayv1.IngressPathTypePrefix) }),
		"RC-561/not enabled":                  func(rc *cluster) { rc.Spec.HeadGroupSpec.EnableIngress = new(true) },
		"RC-562/no slash":                     ingress(func(o *rayv1.IngressOptions) { o.PathType = new(rayv1.IngressPathTypeImplementationSpecific) }),
		"RC-562/address":                      ingress(func(o *rayv1.IngressOptions) { o.Host = new("*.example.com") }),
		"RC-009/unknown":                      gcsOptions(func(o *rayv1.GcsFaultToleranceOptions) { o.Backend = rayv1.GcsFTBackendRedis }),
		"RC-053/annotation too":               annotation(rayv1.AnnotationFTEnabled, ""),
		"RC-064/with a size":                  storage(func(s *rayv1.GcsEmbeddedStorage) { s.ClaimName = "" }),
		"RC-010/unknown":                      storage(func(s *rayv1.GcsEmbeddedStorage) { s.DeletionPolicy = new(rayv1.GCSStorageRetain) }),
		"RC-068/with redis":                   gcsOptions(func(o *rayv1.GcsFaultToleranceOptions) { o.Storage = nil }),
		"RC-539/both":                         gcsOptions(func(o *rayv1.GcsFaultToleranceOptions) { o.RedisPassword.ValueFrom = nil }),
		"RC-542/0":                            storage(func(s *rayv1.GcsEmbeddedStorage) { s.Size = new(resource.MustParse("1")) }),
		"RC-543/upwards":                      storage(func(s *rayv1.GcsEmbeddedStorage) { s.SubPath = "a/..b/c" }),
		"RC-544/abbreviated":                  storage(func(s *rayv1.GcsEmbeddedStorage) { s.AccessModes[0] = corev1.ReadWriteMany }),
		"RC-545/capital":                      storage(func(s *rayv1.GcsEmbeddedStorage) { s.ClaimName = "my.pvc" }),
		"RC-007/unknown":                      options(func(o *rayv1.AutoscalerOptions) { o.UpscalingMode = new(rayv1.UpscalingModeAggressive) }),
		"RC-049/no version":                   version("2.56.0"),
		"RC-050/words":                        version("v2.56"),
		"RC-051/older":                        version("2.56.0"),
		"RC-071/variable without autoscaling": autoscaling,
		"RC-074/always":                       func(rc *cluster) { headPod(rc).RestartPolicy = never },
		"RC-075/always":                       func(rc *cluster) { workerPod(rc).RestartPolicy = never },
		"RC-076/negative":                     options(func(o *rayv1.AutoscalerOptions) { o.IdleTimeoutSeconds = new(int32(0)) }),
		"RC-091/no version":                   version("2.52.0"),
		"RC-092/words":                        version("3.0.0"),
		"RC-093/older":                        version("2.52.0"),
		"RC-094/older":                        version("2.55.0"),
		"RC-095/both":                         func(rc *cluster) { rc.Spec.AuthOptions.EnableK8sTokenAuth = nil },
		"RC-096/no mode":                      func(rc *cluster) { rc.Spec.AuthOptions.Mode = rayv1.AuthModeToken },
		"RC-107/variable":                     tlsOff,
		"RC-110/variable":                     tlsOff,
		"RC-113/variable":                     tlsOff,
		"RC-083/no bucket":                    collectorEnv(value("GCS_BUCKET")),
		"RC-084/no region":                    collectorEnv(secret("S3_REGION")),
		"RC-085/no string":                    collectorEnv(secret("AZURE_STORAGE_CONNECTION_STRING")),
		"RC-086/no URL":                       collectorEnv(value("AZURE_STORAGE_ACCOUNT_URL")),
		"RC-087/neither":                      collectorEnv(value("AZURE_STORAGE_ACCOUNT_URL")),
		"RC-088/no region":                    collectorEnv(value("OSS_REGION")),
		"RC-098/ingress":                      denyAll,
		"RC-099/egress":                       denyAll,
		"RC-100/ingress":                      denyAll,
		"RC-101/egress":                       denyAll,
		"RC-102/capital":                      named("gpu-group"),
		"RC-103/ingress":                      denyAll,
		"RC-104/egress":                       denyAll,
		"RC-105/misspelt":                     func(rc *cluster) { rc.Spec.NetworkPolicy.WorkerGroups[0].GroupName = "cpu" },
		"RC-551/image":                        recreates,
		"RC-580/token":                        recreates,
	}
}
