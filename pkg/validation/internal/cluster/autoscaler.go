package cluster

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/util/version"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/pkg/validation/cel"
	"github.com/raygate/raygate/pkg/validation/internal/pods"
	"github.com/raygate/raygate/pkg/validation/rule"
)

// wantsAutoscalerV2 reads the setting that is older than autoscalerOptions.version, with the values that KubeRay accepts.
func wantsAutoscalerV2(head *corev1.Container) bool { return hasEnv(head, cel.V2Variable, "1", "true") }

var rc071 = rule.New(rule.Rule{ID: "RC-071", Field: "enableInTreeAutoscaling", Condition: "not true while the head sets RAY_enable_autoscaler_v2", Peer: rule.BySpec, Reads: []string{"headGroupSpec.template.spec.containers[0].env"},
	CEL: []rule.CEL{{Field: ".enableInTreeAutoscaling", Reason: rule.Required, When: cel.Head, Valid: cel.Autoscaling + " || !" + cel.WantsV2ByEnv,
		Says: "the head sets " + cel.V2Variable + "; set this to true, or remove the variable"}}})
var rc073 = rule.New(rule.Rule{ID: "RC-073", Field: "autoscalerOptions.version", Condition: "set while the head sets RAY_enable_autoscaler_v2 too", Peer: rule.BySpec, Reads: []string{"headGroupSpec.template.spec.containers[0].env", "enableInTreeAutoscaling"},
	CEL: []rule.CEL{{Field: ".autoscalerOptions.version", Reason: rule.Forbidden, When: cel.Autoscaling, Valid: "!(" + cel.Present("self", "autoscalerOptions.version") + ") || !" + cel.HeadEnv("e.name == '"+cel.V2Variable+"'"),
		Says: "the head sets " + cel.V2Variable + " too; remove the variable"}}})

func checkAutoscaler(out *rule.Report, c *Spec, path *field.Path) {
	head := RayContainer(&c.Spec.HeadGroupSpec.Template)
	out.When(!c.Autoscaling && wantsAutoscalerV2(head)).Required(rc071, path.Child("enableInTreeAutoscaling"), "the head sets "+cel.V2Variable+"; set this to true, or remove the variable")
	out.When(c.Autoscaling && c.versionOption() != "" && hasEnv(head, cel.V2Variable)).Invalid(rc073, path.Child("autoscalerOptions", "version"), string(c.versionOption()),
		"the head sets "+cel.V2Variable+" too; remove the variable")
	checkAutoscalerOptions(out, c, path.Child("autoscalerOptions"))
	checkPriorityVersion(out, c, path.Child("rayVersion"))
	out.When(c.Autoscaling && len(c.Spec.WorkerGroupSpecs) == 0).Required(rc536, path.Child("workerGroupSpecs"))
	if v := parseRayVersion(c.Spec.RayVersion); c.versionOption() == rayv1.AutoscalerVersionV2 && v != nil && v.LessThan(rayWithAutoscalerV2) {
		out.Invalid(rc586, path.Child("autoscalerOptions", "version"), string(rayv1.AutoscalerVersionV2), fmt.Sprintf("needs Ray %s or later, and rayVersion is %s", rayWithAutoscalerV2, c.Spec.RayVersion))
	}
	if c.Autoscaling && c.versionOption() == rayv1.AutoscalerVersionV1 {
		checkWorkerRestarts(out, c, path.Child("workerGroupSpecs"))
	}
}

var rc007 = rule.NewEnum(rule.Rule{ID: "RC-007", Field: "autoscalerOptions.upscalingMode", Peer: rule.BySchema, Marker: rule.InSchema}, rayv1.UpscalingModeDefault, rayv1.UpscalingModeAggressive, rayv1.UpscalingModeConservative)
var rc008 = rule.NewEnum(rule.Rule{ID: "RC-008", Field: "autoscalerOptions.version", Peer: rule.BySchema, Marker: rule.InSchema}, rayv1.AutoscalerVersionV1, rayv1.AutoscalerVersionV2)
var rc076 = rule.New(rule.Rule{ID: "RC-076", Field: "autoscalerOptions.idleTimeoutSeconds", Condition: "below 0", Peer: rule.BySpec, Remedy: "must be at least 0",
	CEL: []rule.CEL{{Node: "autoscalerOptions", Field: ".idleTimeoutSeconds", Unchanged: []string{"idleTimeoutSeconds"}, Valid: "!has(self.idleTimeoutSeconds) || self.idleTimeoutSeconds >= 0"}}})
var rc077 = rule.New(rule.Rule{ID: "RC-077", Field: "autoscalerOptions.env", Condition: "contains KUBERAY_GEN_AUTOSCALER_START_CMD", Peer: rule.BySpec,
	CEL: []rule.CEL{{Node: "autoscalerOptions.env", Reason: rule.Forbidden, Valid: "self.all(e, e.name != 'KUBERAY_GEN_AUTOSCALER_START_CMD')",
		Says: "KUBERAY_GEN_AUTOSCALER_START_CMD is set by the operator; use command and args"}}})
var rc113 = rule.New(rule.Rule{ID: "RC-113", Field: "autoscalerOptions.env", Condition: "sets RAY_USE_TLS, RAY_TLS_SERVER_CERT, RAY_TLS_SERVER_KEY or RAY_TLS_CA_CERT with TLS on", Peer: rule.BySpec, Reads: []string{"tlsOptions.enabled"},
	CEL: []rule.CEL{cel.TLSOnAutoscaler("env", "x.name in "+cel.TLSNames, cel.TLSVariables)}})
var rc114 = rule.New(rule.Rule{ID: "RC-114", Field: "autoscalerOptions.volumeMounts", Condition: "mounts ray-tls with TLS on", Peer: rule.BySpec, Reads: []string{"tlsOptions.enabled"},
	CEL: []rule.CEL{cel.TLSOnAutoscaler("volumeMounts", "x.name == 'ray-tls'", cel.TLSMountName)}})
var rc115 = rule.New(rule.Rule{ID: "RC-115", Field: "autoscalerOptions.volumeMounts", Condition: "mounts at /etc/ray/tls with TLS on", Peer: rule.BySpec, Reads: []string{"tlsOptions.enabled"},
	CEL: []rule.CEL{cel.TLSOnAutoscaler("volumeMounts", "x.mountPath == '/etc/ray/tls'", cel.TLSMountPath)}})

func checkAutoscalerOptions(out *rule.Report, c *Spec, path *field.Path) {
	o := c.Spec.AutoscalerOptions
	if o == nil {
		return
	}
	out.When(!c.Autoscaling).Forbidden(rc535, path)
	rule.AtLeast(out, rc076, path.Child("idleTimeoutSeconds"), o.IdleTimeoutSeconds, 0)
	rc007.CheckGiven(out, path.Child("upscalingMode"), o.UpscalingMode)
	rc008.CheckGiven(out, path.Child("version"), o.Version)
	forbidVariables(out, o.Env, path.Child("env"), allTaken(rc077, "is set by the operator; use command and args", "KUBERAY_GEN_AUTOSCALER_START_CMD"))
	if c.tls {
		checkTLSReserved(out, path, o.Env, o.VolumeMounts, tlsRules{env: rc113, mountName: rc114, mountPath: rc115})
	}
	if c.Autoscaling {
		// The mounts are of a container of the head Pod, so its volumes count.
		head := pods.Template{PodTemplateSpec: &c.Spec.HeadGroupSpec.Template, Volumes: addedVolumes}
		pods.CheckMounts(out, o.VolumeMounts, head.AllVolumes(), path.Child("volumeMounts"))
	}
	if o.Resources != nil && c.Autoscaling {
		pods.CheckResourceRequirements(out, o.Resources, path.Child("resources"))
	}
}

var rc049 = rule.New(rule.Rule{ID: "RC-049", Field: "rayVersion", Condition: "empty although some group has a priority", Peer: rule.BySpec,
	CEL: []rule.CEL{{Field: cel.VersionField, Reason: rule.Required, When: cel.Priorities, Valid: cel.HasVersion,
		NoWorse: cel.NoMoreGroups(cel.NoPriority),
		Says:    cel.NeedsVersion("priority of a worker group", "2.56.0")}}})
var rc050 = rule.New(rule.Rule{ID: "RC-050", Field: "rayVersion", Condition: "not a version although some group has a priority", Peer: rule.BySpec,
	CEL: []rule.CEL{{Field: cel.VersionField, When: cel.Priorities, Valid: cel.GoodVersion + " || !" + cel.HasVersion,
		NoWorse: cel.SameVersion + " && " + cel.NoMoreGroups(cel.NoPriority),
		Says:    cel.NeedsVersion("priority of a worker group", "2.56.0")}}})
var rc051 = rule.New(rule.Rule{ID: "RC-051", Field: "rayVersion", Condition: "below 2.56.0 although some group has a priority", Peer: rule.BySpec,
	CEL: []rule.CEL{{Field: cel.VersionField, When: cel.Priorities, Valid: "self.rayVersion.matches('" + cel.FromRay256 + "') || !" + cel.HasVersion + " || !" + cel.GoodVersion,
		NoWorse: cel.SameVersion + " && " + cel.NoMoreGroups(cel.NoPriority),
		Says:    cel.NeedsVersion("priority of a worker group", "2.56.0")}}})

var groupPriority = feature{"priority of a worker group", rayWithGroupPriority, rc049, rc050, rc051}

// checkPriorityVersion checks rayVersion once for all groups with a priority.
func checkPriorityVersion(out *rule.Report, c *Spec, path *field.Path) {
	for i := range c.Spec.WorkerGroupSpecs {
		if p := c.Spec.WorkerGroupSpecs[i].Priority; p != nil && *p != 0 {
			groupPriority.check(out, c.Spec.RayVersion, path)
			return
		}
	}
}

// feature is something that needs a release of Ray, with the rules for no version, an unreadable one and an older one.
type feature struct {
	name                      string
	atLeast                   *version.Version
	missing, malformed, older *rule.Rule
}

// check reports whether the version, which is in rayVersion, has the feature.
func (f feature) check(out *rule.Report, text string, path *field.Path) bool {
	remedy := fmt.Sprintf("%s needs Ray %s or later; give the version of Ray in the images, as in %s", f.name, f.atLeast, f.atLeast)
	v := parseRayVersion(text)
	switch {
	case text == "":
		out.Required(f.missing, path, remedy)
	case v == nil:
		out.Invalid(f.malformed, path, text, remedy)
	case v.LessThan(f.atLeast):
		out.Invalid(f.older, path, text, remedy)
	default:
		return true
	}
	return false
}

var rc535 = rule.New(rule.Rule{ID: "RC-535", Field: "autoscalerOptions", Condition: "set with autoscaling off", Remedy: "has no effect while enableInTreeAutoscaling is not true",
	Policies: []rule.Policy{{Field: ".autoscalerOptions", Valid: "!has(cluster.autoscalerOptions) || " + cel.ClusterScales}}})
var rc536 = rule.New(rule.Rule{ID: "RC-536", Field: "workerGroupSpecs", Condition: "empty with autoscaling on", Remedy: "the autoscaler has nothing to scale; add a group",
	Policies: []rule.Policy{{Field: ".workerGroupSpecs", Valid: "!" + cel.ClusterScales + " || size(cluster.?workerGroupSpecs.orValue([])) > 0"}}})
var rc586 = rule.New(rule.Rule{ID: "RC-586", Field: "autoscalerOptions.version", Condition: "v2 with a rayVersion below 2.10.0"})
var rc118 = rule.New(rule.Rule{ID: "RC-118", Field: "workerGroupSpecs[i].template.spec.restartPolicy", Condition: "not Never with autoscalerOptions.version v1",
	Remedy: "use Never with the autoscaler v1, which replaces workers by itself"})

// checkWorkerRestarts reports workers that restart by themselves while the v1 autoscaler counts them as lost.
func checkWorkerRestarts(out *rule.Report, c *Spec, path *field.Path) {
	for i := range c.Spec.WorkerGroupSpecs {
		policy := c.Spec.WorkerGroupSpecs[i].Template.Spec.RestartPolicy
		out.When(policy != corev1.RestartPolicyNever).Invalid(rc118, path.Index(i).Child("template", "spec", "restartPolicy"), string(policy))
	}
}

var rc512 = rule.New(rule.Rule{ID: "RC-512", Field: "rayVersion", Condition: "not empty and no version with dots", Remedy: "is no version with dots, as in 2.52.0; features that need a version stay off"})
var rc513 = rule.New(rule.Rule{ID: "RC-513", Field: "template.spec.containers[0].image", Condition: "tag has another version than rayVersion, or without one than the image of the head"})

func checkRayVersion(out *rule.Report, c *Spec, path *field.Path) {
	wanted, source := parseRayVersion(c.Spec.RayVersion), "rayVersion, which is "+rule.Clipped(c.Spec.RayVersion)
	switch {
	case c.Spec.RayVersion == "":
		// Head and workers must have the same version.
		if head := RayContainer(&c.Spec.HeadGroupSpec.Template); head != nil {
			wanted, source = imageRayVersion(head.Image), "the image of the head, which is "+rule.Clipped(head.Image)
		}
		if wanted == nil {
			return
		}
	case wanted == nil:
		out.Invalid(rc512, path.Child("rayVersion"), c.Spec.RayVersion)
		return
	}
	check := func(t *corev1.PodTemplateSpec, p *field.Path) {
		container := RayContainer(t)
		if container == nil {
			return
		}
		if image := imageRayVersion(container.Image); image != nil && !image.EqualTo(wanted) {
			out.Invalid(rc513, p.Child("template", "spec", "containers").Index(0).Child("image"), container.Image, "has another version than "+source+"; make them the same in head and workers")
		}
	}
	check(&c.Spec.HeadGroupSpec.Template, path.Child("headGroupSpec"))
	for i := range c.Spec.WorkerGroupSpecs {
		check(&c.Spec.WorkerGroupSpecs[i].Template, path.Child("workerGroupSpecs").Index(i))
	}
}

// First releases of Ray that support a field.
var (
	rayWithTokenAuth     = version.MustParseGeneric("2.52.0")
	rayWithK8sTokenAuth  = version.MustParseGeneric("2.55.0")
	rayWithGroupPriority = version.MustParseGeneric("2.56.0")
	rayWithAutoscalerV2  = version.MustParseGeneric("2.10.0")
)

// parseRayVersion reads two or more numbers with dots between, after an optional v; anything that follows, as in
// 2.9.0rc1, does not count. It returns nil for other text.
func parseRayVersion(text string) *version.Version {
	v, _ := version.ParseGeneric(text)
	return v
}

// imageRayVersion reads the version from the tag of a Ray image, as in rayproject/ray:2.52.0-py310-gpu. It returns nil if the image is not
// named after Ray, because a company's own version numbers are not Ray's.
func imageRayVersion(image string) *version.Version {
	image, _, _ = strings.Cut(image, "@")
	name := image[strings.LastIndexByte(image, '/')+1:]
	name, tag, tagged := strings.Cut(name, ":")
	if !tagged || !strings.Contains(strings.ToLower(name), "ray") {
		return nil
	}
	return parseRayVersion(tag)
}
