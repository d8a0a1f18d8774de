package validation

import (
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/pkg/validation/cel"
	"github.com/raygate/raygate/pkg/validation/rule"
)

var rc581 = rule.New(rule.Rule{ID: "RC-581", Kind: "RayCluster", Field: "spec", Condition: "absent", Peer: rule.BySpec, Remedy: "describe the cluster: at least headGroupSpec with a Pod template",
	CEL: []rule.CEL{cel.SpecIsThere(rule.RayCluster, "describe the cluster: at least headGroupSpec with a Pod template")}})

func checkCluster(out *rule.Report, rc *rayv1.RayCluster, o Options) {
	path, metaPath := field.NewPath("spec"), field.NewPath("metadata")
	checkName(out, &rc.ObjectMeta, clusterNameRules)
	if equality.Semantic.DeepEqual(rc.Spec, rayv1.RayClusterSpec{}) {
		checkSchedulerLabels(out, rc.Labels, o, metaPath.Child("labels"))
		out.Required(rc581, path)
		return
	}
	c := newCluster(&rc.Spec, &rc.ObjectMeta, o)
	checkMetadata(out, c.meta, o, metaPath)
	checkClippedNames(out, c, metaPath.Child("name"))
	checkClusterSpec(out, c, path)
	checkUpgradeOwner(out, c, path.Child("upgradeStrategy", "type"))
	checkOwnSuspend(out, c, path.Child("workerGroupSpecs"))
	checkObjectSize(out, rc)
	clusterStatus(out, rc)
}

var rc120 = rule.New(rule.Rule{ID: "RC-120", Kind: "RayCluster", Field: "status.conditions", Condition: "RayClusterSuspending and RayClusterSuspended both True", Peer: rule.BySpec,
	Remedy: "RayClusterSuspending and RayClusterSuspended cannot both be True; the operator sets them, one after the other",
	CEL:    []rule.CEL{{Node: "status.conditions", Valid: "!(self.exists(c, c.type == 'RayClusterSuspending' && c.status == 'True') && self.exists(c, c.type == 'RayClusterSuspended' && c.status == 'True'))"}}})

// clusterStatus guards the state machine of suspending: of its two conditions one at most is true.
func clusterStatus(out *rule.Report, rc *rayv1.RayCluster) {
	conditions, path := rc.Status.Conditions, field.NewPath("status", "conditions")
	suspending, suspended := -1, -1
	for i := range conditions {
		if conditions[i].Status != metav1.ConditionTrue {
			continue
		}
		switch conditions[i].Type {
		case string(rayv1.RayClusterSuspending):
			suspending = i
		case string(rayv1.RayClusterSuspended):
			suspended = i
		}
	}
	if suspending < 0 || suspended < 0 {
		return
	}
	out.Invalid(rc120, path.Index(suspended).Child("status"), string(metav1.ConditionTrue))
}
