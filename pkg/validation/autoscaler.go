package validation

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/util/version"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

const (
	envAutoscalerV2       = "RAY_enable_autoscaler_v2"
	envAutoscalerStartCmd = "KUBERAY_GEN_AUTOSCALER_START_CMD"
)

// wantsAutoscalerV2 reads the switch from before autoscalerOptions.version, with the values that the peer knows.
func wantsAutoscalerV2(head *corev1.Container) bool {
	if head == nil {
		return false
	}
	for _, env := range head.Env {
		if env.Name == envAutoscalerV2 && (env.Value == "1" || env.Value == "true") {
			return true
		}
	}
	return false
}

func validateAutoscaler(c *cluster, path *field.Path) field.ErrorList {
	head := rayContainer(&c.spec.HeadGroupSpec.Template)
	var errs field.ErrorList
	if !c.autoscaling && wantsAutoscalerV2(head) {
		errs = append(errs, required("RC-071", path.Child("enableInTreeAutoscaling"), "the head sets "+envAutoscalerV2+"; set this to true, or remove the variable"))
	}
	if c.autoscaling && c.versionOption() != "" && hasEnv(head, envAutoscalerV2) {
		errs = append(errs, invalid("RC-073", path.Child("autoscalerOptions", "version"), string(c.versionOption()), "the head sets "+envAutoscalerV2+" too; remove the variable"))
	}
	errs = append(errs, validateAutoscalerOptions(c, path.Child("autoscalerOptions"))...)
	errs = append(errs, validatePriorityVersion(c, path.Child("rayVersion"))...)
	return errs
}

func validateAutoscalerOptions(c *cluster, path *field.Path) field.ErrorList {
	o := c.spec.AutoscalerOptions
	if o == nil {
		return nil
	}
	var errs field.ErrorList
	if o.IdleTimeoutSeconds != nil && *o.IdleTimeoutSeconds < 0 {
		errs = append(errs, invalid("RC-076", path.Child("idleTimeoutSeconds"), *o.IdleTimeoutSeconds, "must be at least 0"))
	}
	if o.UpscalingMode != nil {
		errs = append(errs, notIn("RC-007", path.Child("upscalingMode"), *o.UpscalingMode,
			rayv1.UpscalingModeDefault, rayv1.UpscalingModeAggressive, rayv1.UpscalingModeConservative)...)
	}
	if o.Version != nil {
		errs = append(errs, notIn("RC-008", path.Child("version"), *o.Version, rayv1.AutoscalerVersionV1, rayv1.AutoscalerVersionV2)...)
	}
	for i := range o.Env {
		if o.Env[i].Name == envAutoscalerStartCmd {
			errs = append(errs, forbidden("RC-077", path.Child("env").Index(i).Child("name"), envAutoscalerStartCmd+" is set by the operator; use command and args"))
		}
	}
	if c.tls {
		errs = append(errs, validateTLSReserved(path, o.Env, o.VolumeMounts, tlsRules{env: "RC-113", mountName: "RC-114", mountPath: "RC-115"})...)
	}
	if c.autoscaling {
		// The mounts are of a container of the head Pod, so its volumes count.
		errs = append(errs, validateMountedVolumes(o.VolumeMounts, podVolumes(&c.spec.HeadGroupSpec.Template), path.Child("volumeMounts"))...)
	}
	if o.Resources != nil && c.autoscaling {
		errs = append(errs, validateResourceRequirements(o.Resources, path.Child("resources"))...)
	}
	return errs
}

// validatePriorityVersion checks rayVersion once for all groups with a priority.
func validatePriorityVersion(c *cluster, path *field.Path) field.ErrorList {
	for i := range c.spec.WorkerGroupSpecs {
		if p := c.spec.WorkerGroupSpecs[i].Priority; p != nil && *p != 0 {
			return validateRayVersion(c.spec.RayVersion, path, rayWithGroupPriority, "priority of a worker group", [3]string{"RC-049", "RC-050", "RC-051"})
		}
	}
	return nil
}

// validateRayVersion demands a release for a feature. The ids are for no version, an unreadable and an older one.
func validateRayVersion(text string, path *field.Path, atLeast *version.Version, feature string, ids [3]string) field.ErrorList {
	remedy := fmt.Sprintf("%s needs Ray %s or later; give the version of Ray in the images, as in %s", feature, atLeast, atLeast)
	if text == "" {
		return field.ErrorList{required(ids[0], path, remedy)}
	}
	v := parseRayVersion(text)
	switch {
	case v == nil:
		return field.ErrorList{invalid(ids[1], path, text, remedy)}
	case v.LessThan(atLeast):
		return field.ErrorList{invalid(ids[2], path, text, remedy)}
	}
	return nil
}

func warnAutoscaler(c *cluster, path *field.Path) field.ErrorList {
	var warnings field.ErrorList
	if c.spec.AutoscalerOptions != nil && !c.autoscaling {
		warnings = append(warnings, forbidden("RC-535", path.Child("autoscalerOptions"), "has no effect while enableInTreeAutoscaling is not true"))
	}
	if c.autoscaling && len(c.spec.WorkerGroupSpecs) == 0 {
		warnings = append(warnings, required("RC-536", path.Child("workerGroupSpecs"), "the autoscaler has nothing to scale; add a group"))
	}
	if v := parseRayVersion(c.spec.RayVersion); c.versionOption() == rayv1.AutoscalerVersionV2 && v != nil && v.LessThan(rayWithAutoscalerV2) {
		warnings = append(warnings, invalid("RC-586", path.Child("autoscalerOptions", "version"), string(rayv1.AutoscalerVersionV2),
			fmt.Sprintf("needs Ray %s or later, and rayVersion is %s", rayWithAutoscalerV2, clipped(c.spec.RayVersion))))
	}
	if c.autoscaling && c.versionOption() == rayv1.AutoscalerVersionV1 {
		warnings = append(warnings, warnWorkerRestarts(c, path.Child("workerGroupSpecs"))...)
	}
	return warnings
}

// warnWorkerRestarts tells of workers that come back by themselves while the v1 autoscaler counts them as lost.
func warnWorkerRestarts(c *cluster, path *field.Path) field.ErrorList {
	var warnings field.ErrorList
	for i := range c.spec.WorkerGroupSpecs {
		if policy := c.spec.WorkerGroupSpecs[i].Template.Spec.RestartPolicy; policy != corev1.RestartPolicyNever {
			warnings = append(warnings, invalid(RuleAutoscalerRestartPolicy, path.Index(i).Child("template", "spec", "restartPolicy"), string(policy),
				"use Never with the autoscaler v1, which replaces workers by itself"))
		}
	}
	return warnings
}

func warnRayVersion(c *cluster, path *field.Path) field.ErrorList {
	wanted, source := parseRayVersion(c.spec.RayVersion), "rayVersion, which is "+clipped(c.spec.RayVersion)
	switch {
	case c.spec.RayVersion == "":
		// Head and workers have to be of one version, whatever it is.
		if head := rayContainer(&c.spec.HeadGroupSpec.Template); head != nil {
			wanted, source = imageRayVersion(head.Image), "the image of the head, which is "+clipped(head.Image)
		}
		if wanted == nil {
			return nil
		}
	case wanted == nil:
		return field.ErrorList{invalid("RC-512", path.Child("rayVersion"), c.spec.RayVersion, "is no version with dots, as in 2.52.0; features that need a version stay off")}
	}
	var warnings field.ErrorList
	check := func(t *corev1.PodTemplateSpec, p *field.Path) {
		container := rayContainer(t)
		if container == nil {
			return
		}
		if image := imageRayVersion(container.Image); image != nil && !image.EqualTo(wanted) {
			warnings = append(warnings, invalid("RC-513", p.Child("template", "spec", "containers").Index(0).Child("image"), container.Image,
				"has another version than "+source+"; make them the same in head and workers"))
		}
	}
	check(&c.spec.HeadGroupSpec.Template, path.Child("headGroupSpec"))
	for i := range c.spec.WorkerGroupSpecs {
		check(&c.spec.WorkerGroupSpecs[i].Template, path.Child("workerGroupSpecs").Index(i))
	}
	return warnings
}
