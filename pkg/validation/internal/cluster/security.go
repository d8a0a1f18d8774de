package cluster

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/pkg/validation/cel"
	"github.com/raygate/raygate/pkg/validation/internal/metadata"
	"github.com/raygate/raygate/pkg/validation/rule"
)

var (
	tokenAuth           = feature{"authOptions.mode token", rayWithTokenAuth, rc091, rc092, rc093}
	kubernetesTokenAuth = feature{"authOptions.enableK8sTokenAuth", rayWithK8sTokenAuth, rc091, rc092, rc094}
)

var rc006 = rule.NewEnum(rule.Rule{ID: "RC-006", Field: "authOptions.mode", Peer: rule.BySchema, Marker: rule.InSchema}, rayv1.AuthModeDisabled, rayv1.AuthModeToken)
var rc095 = rule.New(rule.Rule{ID: "RC-095", Field: "authOptions.secretName", Condition: "set with enableK8sTokenAuth", Peer: rule.BySpec, Reads: []string{"authOptions"},
	Remedy: "is not used with enableK8sTokenAuth; keep one of the two",
	CEL:    []rule.CEL{{Node: "authOptions", Field: ".secretName", Reason: rule.Forbidden, Valid: "!has(self.mode) || self.mode != 'token' || !has(self.enableK8sTokenAuth) || !self.enableK8sTokenAuth || !has(self.secretName) || self.secretName == ''"}}})
var rc096 = rule.New(rule.Rule{ID: "RC-096", Field: "authOptions.mode", Condition: "not token with enableK8sTokenAuth", Peer: rule.BySpec, Reads: []string{"authOptions"},
	Remedy: "must be token with enableK8sTokenAuth",
	CEL:    []rule.CEL{{Node: "authOptions", Field: ".mode", Valid: "!has(self.enableK8sTokenAuth) || !self.enableK8sTokenAuth || (has(self.mode) && self.mode == 'token')"}}})

func checkAuth(out *rule.Report, c *Spec, path *field.Path) {
	o := c.Spec.AuthOptions
	if o == nil {
		return
	}
	authPath, byKubernetes := path.Child("authOptions"), metadata.IsTrue(o.EnableK8sTokenAuth)
	if o.Mode == "" {
		out.Required(rc572, authPath.Child("mode"))
	} else {
		rc006.Check(out, authPath.Child("mode"), o.Mode)
	}
	if !c.tokenAuth {
		out.When(byKubernetes).Invalid(rc096, authPath.Child("mode"), string(o.Mode))
		return
	}
	// Report the later of two releases only if the earlier requirement is met.
	versionPath := path.Child("rayVersion")
	if tokenAuth.check(out, c.Spec.RayVersion, versionPath) && byKubernetes {
		kubernetesTokenAuth.check(out, c.Spec.RayVersion, versionPath)
	}
	secret := ptr.Deref(o.SecretName, "")
	out.When(byKubernetes && secret != "").Invalid(rc095, authPath.Child("secretName"), secret)
}

var rc091 = rule.New(rule.Rule{ID: "RC-091", Field: "rayVersion", Condition: "empty with mode token", Peer: rule.BySpec, Reads: []string{"authOptions"},
	CEL: []rule.CEL{{Field: cel.VersionField, Reason: rule.Required, When: cel.TokenAuth, Valid: cel.HasVersion,
		Says: cel.TokenNeeds}}})
var rc092 = rule.New(rule.Rule{ID: "RC-092", Field: "rayVersion", Condition: "not a version with mode token", Peer: rule.BySpec, Reads: []string{"authOptions"},
	CEL: []rule.CEL{{Field: cel.VersionField, When: cel.TokenAuth, Valid: "!" + cel.HasVersion + " || " + cel.GoodVersion,
		NoWorse: cel.SameVersion,
		Says:    cel.TokenNeeds}}})
var rc093 = rule.New(rule.Rule{ID: "RC-093", Field: "rayVersion", Condition: "below 2.52.0 with mode token", Peer: rule.BySpec, Reads: []string{"authOptions"},
	CEL: []rule.CEL{{Field: cel.VersionField, When: cel.TokenAuth, Valid: "!" + cel.HasVersion + " || !" + cel.GoodVersion + " || self.rayVersion.matches('" + cel.FromRay252 + "')",
		NoWorse: cel.SameVersion,
		Says:    cel.TokenNeeds}}})
var rc094 = rule.New(rule.Rule{ID: "RC-094", Field: "rayVersion", Condition: "below 2.55.0 with enableK8sTokenAuth", Peer: rule.BySpec, Reads: []string{"authOptions"},
	CEL: []rule.CEL{{Field: cel.VersionField, When: cel.TokenAuth, Valid: "!has(self.authOptions.enableK8sTokenAuth) || !self.authOptions.enableK8sTokenAuth || !" + cel.HasVersion +
		" || !self.rayVersion.matches('" + cel.FromRay252 + "') || self.rayVersion.matches('" + cel.FromRay255 + "')",
		NoWorse: cel.SameVersion,
		Says:    cel.NeedsVersion("authOptions.enableK8sTokenAuth", "2.55.0")}}})
var rc572 = rule.New(rule.Rule{ID: "RC-572", Field: "authOptions.mode", Condition: "block present, mode unset", Remedy: "unset means disabled; set token to demand a token, or disabled to be clear",
	Policies: []rule.Policy{{Field: ".authOptions.mode", Valid: "!has(cluster.authOptions) || has(cluster.authOptions.mode)"}}})

// tlsEnv are the variables by which Ray finds its certificates.
var tlsEnv = []string{"RAY_USE_TLS", "RAY_TLS_SERVER_CERT", "RAY_TLS_SERVER_KEY", "RAY_TLS_CA_CERT"}

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
	out.When(c.tls && c.Options.CertManagerMissing).Invalid(rc119, tlsPath.Child("enabled"), true)
}

var rc107 = rule.New(rule.Rule{ID: "RC-107", Field: "headGroupSpec.template.spec.containers[0].env", Condition: "sets RAY_USE_TLS, RAY_TLS_SERVER_CERT, RAY_TLS_SERVER_KEY or RAY_TLS_CA_CERT with TLS on", Peer: rule.BySpec, Reads: []string{"tlsOptions.enabled"},
	CEL: []rule.CEL{cel.OnHead(cel.TLSOn, cel.HeadEnv("e.name in "+cel.TLSNames), cel.TLSVariables)}})
var rc108 = rule.New(rule.Rule{ID: "RC-108", Field: "headGroupSpec.template.spec.containers[0].volumeMounts", Condition: "mounts ray-tls with TLS on", Peer: rule.BySpec, Reads: []string{"tlsOptions.enabled"},
	CEL: []rule.CEL{cel.OnHead(cel.TLSOn, cel.HeadMount("m.name == 'ray-tls'"), cel.TLSMountName)}})
var rc109 = rule.New(rule.Rule{ID: "RC-109", Field: "headGroupSpec.template.spec.containers[0].volumeMounts", Condition: "mounts at /etc/ray/tls with TLS on", Peer: rule.BySpec, Reads: []string{"tlsOptions.enabled"},
	CEL: []rule.CEL{cel.OnHead(cel.TLSOn, cel.HeadMount("m.mountPath == '/etc/ray/tls'"), cel.TLSMountPath)}})
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
	CEL:      []rule.CEL{{Field: ".headGroupSpec.template.spec.volumes", Reason: rule.Forbidden, When: cel.TLSOn, Valid: "!" + cel.InHeadPod("volumes", "x.name == 'ray-tls'")}},
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
	refuseVolume(out, rc573, &g.template.Spec, rayv1.VolumeTLS, path)
}

func checkTLSReserved(out *rule.Report, path *field.Path, env []corev1.EnvVar, mounts []corev1.VolumeMount, ids tlsRules) {
	forbidVariables(out, env, path.Child("env"), allTaken(ids.env, "is set by the operator with tlsOptions.enabled; remove it", tlsEnv...))
	for i := range mounts {
		p := path.Child("volumeMounts").Index(i)
		out.When(mounts[i].Name == rayv1.VolumeTLS).Forbidden(ids.mountName, p.Child("name"), cel.TLSMountName)
		out.When(mounts[i].MountPath == rayv1.VolumeTLSPath).Forbidden(ids.mountPath, p.Child("mountPath"), cel.TLSMountPath)
	}
}

// taken is the reason why a name cannot be used, and the rule that forbids it. The zero value means that the name is free.
type taken struct {
	by  *rule.Rule
	why string
}

// forbidVariables refuses the taken variables in a list at the path.
func forbidVariables(out *rule.Report, env []corev1.EnvVar, path *field.Path, names map[string]taken) {
	for i := range env {
		if t := names[env[i].Name]; t.by != nil {
			out.Forbidden(t.by, path.Index(i).Child("name"), env[i].Name+" "+t.why)
		}
	}
}

// allTaken are names that are taken for the same reason.
func allTaken(by *rule.Rule, why string, names ...string) map[string]taken {
	all := make(map[string]taken, len(names))
	for _, name := range names {
		all[name] = taken{by, why}
	}
	return all
}

// refuseVolume refuses a volume of the user with the name of a volume that the operator adds.
func refuseVolume(out *rule.Report, by *rule.Rule, pod *corev1.PodSpec, name string, path *field.Path) {
	for i := range pod.Volumes {
		if pod.Volumes[i].Name == name {
			out.Invalid(by, path.Child("volumes").Index(i).Child("name"), name)
		}
	}
}
