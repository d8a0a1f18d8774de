package validation

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// maxWorkerGroups is what the CRD can check by CEL.
const maxWorkerGroups = 100

// maxMultiHostName leaves room for a dash and five characters in the label of a replica.
const maxMultiHostName = 57

func validateWorkerGroups(c *cluster, path *field.Path) field.ErrorList {
	errs := validateGroupNamesUnique(c.spec.WorkerGroupSpecs, path)
	errs = append(errs, validateTotalPods(c.spec.WorkerGroupSpecs, path)...)
	for i := range c.spec.WorkerGroupSpecs {
		errs = append(errs, validateWorkerGroup(c, &c.spec.WorkerGroupSpecs[i], path.Index(i))...)
	}
	return errs
}

func validateWorkerGroup(c *cluster, g *rayv1.WorkerGroupSpec, path *field.Path) field.ErrorList {
	errs := validateGroupName(c, g, path.Child("groupName"))
	errs = append(errs, validateReplicas(c, g, path)...)
	errs = append(errs, validateNumOfHosts(g, path.Child("numOfHosts"))...)
	errs = append(errs, validateGroupSuspend(c, g, path.Child("suspend"))...)
	errs = append(errs, validateGroupIdleTimeout(c, g, path.Child("idleTimeoutSeconds"))...)
	errs = append(errs, validateGroupPriority(c, g, path.Child("priority"))...)
	errs = append(errs, validateNodeGroup(c, workerGroup(g), path)...)
	return errs
}

// validateGroupNamesUnique refuses the second of two groups of one name: they would share their Pods.
func validateGroupNamesUnique(groups []rayv1.WorkerGroupSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	seen := make(map[string]bool, len(groups))
	for i := range groups {
		name := groups[i].GroupName
		if seen[name] {
			errs = append(errs, duplicate("RC-501", path.Index(i).Child("groupName"), name, "is the name of an earlier group too; give each group a name of its own"))
		}
		seen[name] = true
	}
	return errs
}

func validateGroupName(c *cluster, g *rayv1.WorkerGroupSpec, path *field.Path) field.ErrorList {
	name := g.GroupName
	var errs field.ErrorList
	switch msgs := validation.IsValidLabelValue(name); {
	case len(msgs) > 0:
		errs = append(errs, invalid("RC-502", path, name, "becomes a label of the Pods: "+strings.Join(msgs, "; ")))
	case underscoreInPods(c, name):
		errs = append(errs, invalid("RC-503", path, name, "becomes part of Pod names, which cannot have an underscore; use a dash"))
	}
	if name == rayv1.HeadGroupName {
		errs = append(errs, invalid("RC-506", path, name, "is the group of the head Pod; choose another name"))
	}
	if g.NumOfHosts > 1 && len(name) > maxMultiHostName && c.options.enabled(GateMultiHostIndexing) {
		errs = append(errs, invalid("RC-564", path, name, fmt.Sprintf("has %d characters, at most %d are possible with numOfHosts above 1", len(name), maxMultiHostName)))
	}
	return errs
}

// podPrefix is how much of the names of cluster and group, with a dash between, Pods have in their names.
const podPrefix = 50

// underscoreInPods reports whether Pods get a name with an underscore, which is cut off behind a long name of the cluster.
func underscoreInPods(c *cluster, group string) bool {
	at := strings.Index(group, "_")
	return at >= 0 && c.nameLength+1+at < podPrefix
}

func validateReplicas(c *cluster, g *rayv1.WorkerGroupSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	minPath, maxPath := path.Child("minReplicas"), path.Child("maxReplicas")
	if g.Replicas != nil && *g.Replicas < 0 {
		errs = append(errs, invalid("RC-508", path.Child("replicas"), *g.Replicas, "must be at least 0"))
	}
	if !c.autoscaling && g.MinReplicas == nil {
		errs = append(errs, required("RC-039", minPath, "set it, or let the API server fill in 0"))
	}
	if !c.autoscaling && g.MaxReplicas == nil {
		errs = append(errs, required("RC-039", maxPath, "set it, or let the API server fill in 2147483647"))
	}
	if g.MinReplicas != nil && *g.MinReplicas < 0 {
		errs = append(errs, invalid("RC-040", minPath, *g.MinReplicas, "must be at least 0"))
	}
	if g.MaxReplicas != nil && *g.MaxReplicas < 0 {
		errs = append(errs, invalid("RC-041", maxPath, *g.MaxReplicas, "must be at least 0"))
	}
	if g.MinReplicas != nil && g.MaxReplicas != nil && *g.MinReplicas > *g.MaxReplicas {
		errs = append(errs, invalid("RC-042", minPath, *g.MinReplicas, fmt.Sprintf("must not exceed maxReplicas, which is %d", *g.MaxReplicas)))
	}
	return errs
}

// validateNumOfHosts refuses the numbers that give no Pods. The API server fills in 1 for an absent field.
func validateNumOfHosts(g *rayv1.WorkerGroupSpec, path *field.Path) field.ErrorList {
	if g.NumOfHosts >= 1 {
		return nil
	}
	return field.ErrorList{invalid("RC-509", path, g.NumOfHosts, "must be at least 1, the Pods that make one replica")}
}

// podsWanted is how many Pods the group asks for at the moment, as the operator computes it.
func podsWanted(g *rayv1.WorkerGroupSpec) int64 {
	if isTrue(g.Suspend) {
		return 0
	}
	var replicas int64
	if g.Replicas != nil {
		replicas = int64(*g.Replicas)
	}
	if g.MaxReplicas != nil {
		replicas = min(replicas, int64(*g.MaxReplicas))
	}
	if g.MinReplicas != nil {
		replicas = max(replicas, int64(*g.MinReplicas))
	}
	return max(replicas, 0) * max(int64(g.NumOfHosts), 1)
}

// groupsWithoutPods are the paths of the groups in a RayClusterSpec at the path of which no Pod is made as they stand. When such a group
// gets Pods it is the one that was wrong before.
func groupsWithoutPods(spec *rayv1.RayClusterSpec, path string) []string {
	var empty []string
	for i := range spec.WorkerGroupSpecs {
		if podsWanted(&spec.WorkerGroupSpecs[i]) == 0 {
			empty = append(empty, path+".workerGroupSpecs["+strconv.Itoa(i)+"]")
		}
	}
	return empty
}

// validateTotalPods guards the 32-bit sums of the status.
func validateTotalPods(groups []rayv1.WorkerGroupSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	var total int64
	for i := range groups {
		pods := podsWanted(&groups[i])
		if pods > math.MaxInt32 {
			errs = append(errs, invalid("RC-510", path.Index(i).Child("replicas"), pods, "replicas times numOfHosts must stay below 2147483648"))
			continue
		}
		total += pods
	}
	if total > math.MaxInt32 {
		errs = append(errs, invalid("RC-510", path, total, "all groups together must ask for fewer than 2147483648 Pods"))
	}
	return errs
}

func validateGroupSuspend(c *cluster, g *rayv1.WorkerGroupSpec, path *field.Path) field.ErrorList {
	if !isTrue(g.Suspend) {
		return nil
	}
	var errs field.ErrorList
	if !c.options.enabled(GateDeletionPolicy) {
		errs = append(errs, invalid("RC-070", path, true, GateDeletionPolicy.missing()))
	}
	if c.autoscaling {
		errs = append(errs, invalid("RC-072", path, true, "a group cannot be suspended while enableInTreeAutoscaling is true; set maxReplicas to 0 instead"))
	}
	return errs
}

func validateGroupIdleTimeout(c *cluster, g *rayv1.WorkerGroupSpec, path *field.Path) field.ErrorList {
	if g.IdleTimeoutSeconds == nil {
		return nil
	}
	var errs field.ErrorList
	if *g.IdleTimeoutSeconds < 0 {
		errs = append(errs, invalid("RC-047", path, *g.IdleTimeoutSeconds, "must be at least 0"))
	}
	if !c.autoscalerV2 {
		errs = append(errs, invalid("RC-048", path, *g.IdleTimeoutSeconds, "needs the autoscaler v2: set autoscalerOptions.version to v2, or use autoscalerOptions.idleTimeoutSeconds for all groups"))
	}
	return errs
}

func validateGroupPriority(c *cluster, g *rayv1.WorkerGroupSpec, path *field.Path) field.ErrorList {
	if g.Priority == nil || *g.Priority == 0 || c.autoscalerV2 {
		return nil
	}
	return field.ErrorList{invalid("RC-052", path, *g.Priority, "needs the autoscaler v2: set autoscalerOptions.version to v2")}
}

func warnWorkerGroups(c *cluster, path *field.Path) field.ErrorList {
	groups := c.spec.WorkerGroupSpecs
	var warnings field.ErrorList
	if len(groups) > maxWorkerGroups {
		warnings = append(warnings, invalid("RC-584", path, len(groups), fmt.Sprintf("use at most %d groups", maxWorkerGroups)))
	}
	warnings = append(warnings, warnGroupNamesAlike(groups, path)...)
	for i := range groups {
		g, p := &groups[i], path.Index(i)
		warnings = append(warnings, warnGroupName(g, p.Child("groupName"))...)
		warnings = append(warnings, warnReplicas(g, p)...)
		warnings = append(warnings, warnWorkersToDelete(c, g, p.Child("scaleStrategy", "workersToDelete"))...)
		warnings = append(warnings, warnGroupAutoscaling(c, g, p)...)
		warnings = append(warnings, warnNodeGroup(c, workerGroup(g), p)...)
	}
	return warnings
}

func warnGroupName(g *rayv1.WorkerGroupSpec, path *field.Path) field.ErrorList {
	var warnings field.ErrorList
	if g.GroupName == "" {
		warnings = append(warnings, required("RC-502", path, "give the group a name, as in cpu-workers"))
	}
	if g.GroupName != strings.ToLower(g.GroupName) {
		warnings = append(warnings, invalid("RC-504", path, g.GroupName, "is lower-cased in Pod names and cannot be used with networkPolicy; prefer lower case"))
	}
	if g.GroupName == rayv1.SubmitterGroupName {
		warnings = append(warnings, invalid("RC-506", path, g.GroupName, "is the group of the Pod that submits a RayJob; choose another name"))
	}
	return warnings
}

func warnGroupNamesAlike(groups []rayv1.WorkerGroupSpec, path *field.Path) field.ErrorList {
	var warnings field.ErrorList
	first := make(map[string]string, len(groups))
	for i := range groups {
		name, lower := groups[i].GroupName, strings.ToLower(groups[i].GroupName)
		if other, taken := first[lower]; taken && other != name {
			warnings = append(warnings, invalid("RC-505", path.Index(i).Child("groupName"), name,
				fmt.Sprintf("differs from %q by the case of letters only; the names of their Pods cannot be told apart", other)))
			continue
		}
		first[lower] = name
	}
	return warnings
}

func warnReplicas(g *rayv1.WorkerGroupSpec, path *field.Path) field.ErrorList {
	var warnings field.ErrorList
	suspended := isTrue(g.Suspend)
	// 0 may be the default of an absent field, which with minReplicas alone is what people write.
	if g.Replicas != nil && *g.Replicas > 0 && !suspended && outOfBounds(g, *g.Replicas) {
		warnings = append(warnings, invalid("RC-507", path.Child("replicas"), *g.Replicas, "is moved into the bounds of minReplicas and maxReplicas; change it or them"))
	}
	if suspended && g.MinReplicas != nil && *g.MinReplicas > 0 {
		warnings = append(warnings, invalid("RC-522", path.Child("minReplicas"), *g.MinReplicas, "has no effect while the group is suspended"))
	}
	if g.MaxReplicas != nil && *g.MaxReplicas == 0 && g.Replicas != nil && *g.Replicas > 0 {
		warnings = append(warnings, invalid("RC-522", path.Child("maxReplicas"), *g.MaxReplicas, "keeps the group empty although replicas asks for Pods; raise it"))
	}
	return warnings
}

// outOfBounds leaves a maxReplicas of 0 to a rule of its own.
func outOfBounds(g *rayv1.WorkerGroupSpec, n int32) bool {
	return g.MinReplicas != nil && n < *g.MinReplicas || g.MaxReplicas != nil && n > *g.MaxReplicas && *g.MaxReplicas != 0
}

func warnWorkersToDelete(c *cluster, g *rayv1.WorkerGroupSpec, path *field.Path) field.ErrorList {
	names := g.ScaleStrategy.WorkersToDelete
	if len(names) == 0 {
		return nil
	}
	var warnings field.ErrorList
	if !c.autoscaling {
		warnings = append(warnings, invalid(RuleWorkersToDelete, path, len(names), "is meant for the autoscaler, which is off; the Pods are deleted and made anew unless replicas shrinks too"))
	}
	seen := make(map[string]bool, len(names))
	for i, name := range names {
		if seen[name] {
			warnings = append(warnings, duplicate(RuleWorkersToDelete, path.Index(i), name, "name each Pod once"))
		}
		seen[name] = true
	}
	return warnings
}

func warnGroupAutoscaling(c *cluster, g *rayv1.WorkerGroupSpec, path *field.Path) field.ErrorList {
	var warnings field.ErrorList
	if !c.autoscaling && g.IdleTimeoutSeconds != nil {
		warnings = append(warnings, invalid("RC-582", path.Child("idleTimeoutSeconds"), *g.IdleTimeoutSeconds, "has no effect while enableInTreeAutoscaling is not true"))
	}
	if !c.autoscaling && g.Priority != nil && *g.Priority != 0 {
		warnings = append(warnings, invalid("RC-583", path.Child("priority"), *g.Priority, "has no effect while enableInTreeAutoscaling is not true"))
	}
	if c.autoscaling && !offersResources(g) {
		warnings = append(warnings, required("RC-534", path.Child("template", "spec", "containers").Index(0).Child("resources"),
			"the autoscaler cannot tell what a worker offers; set a CPU limit, resources or num-cpus"))
	}
	return warnings
}

// warnGroupSuspend tells users that a field belongs to the deletion policies of RayJob.
func warnGroupSuspend(c *cluster, path *field.Path) field.ErrorList {
	if c.meta.Labels[rayv1.LabelOriginatedFromCRD] == "RayJob" {
		return nil
	}
	var warnings field.ErrorList
	for i := range c.spec.WorkerGroupSpecs {
		if suspend := c.spec.WorkerGroupSpecs[i].Suspend; suspend != nil {
			warnings = append(warnings, invalid("RC-576", path.Index(i).Child("suspend"), *suspend, "is set by RayJob's deletion policies; use minReplicas and maxReplicas to empty a group"))
		}
	}
	return warnings
}
