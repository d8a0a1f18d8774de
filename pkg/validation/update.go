package validation

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// validateTransition holds the rules that need the old value. They are never ratcheted.
func validateTransition(new, old *rayv1.RayClusterSpec, path *field.Path) field.ErrorList {
	errs := validateClusterManager(new.ManagedBy, old.ManagedBy, path.Child("managedBy"))
	if new.GcsFaultToleranceOptions != nil && old.GcsFaultToleranceOptions != nil {
		errs = append(errs, validateBackendTransition(new.GcsFaultToleranceOptions.Backend, old.GcsFaultToleranceOptions.Backend,
			path.Child("gcsFaultToleranceOptions", "backend"))...)
	}
	return errs
}

// managerKept is what all kinds say of a managedBy that changes.
const managerKept = "cannot change, since another controller would take over half-way; make the "

// validateManagerKept lets managedBy appear and go away, but not change.
func validateManagerKept(id string, new, old *string, path *field.Path) field.ErrorList {
	if new == nil || old == nil || *new == *old {
		return nil
	}
	return field.ErrorList{invalid(id, path, *new, managerKept+"object anew")}
}

// validateClusterManager tells of a managedBy that appears or goes away too, if that gives the cluster to someone else.
func validateClusterManager(new, old *string, path *field.Path) field.ErrorList {
	if new != nil && old != nil {
		return validateManagerKept("RC-021", new, old, path)
	}
	if manager(new) == manager(old) {
		return nil
	}
	const handed = "hands the cluster to another controller half-way; make the cluster anew instead"
	if new == nil {
		return field.ErrorList{invalid("RC-550", path, field.OmitValueType{}, "is removed, which "+handed)}
	}
	return field.ErrorList{invalid("RC-550", path, *new, handed)}
}

func validateBackendTransition(new, old rayv1.GcsFaultToleranceBackend, path *field.Path) field.ErrorList {
	const remedy = "cannot change without losing the metadata; make the cluster anew"
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
