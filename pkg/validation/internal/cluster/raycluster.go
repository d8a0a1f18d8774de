package cluster

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/pkg/validation/cel"
	"github.com/raygate/raygate/pkg/validation/internal/metadata"
	"github.com/raygate/raygate/pkg/validation/rule"
)

var rc581 = rule.New(rule.Rule{ID: "RC-581", Kind: "RayCluster", Field: "spec", Condition: "absent", Peer: rule.BySpec, Remedy: "describe the cluster: at least headGroupSpec with a Pod template",
	CEL: cel.SpecIsThere})

// Check looks at a RayCluster alone, its status included.
func Check(out *rule.Report, rc *rayv1.RayCluster, o rule.Options) {
	path, missing := field.NewPath("spec"), equality.Semantic.DeepEqual(rc.Spec, rayv1.RayClusterSpec{})
	if !metadata.CheckObject(out, rc, &rc.ObjectMeta, clusterNames, missing, rc581, o) {
		return
	}
	c := New(&rc.Spec, &rc.ObjectMeta, o)
	checkClippedNames(out, c, field.NewPath("metadata", "name"))
	CheckSpec(out, c, path)
	checkUpgradeOwner(out, rc117, c, rc.Labels[rayv1.LabelOriginatedFromCRD], path.Child("upgradeStrategy", "type"))
	checkOwnSuspend(out, c, path.Child("workerGroupSpecs"))
	CheckStatus(out, rc)
}

var rc120 = rule.New(rule.Rule{ID: "RC-120", Kind: "RayCluster", Field: "status.conditions", Condition: "RayClusterSuspending and RayClusterSuspended both True", Peer: rule.BySpec,
	Remedy: "RayClusterSuspending and RayClusterSuspended cannot both be True; the operator sets them, one after the other",
	CEL:    []rule.CEL{{Node: "status.conditions", Valid: "!(self.exists(c, c.type == 'RayClusterSuspending' && c.status == 'True') && self.exists(c, c.type == 'RayClusterSuspended' && c.status == 'True'))"}}})

// CheckStatus guards the state machine of suspending: of its two conditions one at most is true.
func CheckStatus(out *rule.Report, rc *rayv1.RayCluster) {
	conditions, path := rc.Status.Conditions, field.NewPath("status", "conditions")
	suspended := slices.IndexFunc(conditions, func(c metav1.Condition) bool {
		return c.Type == string(rayv1.RayClusterSuspended) && c.Status == metav1.ConditionTrue
	})
	both := suspended >= 0 && meta.IsStatusConditionTrue(conditions, string(rayv1.RayClusterSuspending))
	out.When(both).Invalid(rc120, path.Index(suspended).Child("status"), string(metav1.ConditionTrue))
}

var rc563 = rule.New(rule.Rule{ID: "RC-563", Kind: "RayCluster", Field: "metadata.name", Condition: "51 to 53 characters with autoscaling or token auth; above 37 with enableIngress"})

// checkClippedNames tells of names that the operator will shorten from the front, so that two clusters may collide.
func checkClippedNames(out *rule.Report, c *Spec, path *field.Path) {
	const plainLimit, ingressLimit = 50, 37
	name := c.meta.Name
	switch {
	case len(name) > ingressLimit && metadata.IsTrue(c.Spec.HeadGroupSpec.EnableIngress):
		out.Invalid(rc563, path, name, fmt.Sprintf(
			"with enableIngress the name of the Ingress is cut from the front and may equal that of another cluster; use at most %d characters", ingressLimit))
	case len(name) > plainLimit && (c.Autoscaling || c.tokenAuth):
		out.Invalid(rc563, path, name, fmt.Sprintf(
			"the names of its ServiceAccount, Role or Secret are cut from the front and may equal those of another cluster; use at most %d characters", plainLimit))
	}
}

var clusterNames = metadata.NewNameRules(rule.RayCluster, "RC-030", rule.ByWebhookAndSpec, "RC-031", rule.ByWebhookAndSpec, 53, "so that the names of its Services stay within 63")
