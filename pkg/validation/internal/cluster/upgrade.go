package cluster

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/pkg/validation/cel"
	"github.com/raygate/raygate/pkg/validation/rule"
)

var rc022 = rule.New(rule.Rule{ID: "RC-022", Field: "managedBy", Condition: "not ray.io/kuberay-operator or kueue.x-k8s.io/multikueue", Peer: rule.BySchema,
	Marker: rule.InCEL})

func checkManagedBy(out *rule.Report, c *Spec, path *field.Path) {
	if c.Spec.ManagedBy == nil {
		return
	}
	rule.OneOf(out, rc022, path, *c.Spec.ManagedBy, rayv1.ManagedByKubeRayOperator, rayv1.ManagedByMultiKueue)
}

var rc015 = rule.New(rule.Rule{ID: "RC-015", Field: "upgradeStrategy.type", Condition: "not Recreate, None", Peer: rule.BySchemaAndSpec, Same: []string{"RC-116"},
	Marker: rule.InSchema})

func checkUpgradeType(out *rule.Report, c *Spec, path *field.Path) {
	s := c.Spec.UpgradeStrategy
	if s == nil || s.Type == nil {
		return
	}
	rule.OneOf(out, rc015, path.Child("type"), *s.Type, rayv1.RayClusterRecreate, rayv1.RayClusterUpgradeNone)
}

var rc117 = rule.New(rule.Rule{ID: "RC-117", Kind: "RayCluster", Field: "spec.upgradeStrategy.type", Condition: "set, and label ray.io/originated-from-crd is RayJob or RayService", Peer: rule.BySpec,
	Policies: []rule.Policy{{Field: "spec.upgradeStrategy.type", Valid: "!has(cluster.upgradeStrategy) || !has(cluster.upgradeStrategy.type) || !(" + cel.LabelOrigin + " in labels) || !(labels[" + cel.LabelOrigin + "] in ['RayJob', 'RayService'])",
		Says: "the cluster belongs to a RayJob or a RayService, which decides about upgrades; remove it"}}})

// checkUpgradeOwner leaves the upgrade of a cluster to the RayJob or RayService that made it.
func checkUpgradeOwner(out *rule.Report, c *Spec, path *field.Path) {
	s := c.Spec.UpgradeStrategy
	owner := c.meta.Labels[rayv1.LabelOriginatedFromCRD]
	if s == nil || s.Type == nil || owner != "RayJob" && owner != "RayService" {
		return
	}
	out.Invalid(rc117, path, string(*s.Type), "the cluster belongs to a "+owner+", which decides about upgrades; remove it")
}
