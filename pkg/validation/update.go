package validation

import (
	"maps"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"

	rayv1 "github.com/raygate/raygate/operator/api/ray/v1"
)

// RayClusterUpdate returns the errors that an update brings in. What was wrong in the same way before passes, so that
// a new rule never blocks the autoscaler or a finalizer on a stored object; RayClusterUpdateWarningList still tells of
// it. An object that is being deleted passes, and so does an update that leaves spec, labels and annotations alone.
// Without an old object it is RayCluster.
func RayClusterUpdate(new, old *rayv1.RayCluster, o Options) field.ErrorList {
	if new == nil || old == nil {
		return RayCluster(new, o)
	}
	if exemptUpdate(new, old) {
		return nil
	}
	errs, _ := ratchet(RayCluster(new, o), new, old, o)
	return append(errs, validateTransition(&new.Spec, &old.Spec, field.NewPath("spec"))...)
}

// exemptUpdate reports whether the update is none of the rules' business: finalizers, owners, managed fields, status.
func exemptUpdate(new, old *rayv1.RayCluster) bool {
	if new.DeletionTimestamp != nil {
		return true
	}
	return maps.Equal(new.Labels, old.Labels) && maps.Equal(new.Annotations, old.Annotations) && equality.Semantic.DeepEqual(new.Spec, old.Spec)
}

// validateTransition holds the rules that need the old value. They are never ratcheted.
func validateTransition(new, old *rayv1.RayClusterSpec, path *field.Path) field.ErrorList {
	errs := validateManagedByTransition(new.ManagedBy, old.ManagedBy, path.Child("managedBy"))
	if new.GcsFaultToleranceOptions != nil && old.GcsFaultToleranceOptions != nil {
		errs = append(errs, validateBackendTransition(new.GcsFaultToleranceOptions.Backend, old.GcsFaultToleranceOptions.Backend,
			path.Child("gcsFaultToleranceOptions", "backend"))...)
	}
	return errs
}

func validateManagedByTransition(new, old *string, path *field.Path) field.ErrorList {
	const remedy = "cannot change, since another controller would take over half-way; make the cluster anew"
	switch {
	case new == nil && old == nil:
		return nil
	case new != nil && old != nil && *new != *old:
		return field.ErrorList{invalid("RC-021", path, *new, remedy)}
	case new != nil && old == nil:
		return field.ErrorList{invalid("RC-550", path, *new, remedy)}
	case new == nil:
		return field.ErrorList{invalid("RC-550", path, field.OmitValueType{}, "cannot be removed; "+remedy)}
	}
	return nil
}

func validateBackendTransition(new, old rayv1.GcsFaultToleranceBackend, path *field.Path) field.ErrorList {
	const remedy = "cannot change, since the metadata would be lost; make the cluster anew"
	effective := func(b rayv1.GcsFaultToleranceBackend) rayv1.GcsFaultToleranceBackend {
		if b == "" {
			return rayv1.GcsFTBackendRedis
		}
		return b
	}
	if effective(new) == effective(old) {
		return nil
	}
	if new != "" && old != "" {
		return field.ErrorList{invalid("RC-023", path, string(new), remedy)}
	}
	return field.ErrorList{invalid("RC-547", path, string(new), remedy)}
}

// ratchet splits errors of the new object into those that the old one does not have, and those that it has: of the same
// rule, at the same place, with the same value and the same related values, all of which stand in the message.
func ratchet(errs field.ErrorList, new, old *rayv1.RayCluster, o Options) (fresh, known field.ErrorList) {
	if len(errs) == 0 {
		return nil, nil
	}
	// A count, not a set: the third group of one name is a fresh error although the second was there.
	had := map[string]int{}
	for _, err := range RayCluster(old, o) {
		had[ratchetKey(err, old)]++
	}
	for _, err := range errs {
		key := ratchetKey(err, new)
		if had[key] > 0 {
			had[key]--
			known = append(known, err)
		} else {
			fresh = append(fresh, err)
		}
	}
	return fresh, known
}

func ratchetKey(err *field.Error, rc *rayv1.RayCluster) string {
	return err.Origin + "\x00" + logicalPath(err.Field, &rc.Spec) + "\x00" + err.ErrorBody()
}

// logicalPath replaces indices by names where list items have names, so that moving an item is no change of it.
func logicalPath(path string, spec *rayv1.RayClusterSpec) string {
	var b strings.Builder
	template := &spec.HeadGroupSpec.Template
	var container *corev1.Container
	list := ""
	for _, step := range splitPath(path) {
		if step.kind != stepIndex {
			list = step.name
			b.WriteString("." + step.name)
			continue
		}
		i, name := step.index, ""
		switch {
		case list == "workerGroupSpecs" && i < len(spec.WorkerGroupSpecs):
			name, template = spec.WorkerGroupSpecs[i].GroupName, &spec.WorkerGroupSpecs[i].Template
		case list == "containers" && i < len(template.Spec.Containers):
			container = &template.Spec.Containers[i]
			name = container.Name
		case list == "initContainers" && i < len(template.Spec.InitContainers):
			container = &template.Spec.InitContainers[i]
			name = container.Name
		case list == "volumes" && i < len(template.Spec.Volumes):
			name = template.Spec.Volumes[i].Name
		case list == "env" && container != nil && i < len(container.Env):
			name = container.Env[i].Name
		default:
			name = strconv.Itoa(i)
		}
		b.WriteString("[" + name + "]")
	}
	return b.String()
}
