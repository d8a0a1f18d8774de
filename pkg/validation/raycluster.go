package validation

import (
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	rayv1 "github.com/raygate/raygate/operator/api/ray/v1"
)

// RayCluster returns every error of a RayCluster that is being created. A nil object counts as one without a spec.
// The object is expected to have its schema defaults; without them only the rules that need a value say so.
func RayCluster(rc *rayv1.RayCluster, o Options) field.ErrorList {
	if rc == nil {
		rc = &rayv1.RayCluster{}
	}
	errs := validateObjectName(&rc.ObjectMeta, clusterNameRules)
	errs = append(errs, validateSchedulerLabels(rc.Labels, field.NewPath("metadata", "labels"))...)
	if equality.Semantic.DeepEqual(rc.Spec, rayv1.RayClusterSpec{}) {
		return append(errs, required("RC-581", field.NewPath("spec"), "describe the cluster: at least headGroupSpec with a Pod template"))
	}
	c := newCluster(&rc.Spec, &rc.ObjectMeta, o)
	path := field.NewPath("spec")
	errs = append(errs, validateClusterSpec(c, path)...)
	errs = append(errs, validateUpgradeOwner(c, path.Child("upgradeStrategy", "type"))...)
	errs = append(errs, validateSuspendConditions(rc.Status.Conditions, field.NewPath("status", "conditions"))...)
	return errs
}

// RayClusterWarningList returns what works in a RayCluster but may surprise its author.
func RayClusterWarningList(rc *rayv1.RayCluster, o Options) field.ErrorList {
	if rc == nil || equality.Semantic.DeepEqual(rc.Spec, rayv1.RayClusterSpec{}) {
		return nil
	}
	c := newCluster(&rc.Spec, &rc.ObjectMeta, o)
	path := field.NewPath("spec")
	warnings := warnMetadata(c, field.NewPath("metadata"))
	warnings = append(warnings, warnClusterSpec(c, path)...)
	warnings = append(warnings, warnGroupSuspend(c, path.Child("workerGroupSpecs"))...)
	warnings = append(warnings, warnObjectSize(rc)...)
	return warnings
}

// RayClusterWarnings is RayClusterWarningList as text, "path: text (rule)", in the order of the fields.
func RayClusterWarnings(rc *rayv1.RayCluster, o Options) []string {
	return warningTexts(RayClusterWarningList(rc, o))
}

// ClusterSpec returns every error of a RayClusterSpec that stands in another object, at the path given: RayJob's
// spec.rayClusterSpec, RayService's spec.rayClusterConfig. The metadata is that of the object around it, whose
// annotations the cluster will get. Nil metadata means none; a nil spec has no errors.
func ClusterSpec(spec *rayv1.RayClusterSpec, meta *metav1.ObjectMeta, o Options, path *field.Path) field.ErrorList {
	if spec == nil {
		return nil
	}
	return validateClusterSpec(newCluster(spec, meta, o), path)
}

// ClusterSpecWarningList is ClusterSpec for what works but may surprise.
func ClusterSpecWarningList(spec *rayv1.RayClusterSpec, meta *metav1.ObjectMeta, o Options, path *field.Path) field.ErrorList {
	if spec == nil {
		return nil
	}
	return warnClusterSpec(newCluster(spec, meta, o), path)
}

// validateSuspendConditions guards the state machine of suspending: of its two conditions one at most is true.
func validateSuspendConditions(conditions []metav1.Condition, path *field.Path) field.ErrorList {
	suspending, suspended := -1, -1
	for i := range conditions {
		if conditions[i].Status != metav1.ConditionTrue {
			continue
		}
		switch conditions[i].Type {
		case string(rayv1.RayClusterSuspending):
			suspending = i
		case string(rayv1.RayClusterSuspended):
			suspended = i
		}
	}
	if suspending < 0 || suspended < 0 {
		return nil
	}
	return field.ErrorList{invalid("RC-120", path.Index(suspended).Child("status"), string(metav1.ConditionTrue),
		"RayClusterSuspending and RayClusterSuspended cannot both be True; the operator sets them, one after the other")}
}
