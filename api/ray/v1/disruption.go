package v1

import (
	"regexp"

	"k8s.io/apimachinery/pkg/util/intstr"
)

// AnnotationDisruptionBudget of a RayCluster protects its Pods by PodDisruptionBudgets. The value is how many workers of each group may be disrupted
// at a time: a number above 0, or a percentage of the wanted workers that is rounded up. A head is protected while a new one would lose work.
// A RayJob and a RayService give it to their clusters. It is an annotation because the CRD of KubeRay would drop a field, and absent by
// default because a budget holds up the drain of a node.
const AnnotationDisruptionBudget = "raygate.io/disruption-budget"

// DisruptionBudgetPattern matches the values of AnnotationDisruptionBudget, in RE2. It excludes 0, with which no node could be drained.
const DisruptionBudgetPattern = `^([1-9][0-9]{0,8}|([1-9][0-9]?|100)%)$`

var disruptionBudget = regexp.MustCompile(DisruptionBudgetPattern)

// DisruptionBudgetOf reads AnnotationDisruptionBudget. It returns nil if that is absent or not valid.
func DisruptionBudgetOf(annotations map[string]string) *intstr.IntOrString {
	text := annotations[AnnotationDisruptionBudget]
	if !disruptionBudget.MatchString(text) {
		return nil
	}
	return new(intstr.Parse(text))
}

// Disruptions returns how many of n workers, or replicas, a budget lets go at a time.
func Disruptions(budget *intstr.IntOrString, n int) int {
	// Errors are only those of values that DisruptionBudgetOf refuses.
	allowed, _ := intstr.GetScaledValueFromIntOrPercent(budget, n, true)
	return allowed
}
