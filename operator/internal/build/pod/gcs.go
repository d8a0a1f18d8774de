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

// addFaultTolerance prepares the Ray container for a head that comes back with its metadata.
func (n *node) addFaultTolerance(s *corev1.PodSpec, ray *corev1.Container) {
	env := environment{&ray.Env}
	backend := gcs.Backend(n.rc)
	switch {
	case backend == "":
	case !n.isHead():
		// Workers must outlive a head that comes back, which takes longer than Ray's own default.
		env.setDefault(text("RAY_gcs_rpc_server_reconnect_timeout_s", "600"))
	case backend == rayv1.GcsFTBackendRocksDB:
		n.addEmbeddedStore(s, ray)
	default:
		n.addRedis(env, len(ray.EnvFrom) > 0)
	}
}

// addEmbeddedStore makes the GCS write to files on a volume that outlives the Pod.
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

// addRedis tells the head where its Redis is. With the options the operator writes the whole connection; with the older
// annotation the user does.
func (n *node) addRedis(env environment, hasSources bool) {
	env.setDefault(text(gcs.EnvStorageNamespace, gcs.StorageNamespace(n.rc)))
	o := n.rc.Spec.GcsFaultToleranceOptions
	if o == nil {
		n.addLegacyPassword(env)
		return
	}
	// An empty address is written too, as by KubeRay, unless it could hide one that comes from a ConfigMap or Secret.
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

// addRedisParams leaves it to the shell to put in user name and password, so that neither is in the command.
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

// shellVariable matches text that is nothing but a reference to a variable.
var shellVariable = regexp.MustCompile(`^"?\$\{?([A-Za-z_][A-Za-z0-9_]*)\}?"?$`)

// addLegacyPassword gives the clean-up of Redis, which runs in this container too, the password that the user wrote into
// the start parameters. A reference there is one for a shell, which does not look into values of variables: it becomes
// one for Kubernetes, or is left out when the variable is not in sight. KubeRay copies the text.
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
