package validation

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

func validateManagedBy(c *cluster, path *field.Path) field.ErrorList {
	if c.spec.ManagedBy == nil {
		return nil
	}
	return notIn("RC-022", path, *c.spec.ManagedBy, rayv1.ManagedByKubeRayOperator, rayv1.ManagedByMultiKueue)
}

func validateUpgradeType(c *cluster, path *field.Path) field.ErrorList {
	s := c.spec.UpgradeStrategy
	if s == nil || s.Type == nil {
		return nil
	}
	return notIn("RC-015", path.Child("type"), *s.Type, rayv1.RayClusterRecreate, rayv1.RayClusterUpgradeNone)
}

// validateUpgradeOwner leaves the upgrade of a cluster to the RayJob or RayService that made it.
func validateUpgradeOwner(c *cluster, path *field.Path) field.ErrorList {
	s := c.spec.UpgradeStrategy
	owner := c.meta.Labels[rayv1.LabelOriginatedFromCRD]
	if s == nil || s.Type == nil || owner != "RayJob" && owner != "RayService" {
		return nil
	}
	return field.ErrorList{invalid("RC-117", path, string(*s.Type), "the cluster belongs to a "+owner+", which decides about upgrades; remove it")}
}
