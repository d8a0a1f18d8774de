package v1

import (
	"regexp"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Annotations of a RayCluster about rolling upgrades, which KubeRay does not have: Pods of groups whose template has changed are replaced step
// by step. AnnotationUpgradePaused set to true replaces none. They have no effect on a cluster that has a controller, such as a RayService, or the upgrade strategy Recreate.
const (
	// AnnotationUpgradeStrategy is UpgradeRollingUpdate. It is an annotation because the CRD of KubeRay refuses any other value of
	// spec.upgradeStrategy.type.
	AnnotationUpgradeStrategy = "raygate.io/upgrade-strategy"
	// AnnotationMaxUnavailable is how many replicas of a group may be unavailable because of the upgrade: a number, or a percentage of the
	// wanted replicas that is rounded down; 1 if absent. If it and the surge are 0, it is 1. It is an annotation because the CRD of KubeRay
	// would drop a field.
	AnnotationMaxUnavailable = "raygate.io/max-unavailable"
	// AnnotationMaxSurge is how many replicas a group may have beyond the wanted ones: a number, or a percentage that is rounded up; 0 if
	// absent. It is an annotation because the CRD of KubeRay would drop a field.
	AnnotationMaxSurge = "raygate.io/max-surge"
	// AnnotationUpgradeDeadline is how long an upgrade may take before that is reported, as a Go duration above 0. It is an annotation because
	// the CRD of KubeRay would drop a field.
	AnnotationUpgradeDeadline = "raygate.io/upgrade-deadline"
)

// UpgradeRollingUpdate is the only value of AnnotationUpgradeStrategy.
const UpgradeRollingUpdate = "RollingUpdate"

// AnnotationTemplateHash is the hash of the template from which a Pod of a cluster with AnnotationUpgradeStrategy was created.
const AnnotationTemplateHash = "raygate.io/template-hash"

// AnnotationDrainingSince is when the operator decided to delete a worker, as a time in RFC 3339. Ray drains its node from then on, and the Pod is
// deleted when that is done. It does not count as a worker any more.
const AnnotationDrainingSince = "raygate.io/draining-since"

// RollingUpdate is the meaning of the annotations.
// +kubebuilder:object:generate=false
type RollingUpdate struct {
	MaxUnavailable, MaxSurge intstr.IntOrString
	Paused                   bool
	// Deadline is 0 for none.
	Deadline time.Duration
	// Budget is that of AnnotationDisruptionBudget, which also limits upgrades; nil for none.
	Budget *intstr.IntOrString
}

// RollingUpdate returns how Pods with an outdated template are replaced. It returns nil if they are not: the annotations ask for nothing or have
// no effect, or one of them cannot be read.
func (in *RayCluster) RollingUpdate() *RollingUpdate {
	s := in.Spec.UpgradeStrategy
	recreates := s != nil && s.Type != nil && *s.Type == RayClusterRecreate
	if in.Annotations[AnnotationUpgradeStrategy] == "" || recreates || metav1.GetControllerOfNoCopy(in) != nil {
		return nil
	}
	u, invalid := RollingUpdateOf(in.Annotations)
	if len(invalid) > 0 {
		return nil
	}
	u.Budget = DisruptionBudgetOf(in.Annotations)
	return &u
}

// RollingUpdateOf reads the annotations. invalid are the keys of those with a value that it cannot read.
func RollingUpdateOf(annotations map[string]string) (u RollingUpdate, invalid []string) {
	u.MaxUnavailable = intstr.FromInt32(1)
	read := func(key string, parse func(text string) bool) {
		if text, set := annotations[key]; set && !parse(text) {
			invalid = append(invalid, key)
		}
	}
	limit := func(v *intstr.IntOrString) func(string) bool {
		return func(text string) bool {
			*v = intstr.Parse(text)
			return upgradeLimit.MatchString(text)
		}
	}
	read(AnnotationUpgradeStrategy, func(text string) bool { return text == UpgradeRollingUpdate })
	read(AnnotationMaxUnavailable, limit(&u.MaxUnavailable))
	read(AnnotationMaxSurge, limit(&u.MaxSurge))
	read(AnnotationUpgradePaused, func(text string) bool {
		u.Paused = text == "true"
		return u.Paused || text == "false"
	})
	read(AnnotationUpgradeDeadline, func(text string) (ok bool) {
		var err error
		u.Deadline, err = time.ParseDuration(text)
		return err == nil && u.Deadline > 0
	})
	return u, invalid
}

// UpgradeLimitPattern matches the values of AnnotationMaxUnavailable and AnnotationMaxSurge, in RE2.
const UpgradeLimitPattern = `^([0-9]{1,9}|([0-9]{1,2}|100)%)$`

var upgradeLimit = regexp.MustCompile(UpgradeLimitPattern)

// Limits returns the limits for a group that wants n replicas, as numbers of replicas.
func (u *RollingUpdate) Limits(n int) (unavailable, surge int) {
	// Errors are only those of values that RollingUpdateOf refuses.
	unavailable, _ = intstr.GetScaledValueFromIntOrPercent(&u.MaxUnavailable, n, false)
	surge, _ = intstr.GetScaledValueFromIntOrPercent(&u.MaxSurge, n, true)
	if unavailable == 0 && surge == 0 {
		unavailable = 1
	}
	if u.Budget != nil {
		unavailable = min(unavailable, Disruptions(u.Budget, n))
	}
	return unavailable, surge
}
