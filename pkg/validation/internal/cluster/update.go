package cluster

import (
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/pkg/validation/rule"
)

// CheckSpecTransition holds the rules that need the old value. They are never ratcheted.
func CheckSpecTransition(out *rule.Report, new, old *rayv1.RayClusterSpec, path *field.Path) {
	checkClusterManager(out, new.ManagedBy, old.ManagedBy, path.Child("managedBy"))
	if new.GcsFaultToleranceOptions != nil && old.GcsFaultToleranceOptions != nil {
		checkBackendTransition(out, new.GcsFaultToleranceOptions.Backend, old.GcsFaultToleranceOptions.Backend,
			path.Child("gcsFaultToleranceOptions", "backend"))
	}
}

// managerKept is what all kinds say of a managedBy that changes.
const managerKept = "cannot change, since another controller would take over half-way; make the "

// CheckManagerKept lets managedBy appear and go away, but not change.
func CheckManagerKept(out *rule.Report, by *rule.Rule, new, old *string, path *field.Path) {
	if new == nil || old == nil || *new == *old {
		return
	}
	out.Invalid(by, path, *new, managerKept+"object anew")
}

var rc021 = rule.New(rule.Rule{ID: "RC-021", Field: "managedBy", Condition: "old and new both set and different", Peer: rule.BySchema, Transition: true,
	Marker: rule.InCEL})
var rc550 = rule.New(rule.Rule{ID: "RC-550", Field: "managedBy", Condition: "added or removed, so that another controller takes over", Transition: true})

// checkClusterManager tells of a managedBy that appears or goes away too, if that gives the cluster to someone else.
func checkClusterManager(out *rule.Report, new, old *string, path *field.Path) {
	if new != nil && old != nil {
		CheckManagerKept(out, rc021, new, old, path)
		return
	}
	if Manager(new) == Manager(old) {
		return
	}
	const handed = "hands the cluster to another controller half-way; make the cluster anew instead"
	if new == nil {
		out.Invalid(rc550, path, field.OmitValueType{}, "is removed, which "+handed)
		return
	}
	out.Invalid(rc550, path, *new, handed)
}

var rc023 = rule.New(rule.Rule{ID: "RC-023", Field: "gcsFaultToleranceOptions.backend", Condition: "old and new both set and different", Peer: rule.BySchema, Transition: true,
	Marker: rule.InCEL})
var rc547 = rule.New(rule.Rule{ID: "RC-547", Field: "gcsFaultToleranceOptions.backend", Condition: "effective backend (empty = redis) changes", Transition: true})

func checkBackendTransition(out *rule.Report, new, old rayv1.GcsFaultToleranceBackend, path *field.Path) {
	const remedy = "cannot change without losing the metadata; make the cluster anew"
	effective := func(b rayv1.GcsFaultToleranceBackend) rayv1.GcsFaultToleranceBackend {
		if b == "" {
			return rayv1.GcsFTBackendRedis
		}
		return b
	}
	if effective(new) == effective(old) {
		return
	}
	if new != "" && old != "" {
		out.Invalid(rc023, path, string(new), remedy)
		return
	}
	out.Invalid(rc547, path, string(new), remedy)
}

// Manager is who looks after an object with this managedBy.
func Manager(managedBy *string) string {
	return ptr.Deref(managedBy, rayv1.ManagedByKubeRayOperator)
}
