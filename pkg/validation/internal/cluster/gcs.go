package cluster

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/pkg/validation/cel"
	"github.com/raygate/raygate/pkg/validation/internal/metadata"
	"github.com/raygate/raygate/pkg/validation/internal/pods"
	"github.com/raygate/raygate/pkg/validation/rule"
)

const (
	envRedisAddress  = "RAY_REDIS_ADDRESS"
	envRedisUsername = "REDIS_USERNAME"
	envRedisPassword = "REDIS_PASSWORD"
)

var rc009 = rule.NewEnum(rule.Rule{ID: "RC-009", Field: "gcsFaultToleranceOptions.backend", Peer: rule.BySchema, Marker: rule.InSchema}, rayv1.GcsFTBackendRedis, rayv1.GcsFTBackendRocksDB)
var rc068 = rule.New(rule.Rule{ID: "RC-068", Field: "gcsFaultToleranceOptions.storage", Condition: "set without backend rocksdb", Peer: rule.BySpec, Reads: []string{"gcsFaultToleranceOptions.backend"},
	Remedy: "belongs to the backend rocksdb; remove it, or set backend to rocksdb",
	CEL:    []rule.CEL{{Node: cel.GCSNode, Field: ".storage", Reason: rule.Forbidden, Valid: "!has(self.storage) || (has(self.backend) && self.backend == 'rocksdb')"}}})

func checkGCSFaultTolerance(out *rule.Report, c *Spec, path *field.Path) {
	checkFTAnnotations(out, c)
	checkRedisOnHead(out, c, path.Child("headGroupSpec"))
	o := c.Spec.GcsFaultToleranceOptions
	if o == nil {
		return
	}
	optionsPath := path.Child("gcsFaultToleranceOptions")
	if o.Backend != "" {
		rc009.Check(out, optionsPath.Child("backend"), o.Backend)
	}
	checkCredential(out, o.RedisUsername, optionsPath.Child("redisUsername"))
	checkCredential(out, o.RedisPassword, optionsPath.Child("redisPassword"))
	checkGCSStorage(out, o.Storage, optionsPath.Child("storage"))
	if c.Rocksdb {
		checkRocksDB(out, c, o, optionsPath)
		checkRocksDBOnHead(out, c, path.Child("headGroupSpec", "template", "spec"))
		return
	}
	out.When(o.Storage != nil).Forbidden(rc068, optionsPath.Child("storage"))
	out.When(o.RedisAddress == "").Required(rc538, optionsPath.Child("redisAddress"))
}

var rc053 = rule.New(rule.Rule{ID: "RC-053", Kind: rule.KindAny, Field: "metadata.annotations[ray.io/ft-enabled]", Condition: "not empty, with gcsFaultToleranceOptions", Peer: rule.BySpec,
	Remedy:   "gcsFaultToleranceOptions says so already; remove the annotation",
	Policies: []rule.Policy{{Field: "metadata.annotations[ray.io/ft-enabled]", Valid: "!has(cluster.gcsFaultToleranceOptions) || !" + cel.KeyGiven("annotations", cel.AnnotationFT)}}})
var rc058 = rule.New(rule.Rule{ID: "RC-058", Kind: rule.KindAny, Field: "metadata.annotations[ray.io/external-storage-namespace]", Condition: "not empty, with gcsFaultToleranceOptions", Peer: rule.BySpec,
	Remedy:   "use gcsFaultToleranceOptions.externalStorageNamespace",
	Policies: []rule.Policy{{Field: "metadata.annotations[ray.io/external-storage-namespace]", Valid: "!has(cluster.gcsFaultToleranceOptions) || !" + cel.KeyGiven("annotations", cel.AnnotationStorage)}}})

// checkFTAnnotations refuses the old way of saying things next to the new one.
func checkFTAnnotations(out *rule.Report, c *Spec) {
	path := field.NewPath("metadata", "annotations")
	enabled, namespace := c.meta.Annotations[rayv1.AnnotationFTEnabled], c.meta.Annotations[rayv1.AnnotationExternalStorageNamespace]
	out.When(c.ftOptions && enabled != "").Invalid(rc053, path.Key(rayv1.AnnotationFTEnabled), enabled)
	out.When(c.ftOptions && namespace != "").Invalid(rc058, path.Key(rayv1.AnnotationExternalStorageNamespace), namespace)
}

var rc054 = rule.New(rule.Rule{ID: "RC-054", Field: "headGroupSpec.template.spec.containers[0].env", Condition: "sets RAY_REDIS_ADDRESS without fault tolerance", Peer: rule.BySpec,
	Policies: []rule.Policy{{Field: ".headGroupSpec.template.spec.containers[0].env", Valid: "has(cluster.gcsFaultToleranceOptions) || (" + cel.AnnotationFT + " in annotations && annotations[" + cel.AnnotationFT + "].lowerAscii() == 'true') || " +
		"cluster.headGroupSpec.template.?spec.?containers[?0].?env.orValue([]).all(e, e.name != 'RAY_REDIS_ADDRESS')",
		Says: "RAY_REDIS_ADDRESS needs GCS fault tolerance; use gcsFaultToleranceOptions.redisAddress"}}})
var rc055 = rule.New(rule.Rule{ID: "RC-055", Field: "headGroupSpec.rayStartParams[redis-password]", Condition: "set, with gcsFaultToleranceOptions", Peer: rule.BySpec, Reads: []string{"gcsFaultToleranceOptions"},
	Remedy: "use gcsFaultToleranceOptions.redisPassword",
	CEL:    []rule.CEL{{Field: ".headGroupSpec.rayStartParams['redis-password']", Reason: rule.Forbidden, When: cel.FTOptions, Valid: "!has(self.headGroupSpec.rayStartParams) || !('redis-password' in self.headGroupSpec.rayStartParams) || self.headGroupSpec.rayStartParams['redis-password'] == ''"}}})
var rc056 = rule.New(rule.Rule{ID: "RC-056", Field: "headGroupSpec.template.spec.containers[0].env", Condition: "sets REDIS_PASSWORD, with gcsFaultToleranceOptions", Peer: rule.BySpec, Reads: []string{"gcsFaultToleranceOptions"},
	CEL: []rule.CEL{cel.GCSVariable(cel.FTOptions, "REDIS_PASSWORD", ".redisPassword")}})
var rc057 = rule.New(rule.Rule{ID: "RC-057", Field: "headGroupSpec.template.spec.containers[0].env", Condition: "sets RAY_REDIS_ADDRESS, with gcsFaultToleranceOptions", Peer: rule.BySpec, Reads: []string{"gcsFaultToleranceOptions"},
	CEL: []rule.CEL{cel.GCSVariable(cel.FTOptions, "RAY_REDIS_ADDRESS", ".redisAddress")}})
var rc069 = rule.New(rule.Rule{ID: "RC-069", Field: "headGroupSpec.rayStartParams[redis-username], headGroupSpec.template.spec.containers[0].env", Condition: "redis-username or REDIS_USERNAME is set", Peer: rule.BySpec,
	CEL: []rule.CEL{
		{Node: "headGroupSpec", Field: ".rayStartParams", Reason: rule.Forbidden, Valid: "self.?rayStartParams[?'redis-username'].orValue('') == ''",
			Says: "use gcsFaultToleranceOptions.redisUsername"},
		{Node: "headGroupSpec.template", Field: ".spec.containers", Reason: rule.Forbidden, Valid: "!self.?spec.?containers[?0].?env.hasValue() || self.spec.containers[0].env.all(e, e.name != 'REDIS_USERNAME')",
			Says: "REDIS_USERNAME is set by the operator; use gcsFaultToleranceOptions.redisUsername"},
	}})

// checkRedisOnHead keeps the Redis settings out of the Pod template and the start parameters.
func checkRedisOnHead(out *rule.Report, c *Spec, path *field.Path) {
	h := &c.Spec.HeadGroupSpec
	params := path.Child("rayStartParams")
	out.When(c.ftOptions && h.RayStartParams["redis-password"] != "").Forbidden(rc055, params.Key("redis-password"))
	out.When(h.RayStartParams["redis-username"] != "").Forbidden(rc069, params.Key("redis-username"), "use gcsFaultToleranceOptions.redisUsername")
	names := map[string]taken{envRedisUsername: {rc069, "is set by the operator; use gcsFaultToleranceOptions.redisUsername"}}
	switch {
	case c.ftOptions:
		names[envRedisAddress] = taken{rc057, "is set by the operator; use gcsFaultToleranceOptions.redisAddress"}
		names[envRedisPassword] = taken{rc056, "is set by the operator; use gcsFaultToleranceOptions.redisPassword"}
	case !metadata.LowerTrue(c.meta.Annotations[rayv1.AnnotationFTEnabled]):
		names[envRedisAddress] = taken{rc054, "needs GCS fault tolerance; use gcsFaultToleranceOptions.redisAddress"}
	}
	if container := RayContainer(&h.Template); container != nil {
		forbidVariables(out, container.Env, path.Child("template", "spec", "containers").Index(0).Child("env"), names)
	}
}

var rc539 = rule.New(rule.Rule{ID: "RC-539", Field: "gcsFaultToleranceOptions.redisUsername, .redisPassword", Condition: "both value and valueFrom (error), or neither (warning)", Tier: rule.Kubernetes, Mixed: true,
	CEL: []rule.CEL{cel.Credential("redisUsername"), cel.Credential("redisPassword")}})

func checkCredential(out *rule.Report, credential *rayv1.RedisCredential, path *field.Path) {
	switch {
	case credential == nil:
	case credential.Value != "" && credential.ValueFrom != nil:
		out.Forbidden(rc539, path, "give value or valueFrom, not both")
	case credential.Value == "" && credential.ValueFrom == nil:
		out.Maybe().Required(rc539, path, "has neither value nor valueFrom; give one, or remove it")
	}
}

var rc059 = rule.New(rule.Rule{ID: "RC-059", Field: "gcsFaultToleranceOptions.backend", Condition: "rocksdb and gate GCSFaultToleranceEmbeddedStorage off (warning where that is not known)", Peer: rule.BySpec, Mixed: true, Depends: "gate GCSFaultToleranceEmbeddedStorage"})
var rc060 = rule.New(rule.Rule{ID: "RC-060", Field: "gcsFaultToleranceOptions.redisAddress", Condition: "set, with backend rocksdb", Peer: rule.BySpec, Reads: []string{"gcsFaultToleranceOptions.backend"},
	CEL: []rule.CEL{cel.OfRedis("redisAddress", "!has(self.redisAddress) || self.redisAddress == ''")}})
var rc061 = rule.New(rule.Rule{ID: "RC-061", Field: "gcsFaultToleranceOptions.redisUsername", Condition: "set, with backend rocksdb", Peer: rule.BySpec, Reads: []string{"gcsFaultToleranceOptions.backend"},
	CEL: []rule.CEL{cel.OfRedis("redisUsername", "!has(self.redisUsername)")}})
var rc062 = rule.New(rule.Rule{ID: "RC-062", Field: "gcsFaultToleranceOptions.redisPassword", Condition: "set, with backend rocksdb", Peer: rule.BySpec, Reads: []string{"gcsFaultToleranceOptions.backend"},
	CEL: []rule.CEL{cel.OfRedis("redisPassword", "!has(self.redisPassword)")}})
var rc063 = rule.New(rule.Rule{ID: "RC-063", Field: "gcsFaultToleranceOptions.externalStorageNamespace", Condition: "set, with backend rocksdb", Peer: rule.BySpec, Reads: []string{"gcsFaultToleranceOptions.backend"},
	CEL: []rule.CEL{cel.OfRedis("externalStorageNamespace", "!has(self.externalStorageNamespace) || self.externalStorageNamespace == ''")}})

func checkRocksDB(out *rule.Report, c *Spec, o *rayv1.GcsFaultToleranceOptions, path *field.Path) {
	out.Without(rule.GateEmbeddedGCSStorage, c.Options).Invalid(rc059, path.Child("backend"), string(o.Backend), rule.GateEmbeddedGCSStorage.Missing())
	const remedy = "belongs to the backend redis; remove it"
	out.When(o.RedisAddress != "").Forbidden(rc060, path.Child("redisAddress"), remedy)
	out.When(o.RedisUsername != nil).Forbidden(rc061, path.Child("redisUsername"), remedy)
	out.When(o.RedisPassword != nil).Forbidden(rc062, path.Child("redisPassword"), remedy)
	out.When(o.ExternalStorageNamespace != "").Invalid(rc063, path.Child("externalStorageNamespace"), o.ExternalStorageNamespace, remedy)
}

var rc065 = rule.New(rule.Rule{ID: "RC-065", Field: "headGroupSpec.template.spec.containers[0].env", Condition: "sets RAY_gcs_storage or RAY_gcs_storage_path, with backend rocksdb", Peer: rule.BySpec, Reads: []string{"gcsFaultToleranceOptions.backend"},
	CEL: []rule.CEL{cel.GCSVariable(cel.RocksDB, "RAY_gcs_storage", ""), cel.GCSVariable(cel.RocksDB, "RAY_gcs_storage_path", "")}})
var rc066 = rule.New(rule.Rule{ID: "RC-066", Field: "headGroupSpec.template.spec.containers[0].volumeMounts", Condition: "mounts gcs-storage or at /data/gcs, with backend rocksdb", Peer: rule.BySpec, Reads: []string{"gcsFaultToleranceOptions.backend"},
	Remedy: "the operator mounts gcs-storage at /data/gcs; use gcsFaultToleranceOptions.storage",
	CEL:    []rule.CEL{{Field: cel.ContainersField, Reason: rule.Forbidden, When: cel.RocksDB, Valid: "!" + cel.HeadMount("m.name == 'gcs-storage' || m.mountPath == '/data/gcs'")}}})
var rc067 = rule.New(rule.Rule{ID: "RC-067", Field: "headGroupSpec.template.spec.volumes", Condition: "a volume named gcs-storage, with backend rocksdb", Peer: rule.BySpec, Reads: []string{"gcsFaultToleranceOptions.backend"},
	Remedy: "the operator adds gcs-storage; use gcsFaultToleranceOptions.storage",
	CEL:    []rule.CEL{{Field: ".headGroupSpec.template.spec.volumes", Reason: rule.Forbidden, When: cel.RocksDB, Valid: "!" + cel.InHeadPod("volumes", "x.name == 'gcs-storage'")}}})

func checkRocksDBOnHead(out *rule.Report, c *Spec, path *field.Path) {
	refuseVolume(out, rc067, &c.Spec.HeadGroupSpec.Template.Spec, rayv1.VolumeGCSStorage, path)
	container, path := RayContainer(&c.Spec.HeadGroupSpec.Template), path.Child("containers").Index(0)
	if container == nil {
		return
	}
	forbidVariables(out, container.Env, path.Child("env"), allTaken(rc065, "is set by the operator; use gcsFaultToleranceOptions", "RAY_gcs_storage", "RAY_gcs_storage_path"))
	for i, m := range container.VolumeMounts {
		if m.Name == rayv1.VolumeGCSStorage || m.MountPath == rayv1.VolumeGCSStoragePath {
			out.Forbidden(rc066, path.Child("volumeMounts").Index(i))
		}
	}
}

var accessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce, corev1.ReadOnlyMany, corev1.ReadWriteMany, corev1.ReadWriteOncePod}

var rc010 = rule.NewEnum(rule.Rule{ID: "RC-010", Field: "gcsFaultToleranceOptions.storage.deletionPolicy", Peer: rule.BySchema, Marker: rule.InSchema}, rayv1.GCSStorageDeleteWithCluster, rayv1.GCSStorageRetain)
var rc064 = rule.New(rule.Rule{ID: "RC-064", Field: "gcsFaultToleranceOptions.storage.claimName", Condition: "set together with size, storageClassName or accessModes", Peer: rule.BySpec, Reads: []string{"gcsFaultToleranceOptions.storage"},
	Remedy: "an existing claim has its own size, storageClassName and accessModes; remove those, or claimName",
	CEL:    []rule.CEL{{Node: cel.GCSNode + ".storage", Field: ".claimName", Reason: rule.Forbidden, Valid: "!has(self.claimName) || self.claimName == '' || (!has(self.size) && !has(self.storageClassName) && (!has(self.accessModes) || size(self.accessModes) == 0))"}}})
var rc542 = rule.New(rule.Rule{ID: "RC-542", Field: "gcsFaultToleranceOptions.storage.size", Condition: "zero or negative", Tier: rule.Kubernetes, Remedy: "must be above 0, as in 1Gi",
	CEL: []rule.CEL{{Node: cel.GCSNode + ".storage", Field: ".size", Unchanged: []string{"size"}, Valid: "!has(self.size) || (type(self.size) == int ? self.size > 0 : string(self.size).matches(r'^\\+?[\\d.]*[1-9]'))"}}})
var rc543 = rule.New(rule.Rule{ID: "RC-543", Field: "gcsFaultToleranceOptions.storage.subPath", Condition: "absolute or with a .. element", Tier: rule.Kubernetes,
	Remedy: "must be relative and without .., as in ray/gcs",
	CEL:    []rule.CEL{{Node: cel.GCSNode + ".storage.subPath", Ratchet: rule.ByServer, Valid: "!self.startsWith('/') && !self.split('/').exists(s, s == '..')"}}})

func checkGCSStorage(out *rule.Report, s *rayv1.GcsEmbeddedStorage, path *field.Path) {
	if s == nil {
		return
	}
	out.When(s.ClaimName != "" && (s.Size != nil || s.StorageClassName != nil || len(s.AccessModes) > 0)).Invalid(rc064, path.Child("claimName"), s.ClaimName)
	rc010.CheckGiven(out, path.Child("deletionPolicy"), s.DeletionPolicy)
	if s.Size != nil && s.Size.Sign() <= 0 {
		out.Invalid(rc542, path.Child("size"), s.Size.String())
	}
	out.When(strings.HasPrefix(s.SubPath, "/") || slices.Contains(strings.Split(s.SubPath, "/"), "..")).Invalid(rc543, path.Child("subPath"), s.SubPath)
	const form = ": lower-case letters, digits, dashes and dots"
	bad := func(name string) bool { return name != "" && len(validation.IsDNS1123Subdomain(name)) > 0 }
	class := ptr.Deref(s.StorageClassName, "")
	out.When(bad(class)).Invalid(rc545, path.Child("storageClassName"), class, "must be the name of a StorageClass"+form)
	out.When(bad(s.ClaimName)).Maybe().Invalid(rc545, path.Child("claimName"), s.ClaimName, "must be the name of a PersistentVolumeClaim"+form)
	checkAccessModes(out, s.AccessModes, path.Child("accessModes"))
}

func checkAccessModes(out *rule.Report, modes []corev1.PersistentVolumeAccessMode, path *field.Path) {
	for i, mode := range modes {
		rule.OneOf(out, rc544, path.Index(i), mode, accessModes...)
	}
	pods.Repeats(out.Maybe(), pods.Unique{By: rc544, Path: path, Remedy: "list each mode once"}, modes, func(m *corev1.PersistentVolumeAccessMode) corev1.PersistentVolumeAccessMode { return *m })
	other := func(m corev1.PersistentVolumeAccessMode) bool { return m != corev1.ReadWriteOncePod }
	out.When(slices.Contains(modes, corev1.ReadWriteOncePod) && slices.ContainsFunc(modes, other)).Forbidden(rc544, path, "ReadWriteOncePod must stand alone")
}

var rc545 = rule.New(rule.Rule{ID: "RC-545", Field: "gcsFaultToleranceOptions.storage.claimName, .storageClassName", Condition: "not a DNS subdomain: of a class an error, of a claim a warning", Tier: rule.Kubernetes, Mixed: true,
	CEL: []rule.CEL{cel.StorageName("storageClassName", "StorageClass")}})
var rc544 = rule.New(rule.Rule{ID: "RC-544", Field: "gcsFaultToleranceOptions.storage.accessModes", Condition: "unknown mode, or ReadWriteOncePod together with others (error); repeated mode (warning)", Tier: rule.Kubernetes, Mixed: true,
	CEL: []rule.CEL{
		{Node: cel.GCSNode + ".storage.accessModes", Ratchet: rule.ByServer, Valid: "self.all(m, m in ['ReadWriteOnce', 'ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOncePod'])",
			Says: `supported values: "ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod"`},
		{Node: cel.GCSNode + ".storage.accessModes", Reason: rule.Forbidden, Ratchet: rule.ByServer, Valid: "!('ReadWriteOncePod' in self) || self.all(m, m == 'ReadWriteOncePod')",
			Says: "ReadWriteOncePod must stand alone"},
	}})
var rc538 = rule.New(rule.Rule{ID: "RC-538", Field: "gcsFaultToleranceOptions.redisAddress", Condition: "empty, backend redis", Remedy: "give host:port of Redis, or the head does not start",
	Policies: []rule.Policy{{Field: ".gcsFaultToleranceOptions.redisAddress", Valid: "!has(cluster.gcsFaultToleranceOptions) || cluster.gcsFaultToleranceOptions.?backend.orValue('') == 'rocksdb' || cluster.gcsFaultToleranceOptions.?redisAddress.orValue('') != ''"}}})
