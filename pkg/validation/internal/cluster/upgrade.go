package cluster

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/pkg/validation/internal/metadata"
	"github.com/raygate/raygate/pkg/validation/rule"
)

// upgradeRemedies are the remedies for the annotations about rolling upgrades.
var upgradeRemedies = map[string]string{
	rayv1.AnnotationUpgradeStrategy: nothingReplaced + "use RollingUpdate, or remove it",
	rayv1.AnnotationMaxUnavailable:  nothingReplaced + "use a number or a percentage of replicas, as in 1 or 25%",
	rayv1.AnnotationMaxSurge:        nothingReplaced + "use a number or a percentage of replicas, as in 1 or 25%",
	rayv1.AnnotationUpgradePaused:   nothingReplaced + "use true or false",
	rayv1.AnnotationUpgradeDeadline: nothingReplaced + "use a duration above 0, as in 1h",
}

const (
	nothingReplaced = "is not understood, so that no Pods are replaced; "
	validLimit      = "matches('" + rayv1.UpgradeLimitPattern + "')"
)

var rc594 = rule.New(rule.Rule{ID: "RC-594", Kind: "RayCluster", Field: "metadata.annotations: upgrade-strategy, max-unavailable, max-surge, upgrade-paused, upgrade-deadline",
	Condition: "not RollingUpdate, a number or percentage, true or false, or a duration above 0",
	Policies: []rule.Policy{
		upgradePolicy(rayv1.AnnotationUpgradeStrategy, "matches('^RollingUpdate$')"),
		upgradePolicy(rayv1.AnnotationMaxUnavailable, validLimit), upgradePolicy(rayv1.AnnotationMaxSurge, validLimit),
		upgradePolicy(rayv1.AnnotationUpgradePaused, "matches('^(true|false)$')"), upgradePolicy(rayv1.AnnotationUpgradeDeadline, metadata.ValidDuration),
	}})

func upgradePolicy(key, valid string) rule.Policy {
	return metadata.AnnotationPolicy(key, valid, upgradeRemedies[key])
}

var rc595 = rule.New(rule.Rule{ID: "RC-595", Kind: "RayCluster", Field: "metadata.annotations[" + rayv1.AnnotationUpgradeStrategy + "]",
	Condition: "set with upgradeStrategy.type Recreate, or on a cluster that has a controller",
	Policies: []rule.Policy{{Field: "metadata.annotations[" + rayv1.AnnotationUpgradeStrategy + "]", Says: replacesAll,
		Valid: "!('" + rayv1.AnnotationUpgradeStrategy + "' in annotations) || !has(cluster.upgradeStrategy) || !has(cluster.upgradeStrategy.type) || cluster.upgradeStrategy.type != 'Recreate'"}}})

const replacesAll = "has no effect, because upgradeStrategy.type Recreate replaces all Pods at once; remove one of the two"

// checkRollingUpdate reports annotations about rolling upgrades that cannot be read or have no effect.
func checkRollingUpdate(out *rule.Report, rc *rayv1.RayCluster) {
	annotations := field.NewPath("metadata", "annotations")
	_, invalid := rayv1.RollingUpdateOf(rc.Annotations)
	for _, key := range invalid {
		out.Invalid(rc594, annotations.Key(key), rc.Annotations[key], upgradeRemedies[key])
	}
	text, set := rc.Annotations[rayv1.AnnotationUpgradeStrategy]
	path := annotations.Key(rayv1.AnnotationUpgradeStrategy)
	owner := metav1.GetControllerOfNoCopy(rc)
	switch {
	case !set:
	case owner != nil:
		out.Invalid(rc595, path, text, "has no effect, because the cluster belongs to a "+owner.Kind+", which decides about upgrades; remove it")
	case recreates(&rc.Spec):
		out.Invalid(rc595, path, text, replacesAll)
	}
}
