package cluster

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/pkg/validation/cel"
	"github.com/raygate/raygate/pkg/validation/internal/metadata"
	"github.com/raygate/raygate/pkg/validation/internal/pods"
	"github.com/raygate/raygate/pkg/validation/rule"
)

// maxWorkerGroups is the number of groups that the CRD can check by CEL.
const maxWorkerGroups = 100

// maxMultiHostName leaves room for a dash and five characters in the label of a replica.
const maxMultiHostName = 57

func checkWorkerGroups(out *rule.Report, c *Spec, path *field.Path) {
	groups := c.Spec.WorkerGroupSpecs
	out.When(len(groups) > maxWorkerGroups).Invalid(rc584, path, len(groups), fmt.Sprintf("use at most %d groups", maxWorkerGroups))
	checkGroupNamesUnique(out, groups, path)
	checkTotalPods(out, groups, path)
	for i := range groups {
		g, path := &groups[i], path.Index(i)
		checkGroupName(out, c, g, path.Child("groupName"))
		checkReplicas(out, c, g, path)
		checkWorkersToDelete(out, c, g, path.Child("scaleStrategy", "workersToDelete"))
		checkGroupSuspend(out, c, g, path.Child("suspend"))
		checkGroupAutoscaling(out, c, g, path)
		checkNodeGroup(out, c, workerGroup(g), path)
	}
}

var rc501 = rule.New(rule.Rule{ID: "RC-501", Field: "workerGroupSpecs[i].groupName", Condition: "equal to an earlier group's name", Peer: rule.ByWebhook, Same: []string{"RC-032"},
	Remedy: "is the name of an earlier group too; give each group a name of its own",
	Marker: rule.InSchema})

// checkGroupNamesUnique refuses the second of two groups of one name: they would share their Pods.
func checkGroupNamesUnique(out *rule.Report, groups []rayv1.WorkerGroupSpec, path *field.Path) {
	pods.Repeats(out, pods.Unique{By: rc501, Path: path, Below: "groupName"}, groups, func(g *rayv1.WorkerGroupSpec) string { return g.GroupName })
	first := make(map[string]string, len(groups))
	for i := range groups {
		name, lower := groups[i].GroupName, strings.ToLower(groups[i].GroupName)
		if other, taken := first[lower]; !taken {
			first[lower] = name
		} else if other != name {
			out.Invalid(rc505, path.Index(i).Child("groupName"), name,
				fmt.Sprintf("differs from %q by the case of letters only; the names of their Pods cannot be told apart", other))
		}
	}
}

var rc502 = rule.New(rule.Rule{ID: "RC-502", Field: "workerGroupSpecs[i].groupName", Condition: "not a label value of at most 63 (error), or empty (warning)", Tier: rule.Kubernetes, Mixed: true,
	CEL: []rule.CEL{cel.EachGroup("", cel.IsLabelValue("g.groupName")+" || g.groupName == ''",
		"groupName becomes a label of the Pods: use at most 63 letters, digits, dashes and dots, with a letter or digit at both ends")}})
var rc503 = rule.New(rule.Rule{ID: "RC-503", Field: "workerGroupSpecs[i].groupName", Condition: "has an underscore, or a dot next to a dot or a dash, in the first 50 characters of the names of cluster and group", Tier: rule.Kubernetes,
	Remedy: "becomes part of Pod names, which can have neither underscores nor dots next to dots or dashes; use a dash",
	CEL: []rule.CEL{
		cel.GroupInPodNames(rule.RayCluster, "spec", "1"),
		cel.GroupInPodNames(rule.RayJob, "spec.rayClusterSpec", "7"),
		cel.GroupInPodNames(rule.RayService, "spec.rayClusterConfig", "7"),
		cel.GroupInPodNames(rule.RayCronJob, "spec.jobTemplate.rayClusterSpec", "16"),
	}})
var rc506 = rule.New(rule.Rule{ID: "RC-506", Field: "workerGroupSpecs[i].groupName", Condition: "headgroup or submittergroup"})
var rc564 = rule.New(rule.Rule{ID: "RC-564", Field: "workerGroupSpecs[i].groupName", Condition: "longer than 57 and numOfHosts above 1 (gate RayMultiHostIndexing)", Tier: rule.Kubernetes, Depends: "gate RayMultiHostIndexing", Reads: []string{"../numOfHosts"}})

func checkGroupName(out *rule.Report, c *Spec, g *rayv1.WorkerGroupSpec, path *field.Path) {
	name := g.GroupName
	switch msgs := validation.IsValidLabelValue(name); {
	case len(msgs) > 0:
		out.Invalid(rc502, path, name, "becomes a label of the Pods: "+strings.Join(msgs, "; "))
	case !namesPods(c, name):
		out.Invalid(rc503, path, name)
	}
	out.When(name == "").Maybe().Required(rc502, path, "give the group a name, as in cpu-workers")
	out.When(name != strings.ToLower(name)).Invalid(rc504, path, name)
	switch name {
	case rayv1.HeadGroupName:
		out.Invalid(rc506, path, name, "is the group of the head Pod; choose another name")
	case rayv1.SubmitterGroupName:
		out.Invalid(rc506, path, name, "is the group of the Pod that submits a RayJob; choose another name")
	}
	out.When(g.NumOfHosts > 1 && len(name) > maxMultiHostName && c.Options.Enabled(rule.GateMultiHostIndexing)).Invalid(rc564, path, name,
		fmt.Sprintf("has %d characters, at most %d are possible with numOfHosts above 1", len(name), maxMultiHostName))
}

// podPrefix is the number of characters of the names of cluster and group, with a dash between them, in the name of a Pod.
const podPrefix = 50

// namesPods reports whether the name of the group can be part of Pod names. After a long name of the cluster it is cut off.
func namesPods(c *Spec, group string) bool {
	prefix := strings.Repeat("x", min(max(c.NameLength, 1), podPrefix)) + "-" + strings.ToLower(group)
	return len(validation.IsDNS1123Subdomain(prefix[:min(len(prefix), podPrefix)]+"-worker")) == 0
}

var rc039 = rule.New(rule.Rule{ID: "RC-039", Field: "workerGroupSpecs[i]", Condition: "autoscaling off and minReplicas or maxReplicas absent, for objects without schema defaults", Peer: rule.BySpec})
var rc040 = rule.New(rule.Rule{ID: "RC-040", Field: "workerGroupSpecs[i].minReplicas", Condition: "below 0", Peer: rule.BySpec, Remedy: "must be at least 0", CEL: []rule.CEL{cel.GroupAtLeast0("minReplicas")}})
var rc041 = rule.New(rule.Rule{ID: "RC-041", Field: "workerGroupSpecs[i].maxReplicas", Condition: "below 0", Peer: rule.BySpec, Remedy: "must be at least 0", CEL: []rule.CEL{cel.GroupAtLeast0("maxReplicas")}})
var rc042 = rule.New(rule.Rule{ID: "RC-042", Field: "workerGroupSpecs[i].minReplicas", Condition: "above maxReplicas", Peer: rule.BySpec,
	CEL: []rule.CEL{cel.EachGroup("", "g.minReplicas <= g.maxReplicas || !has(g.minReplicas) || !has(g.maxReplicas)", "minReplicas must not exceed maxReplicas")}})
var rc508 = rule.New(rule.Rule{ID: "RC-508", Field: "workerGroupSpecs[i].replicas", Condition: "below 0", Remedy: "must be at least 0"})

func checkReplicas(out *rule.Report, c *Spec, g *rayv1.WorkerGroupSpec, path *field.Path) {
	minPath, maxPath := path.Child("minReplicas"), path.Child("maxReplicas")
	rule.AtLeast(out, rc508, path.Child("replicas"), g.Replicas, 0)
	out.When(!c.Autoscaling && g.MinReplicas == nil).Required(rc039, minPath, "set it, or let the API server fill in 0")
	out.When(!c.Autoscaling && g.MaxReplicas == nil).Required(rc039, maxPath, "set it, or let the API server fill in 2147483647")
	rule.AtLeast(out, rc040, minPath, g.MinReplicas, 0)
	rule.AtLeast(out, rc041, maxPath, g.MaxReplicas, 0)
	low, high, replicas := bounds(g)
	out.When(low > high).Invalid(rc042, minPath, low, fmt.Sprintf("must not exceed maxReplicas, which is %d", high))
	out.When(g.NumOfHosts < 1).Invalid(rc509, path.Child("numOfHosts"), g.NumOfHosts)
	// Numbers without an effect. Replicas of 0 may be the default of an absent field; users often set minReplicas alone.
	suspended := metadata.IsTrue(g.Suspend)
	out.When(replicas > 0 && !suspended && (replicas < low || replicas > high && high != 0)).Invalid(rc507, path.Child("replicas"), replicas)
	out.When(suspended && low > 0).Invalid(rc522, minPath, low, "has no effect while the group is suspended")
	out.When(replicas > 0 && high == 0).Invalid(rc522, maxPath, high, "keeps the group empty although replicas asks for Pods; raise it")
}

// bounds are the replicas of a group and their bounds, with the defaults of the schema.
func bounds(g *rayv1.WorkerGroupSpec) (low, high, replicas int32) {
	return ptr.Deref(g.MinReplicas, 0), ptr.Deref(g.MaxReplicas, math.MaxInt32), ptr.Deref(g.Replicas, 0)
}

var rc509 = rule.New(rule.Rule{ID: "RC-509", Field: "workerGroupSpecs[i].numOfHosts", Condition: "below 1", Remedy: "must be at least 1, the Pods that make one replica"})

// podsWanted is the number of Pods that the group requests, as the operator computes it.
func podsWanted(g *rayv1.WorkerGroupSpec) int64 {
	if metadata.IsTrue(g.Suspend) {
		return 0
	}
	low, high, replicas := bounds(g)
	return max(int64(max(min(replicas, high), low)), 0) * max(int64(g.NumOfHosts), 1)
}

// GroupsWithoutPods returns the paths of the groups without Pods in a RayClusterSpec at the path. A group that gets Pods is still the group
// that was wrong before.
func GroupsWithoutPods(spec *rayv1.RayClusterSpec, path string) []string {
	var empty []string
	for i := range spec.WorkerGroupSpecs {
		if podsWanted(&spec.WorkerGroupSpecs[i]) == 0 {
			empty = append(empty, path+".workerGroupSpecs["+strconv.Itoa(i)+"]")
		}
	}
	return empty
}

var rc510 = rule.New(rule.Rule{ID: "RC-510", Field: "workerGroupSpecs[i].replicas", Condition: "clamped replicas (or minReplicas) times numOfHosts, or the sum over groups, above 2147483647"})

// checkTotalPods guards the 32-bit sums of the status.
func checkTotalPods(out *rule.Report, groups []rayv1.WorkerGroupSpec, path *field.Path) {
	var total int64
	for i := range groups {
		pods := podsWanted(&groups[i])
		if pods > math.MaxInt32 {
			out.Invalid(rc510, path.Index(i).Child("replicas"), pods, "replicas times numOfHosts must stay below 2147483648")
			continue
		}
		total += pods
	}
	out.When(total > math.MaxInt32).Invalid(rc510, path, total, "all groups together must ask for fewer than 2147483648 Pods")
}

var rc070 = rule.New(rule.Rule{ID: "RC-070", Field: "workerGroupSpecs[i].suspend", Condition: "true and gate RayJobDeletionPolicy off", Peer: rule.BySpec, Depends: "gate RayJobDeletionPolicy"})
var rc072 = rule.New(rule.Rule{ID: "RC-072", Field: "workerGroupSpecs[i].suspend", Condition: "true and autoscaling", Peer: rule.BySpec, Reads: []string{"enableInTreeAutoscaling"},
	Remedy: "a group cannot be suspended while enableInTreeAutoscaling is true; set maxReplicas to 0 instead",
	CEL: []rule.CEL{{Field: ".workerGroupSpecs", Reason: rule.Forbidden, When: cel.Autoscaling, Valid: cel.AllGroups(cel.NotSuspended),
		NoWorse: cel.NoMoreGroups(cel.NotSuspended)}}})

func checkGroupSuspend(out *rule.Report, c *Spec, g *rayv1.WorkerGroupSpec, path *field.Path) {
	suspended := metadata.IsTrue(g.Suspend)
	out.When(suspended && !c.Options.Enabled(rule.GateDeletionPolicy)).Invalid(rc070, path, true, rule.GateDeletionPolicy.Missing())
	out.When(suspended && c.Autoscaling).Invalid(rc072, path, true)
}

var rc047 = rule.New(rule.Rule{ID: "RC-047", Field: "workerGroupSpecs[i].idleTimeoutSeconds", Condition: "below 0", Peer: rule.BySpec, Remedy: "must be at least 0", CEL: []rule.CEL{cel.GroupAtLeast0("idleTimeoutSeconds")}})
var rc048 = rule.New(rule.Rule{ID: "RC-048", Field: "workerGroupSpecs[i].idleTimeoutSeconds", Condition: "set without the autoscaler v2", Peer: rule.BySpec, Reads: []string{"autoscalerOptions.version", "headGroupSpec.template.spec.containers[0].env"},
	Remedy: "needs the autoscaler v2: set autoscalerOptions.version to v2, or use autoscalerOptions.idleTimeoutSeconds for all groups",
	CEL: []rule.CEL{{Field: ".workerGroupSpecs", Reason: rule.Forbidden, Valid: cel.AllGroups(cel.NoIdleTimeout) + " || " + cel.AutoscalerV2,
		NoWorse: cel.NoMoreGroups(cel.NoIdleTimeout)}}})

func checkGroupAutoscaling(out *rule.Report, c *Spec, g *rayv1.WorkerGroupSpec, path *field.Path) {
	rule.AtLeast(out, rc047, path.Child("idleTimeoutSeconds"), g.IdleTimeoutSeconds, 0)
	if idle, path := g.IdleTimeoutSeconds, path.Child("idleTimeoutSeconds"); idle != nil {
		out.When(!c.autoscalerV2).Invalid(rc048, path, *idle)
		out.When(!c.Autoscaling).Invalid(rc582, path, *idle)
	}
	if priority, path := ptr.Deref(g.Priority, 0), path.Child("priority"); priority != 0 {
		out.When(!c.autoscalerV2).Invalid(rc052, path, priority)
		out.When(!c.Autoscaling).Invalid(rc583, path, priority)
	}
	out.When(c.Autoscaling && !offersResources(g)).Required(rc534, path.Child("template", "spec", "containers").Index(0).Child("resources"))
}

var rc052 = rule.New(rule.Rule{ID: "RC-052", Field: "workerGroupSpecs[i].priority", Condition: "other than 0 without the autoscaler v2", Peer: rule.BySpec, Reads: []string{"autoscalerOptions.version", "headGroupSpec.template.spec.containers[0].env"},
	Remedy: "needs the autoscaler v2: set autoscalerOptions.version to v2",
	CEL: []rule.CEL{{Field: ".workerGroupSpecs", Reason: rule.Forbidden, When: cel.Priorities, Valid: cel.AutoscalerV2,
		NoWorse: cel.NoMoreGroups(cel.NoPriority)}}})
var rc584 = rule.New(rule.Rule{ID: "RC-584", Field: "workerGroupSpecs", Condition: "more than 100 groups"})
var rc504 = rule.New(rule.Rule{ID: "RC-504", Field: "workerGroupSpecs[i].groupName", Condition: "has upper-case letters",
	Remedy:   "is lower-cased in Pod names and cannot be used with networkPolicy; prefer lower case",
	Policies: []rule.Policy{{EachGroup: true, Field: ".groupName", Valid: "g.groupName == g.groupName.lowerAscii()"}}})
var rc505 = rule.New(rule.Rule{ID: "RC-505", Field: "workerGroupSpecs[i].groupName", Condition: "equal to another after lower-casing"})
var rc507 = rule.New(rule.Rule{ID: "RC-507", Field: "workerGroupSpecs[i].replicas", Condition: "outside [minReplicas, maxReplicas], group not suspended",
	Remedy: "is moved into the bounds of minReplicas and maxReplicas; change it or them"})
var rc522 = rule.New(rule.Rule{ID: "RC-522", Field: "workerGroupSpecs[i].minReplicas, .maxReplicas", Condition: "minReplicas above 0 while the group is suspended; maxReplicas 0 with replicas above 0"})

var rc511 = rule.New(rule.Rule{ID: "RC-511", Field: "workerGroupSpecs[i].scaleStrategy.workersToDelete", Condition: "not empty with autoscaling off, a repeated name, or one that is no Pod of the group, which the controller sees", Layers: rule.PackageAndController})

func checkWorkersToDelete(out *rule.Report, c *Spec, g *rayv1.WorkerGroupSpec, path *field.Path) {
	names := g.ScaleStrategy.WorkersToDelete
	out.When(len(names) > 0 && !c.Autoscaling).Invalid(rc511, path, len(names), "is meant for the autoscaler, which is off; the Pods are deleted and made anew unless replicas shrinks too")
	pods.Repeats(out, pods.Unique{By: rc511, Path: path, Remedy: "name each Pod once"}, names, func(name *string) string { return *name })
}

var rc534 = rule.New(rule.Rule{ID: "RC-534", Field: "workerGroupSpecs[i].template.spec.containers[0].resources", Condition: "autoscaling on and no CPU limit or request and no rayStartParams or resources for CPU, GPU or custom",
	Remedy: "the autoscaler cannot tell what a worker offers; set a CPU limit, resources or num-cpus"})
var rc582 = rule.New(rule.Rule{ID: "RC-582", Field: "workerGroupSpecs[i].idleTimeoutSeconds", Condition: "set while autoscaling is off", Remedy: "has no effect while enableInTreeAutoscaling is not true",
	Policies: []rule.Policy{{EachGroup: true, Field: ".idleTimeoutSeconds", Valid: "!has(g.idleTimeoutSeconds) || " + cel.ClusterScales}}})
var rc583 = rule.New(rule.Rule{ID: "RC-583", Field: "workerGroupSpecs[i].priority", Condition: "non-zero while autoscaling is off", Remedy: "has no effect while enableInTreeAutoscaling is not true",
	Policies: []rule.Policy{{EachGroup: true, Field: ".priority", Valid: "!has(g.priority) || g.priority == 0 || " + cel.ClusterScales}}})
var rc576 = rule.New(rule.Rule{ID: "RC-576", Kind: "RayCluster", Field: "spec.workerGroupSpecs[i].suspend", Condition: "set by a user on an object not owned by a RayJob",
	Remedy: "is set by RayJob's deletion policies; use minReplicas and maxReplicas to empty a group"})

// checkOwnSuspend reports a suspend field that a user set: it belongs to the deletion policies of RayJob.
func checkOwnSuspend(out *rule.Report, c *Spec, path *field.Path) {
	byJob := c.meta.Labels[rayv1.LabelOriginatedFromCRD] == "RayJob"
	for i, g := range c.Spec.WorkerGroupSpecs {
		out.When(!byJob && g.Suspend != nil).Invalid(rc576, path.Index(i).Child("suspend"), metadata.IsTrue(g.Suspend))
	}
}
