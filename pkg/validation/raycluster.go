package validation

import (
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

var clusterRules = &kindRules[rayv1.RayCluster]{
	meta:        func(rc *rayv1.RayCluster) *metav1.ObjectMeta { return &rc.ObjectMeta },
	spec:        func(rc *rayv1.RayCluster) any { return &rc.Spec },
	roots:       ruleRoots{cluster: "spec"},
	problems:    clusterErrors,
	advice:      clusterWarnings,
	status:      RayClusterStatus,
	transitions: clusterTransitions,
	changes:     clusterChanges,
	unused:      func(rc *rayv1.RayCluster, _ Options) []string { return groupsWithoutPods(&rc.Spec, "spec") },
	object:      func(rc *rayv1.RayCluster) Object { return rc },
}

// RayCluster returns every error of a RayCluster that is being created. A nil object counts as one without a spec.
// The object is expected to have its schema defaults; without them only the rules that need a value say so.
func RayCluster(rc *rayv1.RayCluster, o Options) field.ErrorList {
	return clusterRules.create(rc, o).Errors
}

// RayClusterWarningList returns what works in a RayCluster but may surprise its author.
func RayClusterWarningList(rc *rayv1.RayCluster, o Options) field.ErrorList {
	return clusterRules.create(rc, o).Warnings
}

// RayClusterWarnings is RayClusterWarningList as text, "path: text (rule)", in the order of the fields.
func RayClusterWarnings(rc *rayv1.RayCluster, o Options) []string {
	return WarningTexts(RayClusterWarningList(rc, o))
}

// RayClusterUpdate returns the errors that an update brings in. What was wrong in the same way before passes, so that
// a new rule never blocks the autoscaler or a finalizer on a stored object; RayClusterUpdateWarningList still tells of
// it. An object that is being deleted passes, and so does an update that leaves spec, labels and annotations alone.
// Without an old object it is RayCluster.
func RayClusterUpdate(rc, old *rayv1.RayCluster, o Options) field.ErrorList {
	return clusterRules.update(rc, old, o).Errors
}

// RayClusterUpdateWarningList returns what an update does not do although it may look so, the warnings of the new
// object, and the errors that RayClusterUpdate let pass since the old object has them too.
func RayClusterUpdateWarningList(rc, old *rayv1.RayCluster, o Options) field.ErrorList {
	return clusterRules.update(rc, old, o).Warnings
}

// RayClusterUpdateWarnings is RayClusterUpdateWarningList as text.
func RayClusterUpdateWarnings(rc, old *rayv1.RayCluster, o Options) []string {
	return WarningTexts(RayClusterUpdateWarningList(rc, old, o))
}

// RayClusterStatus returns the errors in the status alone. RayCluster includes them.
func RayClusterStatus(rc *rayv1.RayCluster, _ Options) field.ErrorList {
	return validateSuspendConditions(rc.Status.Conditions, field.NewPath("status", "conditions"))
}

func clusterErrors(rc *rayv1.RayCluster, o Options) field.ErrorList {
	errs := validateObjectName(&rc.ObjectMeta, clusterNameRules)
	errs = append(errs, validateSchedulerLabels(rc.Labels, o, field.NewPath("metadata", "labels"))...)
	if equality.Semantic.DeepEqual(rc.Spec, rayv1.RayClusterSpec{}) {
		return append(errs, required("RC-581", field.NewPath("spec"), "describe the cluster: at least headGroupSpec with a Pod template"))
	}
	c := newCluster(&rc.Spec, &rc.ObjectMeta, o)
	path := field.NewPath("spec")
	errs = append(errs, validateClusterSpec(c, path)...)
	errs = append(errs, validateUpgradeOwner(c, path.Child("upgradeStrategy", "type"))...)
	errs = append(errs, RayClusterStatus(rc, o)...)
	return errs
}

func clusterWarnings(rc *rayv1.RayCluster, o Options) field.ErrorList {
	if equality.Semantic.DeepEqual(rc.Spec, rayv1.RayClusterSpec{}) {
		return nil
	}
	c := newCluster(&rc.Spec, &rc.ObjectMeta, o)
	path, metaPath := field.NewPath("spec"), field.NewPath("metadata")
	warnings := warnMetadata(c.meta, o, metaPath)
	warnings = append(warnings, warnClippedNames(c, metaPath.Child("name"))...)
	warnings = append(warnings, warnClusterSpec(c, path)...)
	warnings = append(warnings, warnGroupSuspend(c, path.Child("workerGroupSpecs"))...)
	warnings = append(warnings, warnObjectSize(rc)...)
	return warnings
}

func clusterTransitions(rc, old *rayv1.RayCluster, o Options) field.ErrorList {
	path := field.NewPath("spec")
	errs := validateTransition(&rc.Spec, &old.Spec, path)
	if o.RefuseGroupRemoval {
		errs = append(errs, checkGroupsKept(rc, old, path.Child("workerGroupSpecs"))...)
	}
	return errs
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
