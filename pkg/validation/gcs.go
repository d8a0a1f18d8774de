package validation

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

const (
	envRedisAddress  = "RAY_REDIS_ADDRESS"
	envRedisUsername = "REDIS_USERNAME"
	envRedisPassword = "REDIS_PASSWORD"
)

func validateGCSFaultTolerance(c *cluster, path *field.Path) field.ErrorList {
	errs := validateFTAnnotations(c)
	errs = append(errs, validateRedisOnHead(c, path.Child("headGroupSpec"))...)
	o := c.spec.GcsFaultToleranceOptions
	if o == nil {
		return errs
	}
	optionsPath := path.Child("gcsFaultToleranceOptions")
	if o.Backend != "" {
		errs = append(errs, notIn("RC-009", optionsPath.Child("backend"), o.Backend, rayv1.GcsFTBackendRedis, rayv1.GcsFTBackendRocksDB)...)
	}
	errs = append(errs, validateCredential(o.RedisUsername, optionsPath.Child("redisUsername"))...)
	errs = append(errs, validateCredential(o.RedisPassword, optionsPath.Child("redisPassword"))...)
	errs = append(errs, validateGCSStorage(o.Storage, optionsPath.Child("storage"))...)
	if c.rocksdb {
		errs = append(errs, validateRocksDB(c, o, optionsPath)...)
		errs = append(errs, validateRocksDBOnHead(c, path.Child("headGroupSpec", "template", "spec"))...)
	} else if o.Storage != nil {
		errs = append(errs, forbidden("RC-068", optionsPath.Child("storage"), "belongs to the backend rocksdb; remove it, or set backend to rocksdb"))
	}
	return errs
}

// validateFTAnnotations refuses the old way of saying things next to the new one.
func validateFTAnnotations(c *cluster) field.ErrorList {
	if !c.ftOptions {
		return nil
	}
	path := field.NewPath("metadata", "annotations")
	var errs field.ErrorList
	if v := c.meta.Annotations[rayv1.AnnotationFTEnabled]; v != "" {
		errs = append(errs, invalid("RC-053", path.Key(rayv1.AnnotationFTEnabled), v, "gcsFaultToleranceOptions says so already; remove the annotation"))
	}
	if v := c.meta.Annotations[rayv1.AnnotationExternalStorageNamespace]; v != "" {
		errs = append(errs, invalid("RC-058", path.Key(rayv1.AnnotationExternalStorageNamespace), v, "use gcsFaultToleranceOptions.externalStorageNamespace"))
	}
	return errs
}

// validateRedisOnHead keeps the Redis settings out of the Pod template and the start parameters.
func validateRedisOnHead(c *cluster, path *field.Path) field.ErrorList {
	h := &c.spec.HeadGroupSpec
	params := path.Child("rayStartParams")
	env := path.Child("template", "spec", "containers").Index(0).Child("env")
	annotated := lowerTrue(c.meta.Annotations[rayv1.AnnotationFTEnabled])
	var errs field.ErrorList
	if c.ftOptions && h.RayStartParams["redis-password"] != "" {
		errs = append(errs, forbidden("RC-055", params.Key("redis-password"), "use gcsFaultToleranceOptions.redisPassword"))
	}
	if h.RayStartParams["redis-username"] != "" {
		errs = append(errs, forbidden("RC-069", params.Key("redis-username"), "use gcsFaultToleranceOptions.redisUsername"))
	}
	container := rayContainer(&h.Template)
	if container == nil {
		return errs
	}
	for i := range container.Env {
		p := env.Index(i).Child("name")
		switch name := container.Env[i].Name; {
		case name == envRedisAddress && c.ftOptions:
			errs = append(errs, forbidden("RC-057", p, name+" is set by the operator; use gcsFaultToleranceOptions.redisAddress"))
		case name == envRedisAddress && !annotated:
			errs = append(errs, forbidden("RC-054", p, name+" needs GCS fault tolerance; use gcsFaultToleranceOptions.redisAddress"))
		case name == envRedisPassword && c.ftOptions:
			errs = append(errs, forbidden("RC-056", p, name+" is set by the operator; use gcsFaultToleranceOptions.redisPassword"))
		case name == envRedisUsername:
			errs = append(errs, forbidden("RC-069", p, name+" is set by the operator; use gcsFaultToleranceOptions.redisUsername"))
		}
	}
	return errs
}

func validateCredential(credential *rayv1.RedisCredential, path *field.Path) field.ErrorList {
	if credential == nil || credential.Value == "" || credential.ValueFrom == nil {
		return nil
	}
	return field.ErrorList{forbidden("RC-539", path, "give value or valueFrom, not both")}
}

func needsRocksDB(o *rayv1.GcsFaultToleranceOptions, path *field.Path) *field.Error {
	return invalid("RC-059", path.Child("backend"), string(o.Backend), GateEmbeddedGCSStorage.missing())
}

func validateRocksDB(c *cluster, o *rayv1.GcsFaultToleranceOptions, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	errs = append(errs, c.options.needs(GateEmbeddedGCSStorage, needsRocksDB(o, path))...)
	const remedy = "belongs to the backend redis; remove it"
	if o.RedisAddress != "" {
		errs = append(errs, forbidden("RC-060", path.Child("redisAddress"), remedy))
	}
	if o.RedisUsername != nil {
		errs = append(errs, forbidden("RC-061", path.Child("redisUsername"), remedy))
	}
	if o.RedisPassword != nil {
		errs = append(errs, forbidden("RC-062", path.Child("redisPassword"), remedy))
	}
	if o.ExternalStorageNamespace != "" {
		errs = append(errs, invalid("RC-063", path.Child("externalStorageNamespace"), o.ExternalStorageNamespace, remedy))
	}
	return errs
}

func validateRocksDBOnHead(c *cluster, path *field.Path) field.ErrorList {
	pod := &c.spec.HeadGroupSpec.Template.Spec
	var errs field.ErrorList
	if container := rayContainer(&c.spec.HeadGroupSpec.Template); container != nil {
		p := path.Child("containers").Index(0)
		for i := range container.Env {
			if name := container.Env[i].Name; name == "RAY_gcs_storage" || name == "RAY_gcs_storage_path" {
				errs = append(errs, forbidden("RC-065", p.Child("env").Index(i).Child("name"), name+" is set by the operator; use gcsFaultToleranceOptions"))
			}
		}
		for i, m := range container.VolumeMounts {
			if m.Name == rayv1.VolumeGCSStorage || m.MountPath == rayv1.VolumeGCSStoragePath {
				errs = append(errs, forbidden("RC-066", p.Child("volumeMounts").Index(i), "the operator mounts "+rayv1.VolumeGCSStorage+" at "+rayv1.VolumeGCSStoragePath+"; use gcsFaultToleranceOptions.storage"))
			}
		}
	}
	for i := range pod.Volumes {
		if pod.Volumes[i].Name == rayv1.VolumeGCSStorage {
			errs = append(errs, invalid("RC-067", path.Child("volumes").Index(i).Child("name"), pod.Volumes[i].Name, "the operator adds "+rayv1.VolumeGCSStorage+"; use gcsFaultToleranceOptions.storage"))
		}
	}
	return errs
}

var accessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce, corev1.ReadOnlyMany, corev1.ReadWriteMany, corev1.ReadWriteOncePod}

func validateGCSStorage(s *rayv1.GcsEmbeddedStorage, path *field.Path) field.ErrorList {
	if s == nil {
		return nil
	}
	var errs field.ErrorList
	if s.ClaimName != "" && (s.Size != nil || s.StorageClassName != nil || len(s.AccessModes) > 0) {
		errs = append(errs, invalid("RC-064", path.Child("claimName"), s.ClaimName, "an existing claim has its own size, storageClassName and accessModes; remove those, or claimName"))
	}
	if s.DeletionPolicy != nil {
		errs = append(errs, notIn("RC-010", path.Child("deletionPolicy"), *s.DeletionPolicy, rayv1.GCSStorageDeleteWithCluster, rayv1.GCSStorageRetain)...)
	}
	if s.Size != nil && s.Size.Sign() <= 0 {
		errs = append(errs, invalid("RC-542", path.Child("size"), s.Size.String(), "must be above 0, as in 1Gi"))
	}
	if strings.HasPrefix(s.SubPath, "/") || slices.Contains(strings.Split(s.SubPath, "/"), "..") {
		errs = append(errs, invalid("RC-543", path.Child("subPath"), s.SubPath, "must be relative and without .., as in ray/gcs"))
	}
	errs = append(errs, validateAccessModes(s.AccessModes, path.Child("accessModes"))...)
	return append(errs, validateStorageNames(s, path)...)
}

func validateStorageNames(s *rayv1.GcsEmbeddedStorage, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if s.StorageClassName != nil && *s.StorageClassName != "" && len(validation.IsDNS1123Subdomain(*s.StorageClassName)) > 0 {
		errs = append(errs, invalid("RC-545", path.Child("storageClassName"), *s.StorageClassName, "must be the name of a StorageClass: lower-case letters, digits, dashes and dots"))
	}
	return errs
}

func validateAccessModes(modes []corev1.PersistentVolumeAccessMode, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	seen := map[corev1.PersistentVolumeAccessMode]bool{}
	for i, mode := range modes {
		errs = append(errs, notIn("RC-544", path.Index(i), mode, accessModes...)...)
		seen[mode] = true
	}
	if seen[corev1.ReadWriteOncePod] && len(seen) > 1 {
		errs = append(errs, forbidden("RC-544", path, "ReadWriteOncePod must stand alone"))
	}
	return errs
}

// warnGCSStorage tells of what the API server takes and the user did not mean.
func warnGCSStorage(s *rayv1.GcsEmbeddedStorage, path *field.Path) field.ErrorList {
	if s == nil {
		return nil
	}
	var warnings field.ErrorList
	if s.ClaimName != "" && len(validation.IsDNS1123Subdomain(s.ClaimName)) > 0 {
		warnings = append(warnings, invalid("RC-545", path.Child("claimName"), s.ClaimName, "must be the name of a PersistentVolumeClaim: lower-case letters, digits, dashes and dots"))
	}
	seen := map[corev1.PersistentVolumeAccessMode]bool{}
	for i, mode := range s.AccessModes {
		if seen[mode] {
			warnings = append(warnings, duplicate("RC-544", path.Child("accessModes").Index(i), mode, "list each mode once"))
		}
		seen[mode] = true
	}
	return warnings
}

func warnGCSFaultTolerance(c *cluster, path *field.Path) field.ErrorList {
	o := c.spec.GcsFaultToleranceOptions
	if o == nil {
		return nil
	}
	path = path.Child("gcsFaultToleranceOptions")
	var warnings field.ErrorList
	if c.rocksdb {
		warnings = append(warnings, c.options.mayNeed(GateEmbeddedGCSStorage, needsRocksDB(o, path))...)
	}
	warnings = append(warnings, warnGCSStorage(o.Storage, path.Child("storage"))...)
	if !c.rocksdb && o.RedisAddress == "" {
		warnings = append(warnings, required("RC-538", path.Child("redisAddress"), "give host:port of Redis, or the head does not start"))
	}
	for _, credential := range []struct {
		name  string
		value *rayv1.RedisCredential
	}{{"redisUsername", o.RedisUsername}, {"redisPassword", o.RedisPassword}} {
		if v := credential.value; v != nil && v.Value == "" && v.ValueFrom == nil {
			warnings = append(warnings, required("RC-539", path.Child(credential.name), "has neither value nor valueFrom; give one, or remove it"))
		}
	}
	return warnings
}
