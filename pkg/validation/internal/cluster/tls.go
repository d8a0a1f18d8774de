package cluster

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/pkg/validation/cel"
	"github.com/raygate/raygate/pkg/validation/rule"
)

// tlsEnv are the variables by which Ray finds its certificates.
var tlsEnv = sets.New("RAY_USE_TLS", "RAY_TLS_SERVER_CERT", "RAY_TLS_SERVER_KEY", "RAY_TLS_CA_CERT")

// tlsRules are the ids of one set of rules at one place.
type tlsRules struct{ env, mountName, mountPath *rule.Rule }

var rc106 = rule.New(rule.Rule{ID: "RC-106", Field: "tlsOptions", Condition: "set (even enabled: false) and gate RayClusterMTLS off (warning where that is not known)", Peer: rule.BySpec, Mixed: true, Depends: "gate RayClusterMTLS"})
var rc119 = rule.New(rule.Rule{ID: "RC-119", Field: "tlsOptions", Condition: "TLS on and no cert-manager in the Kubernetes cluster", Peer: rule.BySpec, Depends: "cert-manager",
	Remedy: "needs cert-manager, which this Kubernetes cluster does not have; install it, or turn TLS off"})

func checkTLS(out *rule.Report, c *Spec, path *field.Path) {
	if c.Spec.TLSOptions == nil {
		return
	}
	tlsPath := path.Child("tlsOptions")
	out.Without(rule.GateMTLS, c.Options).Forbidden(rc106, tlsPath, rule.GateMTLS.Missing()+", even where it says enabled: false")
	if c.tls && c.Options.CertManagerMissing {
		out.Invalid(rc119, tlsPath.Child("enabled"), true)
	}
}

var rc107 = rule.New(rule.Rule{ID: "RC-107", Field: "headGroupSpec.template.spec.containers[0].env", Condition: "sets RAY_USE_TLS, RAY_TLS_SERVER_CERT, RAY_TLS_SERVER_KEY or RAY_TLS_CA_CERT with TLS on", Peer: rule.BySpec, Reads: []string{"tlsOptions.enabled"},
	CEL: []rule.CEL{cel.TLSOnHead(cel.HeadEnv("e.name in "+cel.TLSNames), cel.TLSVariables)}})
var rc108 = rule.New(rule.Rule{ID: "RC-108", Field: "headGroupSpec.template.spec.containers[0].volumeMounts", Condition: "mounts ray-tls with TLS on", Peer: rule.BySpec, Reads: []string{"tlsOptions.enabled"},
	CEL: []rule.CEL{cel.TLSOnHead(cel.HeadMount("m.name == 'ray-tls'"), cel.TLSMountName)}})
var rc109 = rule.New(rule.Rule{ID: "RC-109", Field: "headGroupSpec.template.spec.containers[0].volumeMounts", Condition: "mounts at /etc/ray/tls with TLS on", Peer: rule.BySpec, Reads: []string{"tlsOptions.enabled"},
	CEL: []rule.CEL{cel.TLSOnHead(cel.HeadMount("m.mountPath == '/etc/ray/tls'"), cel.TLSMountPath)}})
var rc110 = rule.New(rule.Rule{ID: "RC-110", Field: "workerGroupSpecs[i].template.spec.containers[0].env", Condition: "sets RAY_USE_TLS, RAY_TLS_SERVER_CERT, RAY_TLS_SERVER_KEY or RAY_TLS_CA_CERT with TLS on", Peer: rule.BySpec, Reads: []string{"tlsOptions.enabled"},
	Policies: []rule.Policy{{EachGroup: true, Field: ".template.spec.containers[0].env", Valid: "!" + cel.ClusterTLS + " || g.template.?spec.?containers[?0].?env.orValue([]).all(e, !(e.name in " + cel.TLSNames + "))",
		Says: cel.TLSVariables}}})
var rc111 = rule.New(rule.Rule{ID: "RC-111", Field: "workerGroupSpecs[i].template.spec.containers[0].volumeMounts", Condition: "mounts ray-tls with TLS on", Peer: rule.BySpec, Reads: []string{"tlsOptions.enabled"},
	Policies: []rule.Policy{{EachGroup: true, Field: ".template.spec.containers[0].volumeMounts", Valid: "!" + cel.ClusterTLS + " || g.template.?spec.?containers[?0].?volumeMounts.orValue([]).all(m, m.name != 'ray-tls')",
		Says: cel.TLSMountName}}})
var rc112 = rule.New(rule.Rule{ID: "RC-112", Field: "workerGroupSpecs[i].template.spec.containers[0].volumeMounts", Condition: "mounts at /etc/ray/tls with TLS on", Peer: rule.BySpec, Reads: []string{"tlsOptions.enabled"},
	Policies: []rule.Policy{{EachGroup: true, Field: ".template.spec.containers[0].volumeMounts", Valid: "!" + cel.ClusterTLS + " || g.template.?spec.?containers[?0].?volumeMounts.orValue([]).all(m, m.mountPath != '/etc/ray/tls')",
		Says: cel.TLSMountPath}}})
var rc573 = rule.New(rule.Rule{ID: "RC-573", Field: "volumes[j].name of Pod templates", Condition: "ray-tls with TLS on", Tier: rule.Kubernetes,
	Remedy:   "the operator adds the volume ray-tls; use another name",
	CEL:      []rule.CEL{{Field: ".headGroupSpec.template.spec.volumes", Reason: rule.Forbidden, Valid: "!" + cel.TLSOn + " || !" + cel.InHeadPod("volumes", "x.name == 'ray-tls'")}},
	Policies: []rule.Policy{{EachGroup: true, Field: ".template.spec.volumes", Valid: "!" + cel.ClusterTLS + " || g.template.?spec.?volumes.orValue([]).all(v, v.name != 'ray-tls')"}}})

// checkTLSTemplate keeps the names free that the operator needs in the Pods.
func checkTLSTemplate(out *rule.Report, c *Spec, g nodeGroup, path *field.Path) {
	if !c.tls {
		return
	}
	if container := RayContainer(g.template); container != nil {
		ids := tlsRules{env: g.rule(rc107, rc110), mountName: g.rule(rc108, rc111), mountPath: g.rule(rc109, rc112)}
		checkTLSReserved(out, path.Child("containers").Index(0), container.Env, container.VolumeMounts, ids)
	}
	for i := range g.template.Spec.Volumes {
		if g.template.Spec.Volumes[i].Name == rayv1.VolumeTLS {
			out.Invalid(rc573, path.Child("volumes").Index(i).Child("name"), rayv1.VolumeTLS)
		}
	}
}

func checkTLSReserved(out *rule.Report, path *field.Path, env []corev1.EnvVar, mounts []corev1.VolumeMount, ids tlsRules) {
	for i := range env {
		if tlsEnv.Has(env[i].Name) {
			out.Forbidden(ids.env, path.Child("env").Index(i).Child("name"), env[i].Name+" is set by the operator with tlsOptions.enabled; remove it")
		}
	}
	for i := range mounts {
		p := path.Child("volumeMounts").Index(i)
		if mounts[i].Name == rayv1.VolumeTLS {
			out.Forbidden(ids.mountName, p.Child("name"), "the operator mounts "+rayv1.VolumeTLS+" with tlsOptions.enabled; remove it")
		}
		if mounts[i].MountPath == rayv1.VolumeTLSPath {
			out.Forbidden(ids.mountPath, p.Child("mountPath"), "the operator mounts its certificates at "+rayv1.VolumeTLSPath+"; use another path")
		}
	}
}
