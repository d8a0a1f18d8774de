package service

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/pkg/validation/internal/cluster"
	"github.com/raygate/raygate/pkg/validation/internal/metadata"
	"github.com/raygate/raygate/pkg/validation/rule"
)

var rs016 = rule.NewEnum(rule.Rule{ID: "RS-016", Field: "spec.upgradeStrategy.type", Peer: rule.BySpec, Same: []string{"RS-501"},
	CEL: []rule.CEL{{Node: "spec.upgradeStrategy.type", Ratchet: rule.ByServer, Valid: "self in ['NewCluster', 'NewClusterWithIncrementalUpgrade', 'None']"}}}, rayv1.RayServiceNewCluster, rayv1.RayServiceNewClusterWithIncrementalUpgrade, rayv1.RayServiceUpgradeNone)

func checkServiceUpgrade(out *rule.Report, s *service) {
	u := s.Spec.UpgradeStrategy
	if u == nil {
		return
	}
	path := s.path.Child("upgradeStrategy")
	optionsPath := path.Child("clusterUpgradeOptions")
	rs016.CheckGiven(out, path.Child("type"), u.Type)
	enabled := s.cluster.Options.Enabled(rule.GateIncrementalUpgrade)
	if o := u.ClusterUpgradeOptions; o != nil && (!s.incremental() || !enabled) { // the schema demands them of options that are not used, too
		out.When(o.StepSizePercent == nil).Required(rs003, optionsPath.Child("stepSizePercent"), stepMissing)
		out.When(o.IntervalSeconds == nil).Required(rs003, optionsPath.Child("intervalSeconds"), intervalMissing)
	}
	switch {
	case s.incremental() && enabled:
		checkIncrementalUpgrade(out, s, path)
	case s.incremental():
		out.Invalid(rs511, path.Child("type"), string(*u.Type), "needs the feature gate "+string(rule.GateIncrementalUpgrade)+", without which it means None")
		checkIncrementalUpgrade(out.Maybe(), s, path)
	case u.ClusterUpgradeOptions != nil:
		out.Forbidden(rs510, optionsPath)
	}
	if o := u.ClusterUpgradeOptions; o != nil && s.incremental() {
		const stuck = "0 never moves the upgrade on; use at least 1"
		out.When(ptr.Deref(o.StepSizePercent, 1) == 0).Invalid(rs511, optionsPath.Child("stepSizePercent"), 0, stuck)
		out.When(ptr.Deref(o.MaxSurgePercent, 1) == 0).Invalid(rs511, optionsPath.Child("maxSurgePercent"), 0, stuck)
	}
}

var rs003 = rule.New(rule.Rule{ID: "RS-003", Field: "spec.upgradeStrategy.clusterUpgradeOptions.stepSizePercent, .intervalSeconds, .gatewayClassName", Condition: "absent; of gatewayClassName only the schema can tell", Peer: rule.BySchema,
	Marker: rule.InSchema})

const (
	stepMissing     = "give the share of the traffic to move in one step, from 0 to 100"
	intervalMissing = "give the seconds between two steps"
)

// inSteps is a rule on upgrades in steps. It warns where the gate is off, without which there are none.
func inSteps(id, field, condition, remedy string) *rule.Rule {
	return rule.New(rule.Rule{ID: id, Field: "spec." + field, Condition: "with type NewClusterWithIncrementalUpgrade: " + condition + " (warning with gate RayServiceIncrementalUpgrade off)",
		Peer: rule.BySpec, Mixed: true, Depends: "gate RayServiceIncrementalUpgrade", Reads: []string{"spec.upgradeStrategy.type"}, Remedy: remedy})
}

const upgradeOptions = "upgradeStrategy.clusterUpgradeOptions"

var rs018 = inSteps("RS-018", "rayClusterConfig.enableInTreeAutoscaling", "not true", "must be true with NewClusterWithIncrementalUpgrade, which lets the new cluster grow step by step")
var rs019 = inSteps("RS-019", upgradeOptions, "absent", "is needed with NewClusterWithIncrementalUpgrade: stepSizePercent, intervalSeconds and gatewayClassName")
var rs020 = inSteps("RS-020", upgradeOptions+".maxSurgePercent", "outside 0 to 100", "must be from 0 to 100")
var rs021 = inSteps("RS-021", upgradeOptions+".stepSizePercent", "absent or outside 0 to 100", "must be from 0 to 100")
var rs022 = inSteps("RS-022", upgradeOptions+".stepSizePercent", "above maxSurgePercent", "")
var rs023 = inSteps("RS-023", upgradeOptions+".intervalSeconds", "absent or below 1", "must be above 0")
var rs024 = inSteps("RS-024", upgradeOptions+".gatewayClassName", "empty", "name the GatewayClass that splits the traffic")

// checkIncrementalUpgrade is an error where the operator upgrades in steps, and a warning where its gate is off.
func checkIncrementalUpgrade(out *rule.Report, s *service, path *field.Path) {
	out.When(!s.cluster.Autoscaling).Required(rs018, s.clusterPath.Child("enableInTreeAutoscaling"))
	o := s.Spec.UpgradeStrategy.ClusterUpgradeOptions
	path = path.Child("clusterUpgradeOptions")
	if o == nil {
		out.Required(rs019, path)
		return
	}
	surge, stepPath, intervalPath := ptr.Deref(o.MaxSurgePercent, 100), path.Child("stepSizePercent"), path.Child("intervalSeconds")
	out.When(surge < 0 || surge > 100).Invalid(rs020, path.Child("maxSurgePercent"), surge)
	switch step := o.StepSizePercent; {
	case step == nil:
		out.Required(rs021, stepPath, stepMissing)
	case *step < 0 || *step > 100:
		out.Invalid(rs021, stepPath, *step)
	case *step > surge:
		out.Invalid(rs022, stepPath, *step, fmt.Sprintf("must not exceed maxSurgePercent, which is %d", surge))
	}
	out.When(o.IntervalSeconds == nil).Required(rs023, intervalPath, intervalMissing)
	rule.AtLeast(out, rs023, intervalPath, o.IntervalSeconds, 1)
	out.When(o.GatewayClassName == "").Required(rs024, path.Child("gatewayClassName"))
}

const (
	noPause  = "is not understood and pauses nothing; use true or false"
	noGRPC   = "is not understood and routes nothing; use true or false"
	noAction = "is not understood, so that a failed upgrade waits; use Abort or Wait"
	noCanary = "is not understood, so that an upgrade in steps moves no traffic; use a whole percentage from 1 to 99, as in 10"
	noBounds = "is not understood, so that a canary waits for its confirmation; use errorRate, p50, p90, p95 or p99 with a bound and minutes, as in errorRate<0.01,p99<500ms,for=5m"
)

var rs538 = rule.New(rule.Rule{ID: "RS-538", Field: "metadata.annotations: upgrade-paused, grpc-route, canary-weight, canary-analysis, upgrade-failure-action", Condition: "not true or false; not a whole number from 1 to 99; not a list of bounds; not Abort or Wait",
	Policies: []rule.Policy{
		metadata.AnnotationPolicy(rayv1.AnnotationUpgradePaused, "matches('^(true|false)$')", noPause),
		metadata.AnnotationPolicy(rayv1.AnnotationGRPCRoute, "matches('^(true|false)$')", noGRPC),
		metadata.AnnotationPolicy(rayv1.AnnotationCanaryWeight, "matches('^[+]?0*[1-9][0-9]?$')", noCanary),
		metadata.AnnotationPolicy(rayv1.AnnotationCanaryAnalysis, "matches('"+rayv1.CanaryAnalysisPattern+"')", noBounds),
		metadata.AnnotationPolicy(rayv1.AnnotationUpgradeFailureAction, "matches('^(Abort|Wait)$')", noAction),
	}})
var rs539 = rule.New(rule.Rule{ID: "RS-539", Field: "metadata.annotations: grpc-route, canary-weight, canary-analysis, canary-confirmed, upgrade-abort",
	Condition: "a route or a weight with another type than NewClusterWithIncrementalUpgrade; a route without a port serve-grpc; an analysis without a weight; not the name of a cluster of the service"})

// checkUpgradeControl reports annotations that do not do what they seem to ask for.
func checkUpgradeControl(out *rule.Report, s *service) {
	path := field.NewPath("metadata", "annotations")
	paused, set := s.Annotations[rayv1.AnnotationUpgradePaused]
	out.When(set && paused != "true" && paused != "false").Invalid(rs538, path.Key(rayv1.AnnotationUpgradePaused), paused, noPause)
	checkGRPCRoute(out, s, path.Key(rayv1.AnnotationGRPCRoute))
	action, set := s.Annotations[rayv1.AnnotationUpgradeFailureAction]
	known := action == string(rayv1.UpgradeFailureAbort) || action == string(rayv1.UpgradeFailureWait)
	out.When(set && !known).Invalid(rs538, path.Key(rayv1.AnnotationUpgradeFailureAction), action, noAction)
	checkCanary(out, s, path)
	for _, key := range []string{rayv1.AnnotationCanaryConfirmed, rayv1.AnnotationUpgradeAbort} {
		name, set := s.Annotations[key]
		out.When(set && s.Name != "" && !strings.HasPrefix(name, s.Name+"-")).Invalid(rs539, path.Key(key), name,
			"names no cluster of this service; use the name in status.pendingServiceStatus.rayClusterName")
	}
}

func checkCanary(out *rule.Report, s *service, path *field.Path) {
	percent, weighed := rayv1.CanaryWeightOf(s.Annotations)
	switch {
	case weighed && percent == 0:
		out.Invalid(rs538, path.Key(rayv1.AnnotationCanaryWeight), s.Annotations[rayv1.AnnotationCanaryWeight], noCanary)
	case weighed && !s.incremental():
		out.Forbidden(rs539, path.Key(rayv1.AnnotationCanaryWeight), onlySteps)
	}
	analysis, set := rayv1.CanaryAnalysisOf(s.Annotations)
	out.When(set && analysis == nil).Invalid(rs538, path.Key(rayv1.AnnotationCanaryAnalysis), s.Annotations[rayv1.AnnotationCanaryAnalysis], noBounds)
	out.When(set && !weighed).Forbidden(rs539, path.Key(rayv1.AnnotationCanaryAnalysis), "has no effect without "+rayv1.AnnotationCanaryWeight)
}

const onlySteps = "has no effect unless upgradeStrategy.type is NewClusterWithIncrementalUpgrade"

func checkGRPCRoute(out *rule.Report, s *service, path *field.Path) {
	ports := func(c corev1.Container) bool {
		return slices.ContainsFunc(c.Ports, func(p corev1.ContainerPort) bool { return p.Name == rayv1.PortServeGRPC })
	}
	switch value, set := s.Annotations[rayv1.AnnotationGRPCRoute]; {
	case !set, value == "false":
	case value != "true":
		out.Invalid(rs538, path, value, noGRPC)
	case !s.incremental():
		out.Forbidden(rs539, path, onlySteps)
	case !slices.ContainsFunc(s.Spec.RayClusterSpec.HeadGroupSpec.Template.Spec.Containers, ports):
		out.Forbidden(rs539, path, "has no effect without a port "+rayv1.PortServeGRPC+" of the head's Ray container")
	}
}

var rs510 = rule.New(rule.Rule{ID: "RS-510", Field: "spec.upgradeStrategy.clusterUpgradeOptions", Condition: "set with another type than NewClusterWithIncrementalUpgrade",
	Remedy: "is ignored unless type is NewClusterWithIncrementalUpgrade; remove it"})
var rs511 = rule.New(rule.Rule{ID: "RS-511", Field: "spec.upgradeStrategy", Condition: "with type NewClusterWithIncrementalUpgrade: gate RayServiceIncrementalUpgrade off, or stepSizePercent or maxSurgePercent 0"})
var rs004 = rule.New(rule.Rule{ID: "RS-004", Field: "spec.managedBy", Condition: "old and new both set and different", Peer: rule.BySchema, Transition: true,
	Marker: rule.InCEL})
var rs027 = rule.New(rule.Rule{ID: "RS-027", Field: "spec.upgradeStrategy.clusterUpgradeOptions", Condition: "removed while an upgrade in steps runs and gate RayServiceIncrementalUpgrade is on", Peer: rule.ByStep, Depends: "gate RayServiceIncrementalUpgrade", Transition: true,
	Remedy: "cannot be removed while an upgrade in steps runs; wait for its end"})

// CheckTransition also reports changes that do not reach the clusters.
func CheckTransition(out *rule.Report, rs, old *rayv1.RayService, o rule.Options) {
	path := field.NewPath("spec")
	clusterPath := path.Child("rayClusterConfig")
	cluster.CheckManagerKept(out, rs004, rs.Spec.ManagedBy, old.Spec.ManagedBy, path.Child("managedBy"))
	out.When(upgrading(old) && hasUpgradeOptions(old) && !hasUpgradeOptions(rs) && newService(old, o).incremental() && o.Enabled(rule.GateIncrementalUpgrade)).Required(rs027, path.Child("upgradeStrategy", "clusterUpgradeOptions"))
	cluster.CheckSpecTransition(out, &rs.Spec.RayClusterSpec, &old.Spec.RayClusterSpec, clusterPath)
	s := newService(rs, o)
	out.When(!s.overlaps() && !equality.Semantic.DeepEqual(hashedCluster(&rs.Spec.RayClusterSpec), hashedCluster(&old.Spec.RayClusterSpec))).Forbidden(rs521, clusterPath)
	out.When(upgrading(old) && !equality.Semantic.DeepEqual(rs.Spec.UpgradeStrategy, old.Spec.UpgradeStrategy)).Forbidden(rs523, path.Child("upgradeStrategy"))
	if n := metadata.IsTrue(rs.Spec.RayClusterSpec.Suspend); n != metadata.IsTrue(old.Spec.RayClusterSpec.Suspend) && !n {
		out.Invalid(rs524, clusterPath.Child("suspend"), n)
	}
	metadata.CheckLostFields(out, rs, old, o)
}

func upgrading(rs *rayv1.RayService) bool {
	return meta.IsStatusConditionTrue(rs.Status.Conditions, rayv1.RayServiceUpgradeInProgress)
}

func hasUpgradeOptions(rs *rayv1.RayService) bool {
	return rs.Spec.UpgradeStrategy != nil && rs.Spec.UpgradeStrategy.ClusterUpgradeOptions != nil
}

var rs521 = rule.New(rule.Rule{ID: "RS-521", Field: "spec.rayClusterConfig", Condition: "changed while upgrades are off", Transition: true,
	Remedy: "has no effect on the cluster that runs, since upgrades are off; set upgradeStrategy.type to NewCluster"})
var rs523 = rule.New(rule.Rule{ID: "RS-523", Field: "spec.upgradeStrategy", Condition: "changed during an upgrade", Transition: true, Remedy: "is changed in the middle of an upgrade; wait for its end"})

// hashedCluster is the part of the spec whose change needs a new cluster. It leaves out what may change in place, like KubeRay's hash.
func hashedCluster(spec *rayv1.RayClusterSpec) rayv1.RayClusterSpec {
	c := cluster.WithGroups(spec, func(g *rayv1.WorkerGroupSpec) {
		g.Replicas, g.MinReplicas, g.MaxReplicas, g.ScaleStrategy = nil, nil, nil, rayv1.ScaleStrategy{}
		g.Template = cluster.HashedTemplate(&g.Template)
	})
	c.Suspend, c.UpgradeStrategy = nil, nil
	c.HeadGroupSpec.Template = cluster.HashedTemplate(&c.HeadGroupSpec.Template)
	return c
}
