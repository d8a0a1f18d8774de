package validation

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// nameRules are the limits of the name of one kind, with the ids of the rules that say so.
type nameRules struct {
	tooLong, malformed string
	maxLength          int
	// why explains the length to a person.
	why string
}

var clusterNameRules = nameRules{
	tooLong: "RC-030", malformed: "RC-031", maxLength: 53,
	why: "so that the names of its Services stay within 63",
}

// generatedSuffix is how many characters the API server adds to generateName.
const generatedSuffix = 5

var dns1035 = regexp.MustCompile(`^[a-z]([-a-z0-9]*[a-z0-9])?$`)

// validateObjectName checks the name that the object has, or the one that it will get from generateName.
func validateObjectName(meta *metav1.ObjectMeta, r nameRules) field.ErrorList {
	path, name, shown := field.NewPath("metadata", "name"), meta.Name, meta.Name
	if name == "" && meta.GenerateName != "" {
		path, shown = field.NewPath("metadata", "generateName"), meta.GenerateName
		name = meta.GenerateName + strings.Repeat("x", generatedSuffix)
	}
	if name == "" {
		return field.ErrorList{required(r.malformed, path, "give the object a name")}
	}
	var errs field.ErrorList
	if len(name) > r.maxLength {
		errs = append(errs, invalid(r.tooLong, path, shown, fmt.Sprintf("has %d characters, at most %d are possible, %s", len(name), r.maxLength, r.why)))
	}
	if !dns1035.MatchString(name) {
		errs = append(errs, invalid(r.malformed, path, shown,
			"use lower-case letters, digits and dashes, beginning with a letter and not ending with a dash, as in my-cluster-1"))
	}
	return errs
}

// nameLength is how long the name is, or is going to be.
func nameLength(meta *metav1.ObjectMeta) int {
	if meta.Name == "" && meta.GenerateName != "" {
		return len(meta.GenerateName) + generatedSuffix
	}
	return len(meta.Name)
}

// validateSchedulerLabels checks labels that become fields of a PodGroup where Volcano is known to be in use.
func validateSchedulerLabels(labels map[string]string, o Options, path *field.Path) field.ErrorList {
	if o.scheduler() != "volcano" {
		return nil
	}
	return checkTopologyLabels(labels, path)
}

// checkTopologyLabels is an error with Volcano, and a warning where nobody knows whether Volcano reads the labels.
func checkTopologyLabels(labels map[string]string, path *field.Path) field.ErrorList {
	mode := labels[rayv1.LabelVolcanoNetworkTopologyMode]
	if mode == "" {
		return nil // the other label is read only next to this one
	}
	errs := notIn("RC-579", path.Key(rayv1.LabelVolcanoNetworkTopologyMode), mode, "hard", "soft")
	if tier, set := labels[rayv1.LabelVolcanoNetworkTopologyHighestTierAllowed]; set {
		if n, err := strconv.ParseInt(tier, 10, 32); err != nil || n < 1 {
			errs = append(errs, invalid("RC-579", path.Key(rayv1.LabelVolcanoNetworkTopologyHighestTierAllowed), tier, "must be a whole number of at least 1"))
		}
	}
	return errs
}

// warnMetadata tells of labels and annotations that do not do what they seem to. They count on a RayJob and a RayService
// as on a RayCluster, which gets them.
func warnMetadata(meta *metav1.ObjectMeta, o Options, path *field.Path) field.ErrorList {
	warnings := warnSwitches(meta.Annotations, path.Child("annotations"))
	return append(warnings, warnLabels(meta, o, path.Child("labels"))...)
}

// warnClippedNames tells of names that the operator will shorten from the front, so that two clusters may collide.
func warnClippedNames(c *cluster, path *field.Path) field.ErrorList {
	const plainLimit, ingressLimit = 50, 37
	name := c.meta.Name
	switch {
	case len(name) > ingressLimit && isTrue(c.spec.HeadGroupSpec.EnableIngress):
		return field.ErrorList{invalid("RC-563", path, name, fmt.Sprintf(
			"with enableIngress the name of the Ingress is cut from the front and may equal that of another cluster; use at most %d characters", ingressLimit))}
	case len(name) > plainLimit && (c.autoscaling || c.tokenAuth):
		return field.ErrorList{invalid("RC-563", path, name, fmt.Sprintf(
			"the names of its ServiceAccount, Role or Secret are cut from the front and may equal those of another cluster; use at most %d characters", plainLimit))}
	}
	return nil
}

// warnSwitches tells of annotations whose text the operator does not understand, which it takes for off or default.
func warnSwitches(annotations map[string]string, path *field.Path) field.ErrorList {
	var warnings field.ErrorList
	if v, set := annotations[rayv1.AnnotationGCSFTDeletionTimeout]; set {
		if n, err := strconv.Atoi(v); err != nil || n <= 0 {
			warnings = append(warnings, invalid("RC-568", path.Key(rayv1.AnnotationGCSFTDeletionTimeout), v, "is ignored and 300 is used; give whole seconds above 0, as in 600"))
		}
	}
	if v, set := annotations[rayv1.AnnotationFTEnabled]; set && !lowerTrue(v) && !strings.EqualFold(v, "false") {
		warnings = append(warnings, invalid("RC-569", path.Key(rayv1.AnnotationFTEnabled), v, "means off; use true or false"))
	}
	for _, key := range []string{rayv1.AnnotationOverwriteContainerCmd, rayv1.AnnotationEnableServeService, rayv1.AnnotationDisableProvisionedHeadRestart} {
		v, set := annotations[key]
		if key == rayv1.AnnotationOverwriteContainerCmd {
			v = strings.ToLower(v) // the only one of which the operator reads capitals too
		}
		if set && v != "true" && v != "false" {
			warnings = append(warnings, invalid("RC-570", path.Key(key), annotations[key], "is not understood and counts as false; use true or false"))
		}
	}
	return append(warnings, warnOwnAnswers(annotations, path)...)
}

// warnOwnAnswers looks at the annotations in which a cluster decides otherwise than the operator does for all.
func warnOwnAnswers(annotations map[string]string, path *field.Path) field.ErrorList {
	var warnings field.ErrorList
	for _, key := range []string{rayv1.AnnotationWaitForHead, rayv1.AnnotationProbes, rayv1.AnnotationLoginShell} {
		if v, set := annotations[key]; set && !lowerTrue(v) && !strings.EqualFold(v, "false") {
			warnings = append(warnings, invalid("RC-570", path.Key(key), v, "is not understood and changes nothing; use true or false"))
		}
	}
	return warnings
}

// originPrefix begins the labels that tell which object a cluster was made for.
const originPrefix = "ray.io/originated-from"

func warnLabels(meta *metav1.ObjectMeta, o Options, path *field.Path) field.ErrorList {
	var warnings field.ErrorList
	labels := meta.Labels
	if v, set := labels[rayv1.LabelGangSchedulingEnabled]; set && v != "true" && !byValue(o.BatchScheduler) {
		warnings = append(warnings, invalid("RC-577", path.Key(rayv1.LabelGangSchedulingEnabled), v, "turns gang scheduling on, whatever its value; remove the label to turn it off"))
	}
	warnings = append(warnings, warnForeignScheduler(labels, o.BatchScheduler, path)...)
	if o.BatchScheduler == nil {
		warnings = append(warnings, checkTopologyLabels(labels, path)...)
	}
	if metav1.GetControllerOf(meta) == nil {
		for _, key := range slices.Sorted(maps.Keys(labels)) {
			if strings.HasPrefix(key, originPrefix) {
				warnings = append(warnings, invalid("X-504", path.Key(key), labels[key], "is set by the operator on clusters of a RayJob or a RayService; remove it"))
			}
		}
	}
	return warnings
}

// byValue reports whether gangs are made by the scheduler of Kubernetes, the only one to which false means no.
func byValue(scheduler *string) bool { return scheduler != nil && *scheduler == "kubernetes-was" }

// schedulerOf says which batch scheduler reads a label.
var schedulerOf = []struct{ label, scheduler string }{
	{rayv1.LabelVolcanoQueueName, "volcano"},
	{rayv1.LabelVolcanoNetworkTopologyMode, "volcano"},
	{rayv1.LabelVolcanoNetworkTopologyHighestTierAllowed, "volcano"},
	{rayv1.LabelYuniKornAppID, "yunikorn"},
	{rayv1.LabelYuniKornQueue, "yunikorn"},
	{rayv1.LabelKAIQueue, "kai-scheduler"},
}

func warnForeignScheduler(labels map[string]string, scheduler *string, path *field.Path) field.ErrorList {
	if scheduler == nil {
		return nil
	}
	var warnings field.ErrorList
	if v, set := labels[rayv1.LabelPriorityClassName]; set && *scheduler == "" {
		warnings = append(warnings, invalid("RC-578", path.Key(rayv1.LabelPriorityClassName), v, "is ignored: the operator runs without a batch scheduler"))
	}
	for _, s := range schedulerOf {
		if v, set := labels[s.label]; set && s.scheduler != *scheduler {
			warnings = append(warnings, invalid("RC-578", path.Key(s.label), v, "is ignored: the operator runs without the batch scheduler "+s.scheduler))
		}
	}
	return warnings
}

// maxObjectSize leaves room, below the 1.5 MiB that etcd takes, for status and managed fields.
const maxObjectSize = 1 << 20

func warnObjectSize(object any) field.ErrorList {
	data, err := json.Marshal(object)
	if err != nil || len(data) <= maxObjectSize {
		return nil
	}
	return field.ErrorList{invalid("RC-585", field.NewPath("spec"), field.OmitValueType{}, fmt.Sprintf(
		"the object takes %d bytes, near the limit of etcd; stay below %d, for example with ConfigMaps for long texts", len(data), maxObjectSize))}
}
