package validation

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// validatePodTemplate finds what would make the API server refuse the Pods, as far as it can be said without a copy of
// the Pod validation: what people get wrong, not all that can be.
func validatePodTemplate(c *cluster, g nodeGroup, path *field.Path) field.ErrorList {
	spec, t := path.Child("spec"), g.template
	errs := validateTemplateMetadata(g, path.Child("metadata"))
	if len(t.Spec.Containers) == 0 {
		errs = append(errs, required(g.rule("RC-033", "RC-038"), spec.Child("containers"), "give at least one container; the first runs Ray"))
	}
	errs = append(errs, validateRestartPolicy(c, g, spec.Child("restartPolicy"))...)
	errs = append(errs, validateContainerNames(c, g, spec)...)
	errs = append(errs, validatePodLists(&t.Spec, spec)...)
	volumes := podVolumes(t)
	for i := range t.Spec.Containers {
		errs = append(errs, validateContainer(&t.Spec.Containers[i], volumes, spec.Child("containers").Index(i))...)
	}
	for i := range t.Spec.InitContainers {
		errs = append(errs, validateContainer(&t.Spec.InitContainers[i], volumes, spec.Child("initContainers").Index(i))...)
	}
	errs = append(errs, validateTLSTemplate(c, g, spec)...)
	return errs
}

func validateTemplateMetadata(g nodeGroup, path *field.Path) field.ErrorList {
	t := g.template
	var errs field.ErrorList
	for _, key := range slices.Sorted(maps.Keys(t.Labels)) {
		if msgs := validation.IsQualifiedName(key); len(msgs) > 0 {
			errs = append(errs, invalid("RC-530", path.Child("labels").Key(key), key, strings.Join(msgs, "; ")))
		}
		if overwritten(g, key) {
			continue
		}
		if msgs := validation.IsValidLabelValue(t.Labels[key]); len(msgs) > 0 {
			errs = append(errs, invalid("RC-530", path.Child("labels").Key(key), t.Labels[key], strings.Join(msgs, "; ")))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(t.Annotations)) {
		// The key of an annotation may have upper-case letters in its prefix.
		if msgs := validation.IsQualifiedName(strings.ToLower(key)); len(msgs) > 0 {
			errs = append(errs, invalid("RC-530", path.Child("annotations").Key(key), key, strings.Join(msgs, "; ")))
		}
	}
	if err := apivalidation.ValidateAnnotationsSize(t.Annotations); err != nil {
		errs = append(errs, invalid("RC-530", path.Child("annotations"), field.OmitValueType{}, err.Error()))
	}
	return errs
}

// overwritten reports whether Pods get another value of the label than that of the template.
func overwritten(g nodeGroup, key string) bool {
	_, byGroup := g.labels[key]
	return byGroup || key == rayv1.LabelCluster || key == rayv1.LabelNodeType || key == rayv1.LabelGroup
}

func validateRestartPolicy(c *cluster, g nodeGroup, path *field.Path) field.ErrorList {
	policy := g.template.Spec.RestartPolicy
	if policy == "" {
		return nil
	}
	if errs := notIn("RC-560", path, policy, corev1.RestartPolicyAlways, corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever); len(errs) > 0 {
		return errs
	}
	if c.autoscaling && c.versionOption() == rayv1.AutoscalerVersionV2 && policy != corev1.RestartPolicyNever {
		return field.ErrorList{invalid(g.rule("RC-074", "RC-075"), path, string(policy), "must be Never or unset with the autoscaler v2, which replaces Pods by itself")}
	}
	return nil
}

// podVolumes are the names that a mount may refer to: the user's volumes and those that the operator adds.
func podVolumes(t *corev1.PodTemplateSpec) map[string]bool {
	names := paramSet(rayv1.VolumeSharedMemory, rayv1.VolumeRayLogs, rayv1.VolumeRayToken, rayv1.VolumeTLS, rayv1.VolumeGCSStorage)
	for i := range t.Spec.Volumes {
		names[t.Spec.Volumes[i].Name] = true
	}
	return names
}

// reservedWait guards the name of the init container that the operator adds to workers. Whether it does, it alone knows.
func reservedWait(c *cluster, g nodeGroup, isInit bool) *reserved {
	if g.head || c.options.NoInitContainers {
		return nil
	}
	id := "RC-525"
	if isInit {
		id = "RC-526"
	}
	return &reserved{id: id, why: "the operator adds an init container of this name to workers", maybe: !c.options.FromOperator}
}

// reserved is the name of a container that the operator adds to a Pod.
type reserved struct {
	id, why string
	// maybe says that the operator may be configured not to, which nobody knows here.
	maybe bool
}

func (r *reserved) problem(name string, path *field.Path) *field.Error {
	return invalid(r.id, path, name, r.why+"; use another name")
}

// reservedName returns nil for a name that the operator does not use in the Pod.
func reservedName(c *cluster, g nodeGroup, name string, isInit bool) *reserved {
	switch name {
	case rayv1.ContainerAutoscaler:
		if g.head && c.autoscaling {
			return &reserved{id: "RC-524", why: "the operator adds a container of this name with enableInTreeAutoscaling"}
		}
	case rayv1.ContainerHistoryCollector:
		if c.spec.HistoryServerOptions == nil {
			break
		}
		id := g.rule("RC-089", "RC-090")
		if isInit {
			id = "RC-525"
		}
		return &reserved{id: id, why: "the operator adds a container of this name with historyServerOptions"}
	case rayv1.ContainerJobSubmitter:
		if g.head && isInit && c.sidecarSubmitter {
			return &reserved{id: "RC-525", why: "the operator adds a container of this name in SidecarMode"}
		}
	case rayv1.ContainerWaitTLS:
		if c.tls {
			return &reserved{id: "RC-525", why: "the operator adds an init container of this name with tlsOptions.enabled"}
		}
	case rayv1.ContainerWaitGCSReady:
		return reservedWait(c, g, isInit)
	}
	return nil
}

// warnReservedNames tells of names that the operator uses unless it is configured not to.
func warnReservedNames(c *cluster, g nodeGroup, spec *field.Path) field.ErrorList {
	var warnings field.ErrorList
	check := func(containers []corev1.Container, path *field.Path, isInit bool) {
		for i := range containers {
			if r := reservedName(c, g, containers[i].Name, isInit); r != nil && r.maybe {
				warnings = append(warnings, r.problem(containers[i].Name, path.Index(i).Child("name")))
			}
		}
	}
	check(g.template.Spec.Containers, spec.Child("containers"), false)
	check(g.template.Spec.InitContainers, spec.Child("initContainers"), true)
	return warnings
}

// sidecars are the containers that the operator's configuration adds to the Pod.
func sidecars(c *cluster, g nodeGroup) []string {
	if g.head {
		return c.options.HeadSidecars
	}
	return c.options.WorkerSidecars
}

func validateContainerNames(c *cluster, g nodeGroup, spec *field.Path) field.ErrorList {
	var errs field.ErrorList
	first := map[string]bool{}
	check := func(containers []corev1.Container, path *field.Path, isInit bool) {
		same := make(map[string]bool, len(containers))
		for i := range containers {
			name, p := containers[i].Name, path.Index(i).Child("name")
			if name == "" {
				errs = append(errs, required("RC-016", p, "give the container a name"))
				continue
			}
			switch {
			case same[name]:
				errs = append(errs, duplicate("RC-017", p, name, ownName))
			case first[name]:
				errs = append(errs, duplicate("RC-540", p, name, "is the name of an ordinary container too; give each a name of its own"))
			}
			same[name] = true
			if !isInit {
				first[name] = true
			}
			if len(validation.IsDNS1123Label(name)) > 0 {
				errs = append(errs, invalid("RC-540", p, name, "use at most 63 lower-case letters, digits and dashes, with a letter or digit at both ends"))
			}
			if r := reservedName(c, g, name, isInit); r != nil && !r.maybe {
				errs = append(errs, r.problem(name, p))
			} else if slices.Contains(sidecars(c, g), name) {
				errs = append(errs, invalid("RC-525", p, name, "the configuration of the operator adds a container of this name; use another name"))
			}
		}
	}
	check(g.template.Spec.Containers, spec.Child("containers"), false)
	check(g.template.Spec.InitContainers, spec.Child("initContainers"), true)
	return errs
}
