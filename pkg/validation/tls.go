package validation

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// tlsEnv are the variables by which Ray finds its certificates.
var tlsEnv = paramSet("RAY_USE_TLS", "RAY_TLS_SERVER_CERT", "RAY_TLS_SERVER_KEY", "RAY_TLS_CA_CERT")

// tlsRules are the ids of one set of rules at one place.
type tlsRules struct{ env, mountName, mountPath string }

func needsTLS(path *field.Path) *field.Error {
	return forbidden("RC-106", path, GateMTLS.missing()+", even where it says enabled: false")
}

func validateTLS(c *cluster, path *field.Path) field.ErrorList {
	if c.spec.TLSOptions == nil {
		return nil
	}
	tlsPath := path.Child("tlsOptions")
	var errs field.ErrorList
	errs = append(errs, c.options.needs(GateMTLS, needsTLS(tlsPath))...)
	if c.tls && c.options.CertManagerMissing {
		errs = append(errs, invalid("RC-119", tlsPath.Child("enabled"), true, "needs cert-manager, which this Kubernetes cluster does not have; install it, or turn TLS off"))
	}
	return errs
}

// validateTLSTemplate keeps the names free that the operator needs in the Pods.
func validateTLSTemplate(c *cluster, g nodeGroup, path *field.Path) field.ErrorList {
	if !c.tls {
		return nil
	}
	var errs field.ErrorList
	if container := rayContainer(g.template); container != nil {
		ids := tlsRules{env: g.rule("RC-107", "RC-110"), mountName: g.rule("RC-108", "RC-111"), mountPath: g.rule("RC-109", "RC-112")}
		errs = append(errs, validateTLSReserved(path.Child("containers").Index(0), container.Env, container.VolumeMounts, ids)...)
	}
	for i := range g.template.Spec.Volumes {
		if g.template.Spec.Volumes[i].Name == rayv1.VolumeTLS {
			errs = append(errs, invalid("RC-573", path.Child("volumes").Index(i).Child("name"), rayv1.VolumeTLS, "the operator adds the volume "+rayv1.VolumeTLS+"; use another name"))
		}
	}
	return errs
}

func validateTLSReserved(path *field.Path, env []corev1.EnvVar, mounts []corev1.VolumeMount, ids tlsRules) field.ErrorList {
	var errs field.ErrorList
	for i := range env {
		if tlsEnv[env[i].Name] {
			errs = append(errs, forbidden(ids.env, path.Child("env").Index(i).Child("name"), env[i].Name+" is set by the operator with tlsOptions.enabled; remove it"))
		}
	}
	for i := range mounts {
		p := path.Child("volumeMounts").Index(i)
		if mounts[i].Name == rayv1.VolumeTLS {
			errs = append(errs, forbidden(ids.mountName, p.Child("name"), "the operator mounts "+rayv1.VolumeTLS+" with tlsOptions.enabled; remove it"))
		}
		if mounts[i].MountPath == rayv1.VolumeTLSPath {
			errs = append(errs, forbidden(ids.mountPath, p.Child("mountPath"), "the operator mounts its certificates at "+rayv1.VolumeTLSPath+"; use another path"))
		}
	}
	return errs
}
