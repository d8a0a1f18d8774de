package pod

import (
	"cmp"
	"regexp"

	corev1 "k8s.io/api/core/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/gcs"
	"github.com/raygate/raygate/operator/internal/build/names"
)

const (
	paramRedisUsername = "redis-username"
	paramRedisPassword = "redis-password"

	envRedisAddress  = "RAY_REDIS_ADDRESS"
	envRedisUsername = "REDIS_USERNAME"
	envRedisPassword = "REDIS_PASSWORD"
)

// addFaultTolerance configures the Ray container for GCS fault tolerance.
func (n *node) addFaultTolerance(s *corev1.PodSpec, ray *corev1.Container) {
	env := environment{&ray.Env}
	backend := gcs.Backend(n.rc)
	switch {
	case backend == "":
	case !n.isHead():
		// Workers must survive the restart of a head, which takes longer than Ray's default timeout.
		env.setDefault(text("RAY_gcs_rpc_server_reconnect_timeout_s", "600"))
	case backend == rayv1.GcsFTBackendRocksDB:
		n.addEmbeddedStore(s, ray)
	default:
		n.addRedis(env, len(ray.EnvFrom) > 0)
	}
}

// addEmbeddedStore makes the GCS store its data on a volume that outlives the Pod.
func (n *node) addEmbeddedStore(s *corev1.PodSpec, ray *corev1.Container) {
	env := environment{&ray.Env}
	env.setDefault(text("RAY_gcs_storage", "rocksdb"))
	env.setDefault(text("RAY_gcs_storage_path", rayv1.VolumeGCSStoragePath))

	claim, subPath := names.GCSClaim(n.rc.Name), ""
	if storage := n.rc.Spec.GcsFaultToleranceOptions.Storage; storage != nil {
		claim, subPath = cmp.Or(storage.ClaimName, claim), storage.SubPath
	}
	addVolume(s, rayv1.VolumeGCSStorage, corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
	})
	addMount(ray, corev1.VolumeMount{Name: rayv1.VolumeGCSStorage, MountPath: rayv1.VolumeGCSStoragePath, SubPath: subPath})
}

// addRedis configures the Redis connection of the head. With gcsFaultToleranceOptions the operator writes all of it; with the
// older annotation the user does.
func (n *node) addRedis(env environment, hasSources bool) {
	env.setDefault(text(gcs.EnvStorageNamespace, gcs.StorageNamespace(n.rc)))
	o := n.rc.Spec.GcsFaultToleranceOptions
	if o == nil {
		n.addLegacyPassword(env)
		return
	}
	// Like KubeRay, write an empty address too, unless it could hide one from a ConfigMap or Secret.
	if o.RedisAddress != "" || !hasSources {
		env.set(text(envRedisAddress, o.RedisAddress))
	}
	if c := o.RedisUsername; c != nil {
		env.set(corev1.EnvVar{Name: envRedisUsername, Value: c.Value, ValueFrom: c.ValueFrom.DeepCopy()})
	}
	if c := o.RedisPassword; c != nil {
		env.set(corev1.EnvVar{Name: envRedisPassword, Value: c.Value, ValueFrom: c.ValueFrom.DeepCopy()})
	}
}

// addRedisParams lets the shell insert user name and password, so that neither appears in the command.
func (n *node) addRedisParams(params map[string]string) {
	o := n.rc.Spec.GcsFaultToleranceOptions
	if !n.isHead() || o == nil || gcs.Backend(n.rc) != rayv1.GcsFTBackendRedis {
		return
	}
	if o.RedisUsername != nil {
		params[paramRedisUsername] = "$" + envRedisUsername
	}
	if o.RedisPassword != nil {
		params[paramRedisPassword] = "$" + envRedisPassword
	}
}

// shellVariable matches text that consists of one variable reference.
var shellVariable = regexp.MustCompile(`^"?\$\{?([A-Za-z_][A-Za-z0-9_]*)\}?"?$`)

// addLegacyPassword passes the password in the start parameters on to the Redis cleanup, which runs in this container too. A shell
// reference is converted to a Kubernetes reference, because a shell does not expand values of variables. It is left out if the
// container does not define the variable. KubeRay copies the text.
func (n *node) addLegacyPassword(env environment) {
	password, ok := n.startParams[paramRedisPassword]
	if !ok {
		return
	}
	if m := shellVariable.FindStringSubmatch(password); m != nil {
		if env.index(m[1]) < 0 {
			return
		}
		password = "$(" + m[1] + ")"
	}
	env.setDefault(text(envRedisPassword, password))
}
