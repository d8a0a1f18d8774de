package cluster

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/pkg/validation/internal/metadata"
	"github.com/raygate/raygate/pkg/validation/rule"
)

// OwnedRules are the ids of rules for a cluster that belongs to another object, for one kind of owner.
type OwnedRules struct{ K8sToken, Upgrade, Dashboard *rule.Rule }

// CheckOwnedCluster refuses what a RayCluster may have, but not one that a RayJob or a RayService makes.
func CheckOwnedCluster(out *rule.Report, c *Spec, ids OwnedRules, path *field.Path) {
	if a := c.Spec.AuthOptions; a != nil && metadata.IsTrue(a.EnableK8sTokenAuth) {
		out.Invalid(ids.K8sToken, path.Child("authOptions", "enableK8sTokenAuth"), true, "is possible for a RayCluster alone; use authOptions.mode token with a secret")
	}
	if s := c.Spec.UpgradeStrategy; s != nil && s.Type != nil {
		out.Invalid(ids.Upgrade, path.Child("upgradeStrategy", "type"), string(*s.Type), "the cluster belongs to a "+c.Within+", which decides about upgrades; remove it")
	}
	if !findsDashboard(&c.Spec.HeadGroupSpec) {
		out.Required(ids.Dashboard, path.Child("headGroupSpec", "template", "spec", "containers").Index(0).Child("ports"), "ports are listed, but none is named dashboard, by which the operator finds Ray; add it, with containerPort 8265 usually")
	}
}

// findsDashboard reports whether the head Service has a port named dashboard, from the container or from headService, by which
// the operator finds Ray.
func findsDashboard(h *rayv1.HeadGroupSpec) bool {
	if h.HeadService != nil && slices.ContainsFunc(h.HeadService.Spec.Ports, func(p corev1.ServicePort) bool { return p.Name == rayv1.PortDashboard }) {
		return true
	}
	container := RayContainer(&h.Template)
	return container == nil || len(container.Ports) == 0 || slices.ContainsFunc(container.Ports, named(rayv1.PortDashboard))
}

func named(name string) func(corev1.ContainerPort) bool {
	return func(p corev1.ContainerPort) bool { return p.Name == name }
}
