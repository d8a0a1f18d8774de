package cluster

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/pkg/validation/cel"
	"github.com/raygate/raygate/pkg/validation/internal/metadata"
	"github.com/raygate/raygate/pkg/validation/rule"
)

// OwnedRules are the ids of rules for a cluster that belongs to another object, for one kind of owner.
type OwnedRules struct{ K8sToken, Upgrade, Dashboard, Manager, Suspend *rule.Rule }

// CheckOwnedCluster reports settings that are valid in a RayCluster, but not in one that a RayJob or a RayService with this managedBy
// creates.
func CheckOwnedCluster(out *rule.Report, c *Spec, managedBy *string, ids OwnedRules, path *field.Path) {
	manager := ptr.Deref(c.Spec.ManagedBy, Manager(managedBy))
	out.When(manager != Manager(managedBy)).Invalid(ids.Manager, path.Child("managedBy"), manager)
	out.When(metadata.IsTrue(c.Spec.Suspend)).Invalid(ids.Suspend, path.Child("suspend"), true)
	if a := c.Spec.AuthOptions; a != nil && metadata.IsTrue(a.EnableK8sTokenAuth) {
		out.Invalid(ids.K8sToken, path.Child("authOptions", "enableK8sTokenAuth"), true, "is possible for a RayCluster alone; use authOptions.mode token with a secret")
	}
	checkUpgradeOwner(out, ids.Upgrade, c, c.Within, path.Child("upgradeStrategy", "type"))
	out.When(!findsDashboard(&c.Spec.HeadGroupSpec)).Required(ids.Dashboard, path.Child("headGroupSpec", "template", "spec", "containers").Index(0).Child("ports"),
		"ports are listed, but none is named dashboard, by which the operator finds Ray; add it, with containerPort 8265 usually")
}

// findsDashboard reports whether the head Service has a port named dashboard, from the container or from headService, by which
// the operator finds Ray.
func findsDashboard(h *rayv1.HeadGroupSpec) bool {
	container := RayContainer(&h.Template)
	return container == nil || len(container.Ports) == 0 || slices.ContainsFunc(container.Ports, named(rayv1.PortDashboard)) ||
		h.HeadService != nil && slices.ContainsFunc(h.HeadService.Spec.Ports, func(p corev1.ServicePort) bool {
			return p.Name == rayv1.PortDashboard
		})
}

func named(name string) func(corev1.ContainerPort) bool {
	return func(p corev1.ContainerPort) bool { return p.Name == name }
}

var rc022 = rule.NewEnum(rule.Rule{ID: "RC-022", Field: "managedBy", Peer: rule.BySchema, Marker: rule.InCEL}, rayv1.ManagedByKubeRayOperator, rayv1.ManagedByMultiKueue)
var rc015 = rule.NewEnum(rule.Rule{ID: "RC-015", Field: "upgradeStrategy.type", Peer: rule.BySchemaAndSpec, Same: []string{"RC-116"}, Marker: rule.InSchema}, rayv1.RayClusterRecreate, rayv1.RayClusterUpgradeNone)

var rc117 = rule.New(rule.Rule{ID: "RC-117", Kind: "RayCluster", Field: "spec.upgradeStrategy.type", Condition: "set, and label ray.io/originated-from-crd is RayJob or RayService", Peer: rule.BySpec,
	Policies: []rule.Policy{{Field: "spec.upgradeStrategy.type", Valid: "!has(cluster.upgradeStrategy) || !has(cluster.upgradeStrategy.type) || !(" + cel.LabelOrigin + " in labels) || !(labels[" + cel.LabelOrigin + "] in ['RayJob', 'RayService'])",
		Says: "the cluster belongs to a RayJob or a RayService, which decides about upgrades; remove it"}}})

// checkUpgradeOwner leaves the upgrade of a cluster to the RayJob or RayService that made it.
func checkUpgradeOwner(out *rule.Report, by *rule.Rule, c *Spec, owner string, path *field.Path) {
	if s := c.Spec.UpgradeStrategy; s != nil && s.Type != nil && (owner == "RayJob" || owner == "RayService") {
		out.Invalid(by, path, string(*s.Type), "the cluster belongs to a "+owner+", which decides about upgrades; remove it")
	}
}
