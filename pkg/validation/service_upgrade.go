package validation

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/validation/field"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

func validateServiceUpgrade(s *service) field.ErrorList {
	u := s.Spec.UpgradeStrategy
	if u == nil {
		return nil
	}
	path := s.path.Child("upgradeStrategy")
	var errs field.ErrorList
	if u.Type != nil {
		errs = append(errs, notIn("RS-016", path.Child("type"), *u.Type,
			rayv1.RayServiceNewCluster, rayv1.RayServiceNewClusterWithIncrementalUpgrade, rayv1.RayServiceUpgradeNone)...)
	}
	if s.incremental() && s.cluster.options.enabled(GateIncrementalUpgrade) {
		return append(errs, checkIncrementalUpgrade(s, path)...)
	}
	return append(errs, validateUpgradeOptionsPresent(u.ClusterUpgradeOptions, path.Child("clusterUpgradeOptions"))...)
}

// validateUpgradeOptionsPresent repeats what the schema demands even of options that are not used.
func validateUpgradeOptionsPresent(o *rayv1.ClusterUpgradeOptions, path *field.Path) field.ErrorList {
	if o == nil {
		return nil
	}
	var errs field.ErrorList
	if o.StepSizePercent == nil {
		errs = append(errs, required("RS-003", path.Child("stepSizePercent"), "give the share of the traffic to move in one step, from 0 to 100"))
	}
	if o.IntervalSeconds == nil {
		errs = append(errs, required("RS-003", path.Child("intervalSeconds"), "give the seconds between two steps"))
	}
	return errs
}

// checkIncrementalUpgrade is an error where the operator upgrades in steps, and a warning where its gate is off.
func checkIncrementalUpgrade(s *service, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if !s.cluster.autoscaling {
		errs = append(errs, required("RS-018", s.clusterPath.Child("enableInTreeAutoscaling"), "must be true with NewClusterWithIncrementalUpgrade, which lets the new cluster grow step by step"))
	}
	o := s.Spec.UpgradeStrategy.ClusterUpgradeOptions
	path = path.Child("clusterUpgradeOptions")
	if o == nil {
		return append(errs, required("RS-019", path, "is needed with NewClusterWithIncrementalUpgrade: stepSizePercent, intervalSeconds and gatewayClassName"))
	}
	surge := int32(100)
	if o.MaxSurgePercent != nil {
		surge = *o.MaxSurgePercent
	}
	if surge < 0 || surge > 100 {
		errs = append(errs, invalid("RS-020", path.Child("maxSurgePercent"), surge, "must be from 0 to 100"))
	}
	stepPath := path.Child("stepSizePercent")
	switch step := o.StepSizePercent; {
	case step == nil:
		errs = append(errs, required("RS-021", stepPath, "give the share of the traffic to move in one step, from 0 to 100"))
	case *step < 0 || *step > 100:
		errs = append(errs, invalid("RS-021", stepPath, *step, "must be from 0 to 100"))
	case *step > surge:
		errs = append(errs, invalid("RS-022", stepPath, *step, fmt.Sprintf("must not exceed maxSurgePercent, which is %d", surge)))
	}
	switch interval := o.IntervalSeconds; {
	case interval == nil:
		errs = append(errs, required("RS-023", path.Child("intervalSeconds"), "give the seconds between two steps"))
	case *interval <= 0:
		errs = append(errs, invalid("RS-023", path.Child("intervalSeconds"), *interval, "must be above 0"))
	}
	if o.GatewayClassName == "" {
		errs = append(errs, required("RS-024", path.Child("gatewayClassName"), "name the GatewayClass that splits the traffic"))
	}
	return errs
}

func warnServiceUpgrade(s *service) field.ErrorList {
	u := s.Spec.UpgradeStrategy
	if u == nil {
		return nil
	}
	path := s.path.Child("upgradeStrategy")
	optionsPath := path.Child("clusterUpgradeOptions")
	if !s.incremental() {
		if u.ClusterUpgradeOptions == nil {
			return nil
		}
		return field.ErrorList{forbidden("RS-510", optionsPath, "is ignored unless type is NewClusterWithIncrementalUpgrade; remove it")}
	}
	var warnings field.ErrorList
	if !s.cluster.options.enabled(GateIncrementalUpgrade) {
		warnings = append(warnings, invalid("RS-511", path.Child("type"), string(*u.Type), "needs the feature gate "+string(GateIncrementalUpgrade)+", without which it means None"))
		warnings = append(warnings, checkIncrementalUpgrade(s, path)...)
	}
	if o := u.ClusterUpgradeOptions; o != nil {
		const stuck = "0 never moves the upgrade on; use at least 1"
		if o.StepSizePercent != nil && *o.StepSizePercent == 0 {
			warnings = append(warnings, invalid("RS-511", optionsPath.Child("stepSizePercent"), *o.StepSizePercent, stuck))
		}
		if o.MaxSurgePercent != nil && *o.MaxSurgePercent == 0 {
			warnings = append(warnings, invalid("RS-511", optionsPath.Child("maxSurgePercent"), *o.MaxSurgePercent, stuck))
		}
	}
	return warnings
}

func serviceTransitions(rs, old *rayv1.RayService, o Options) field.ErrorList {
	path := field.NewPath("spec")
	errs := validateManagerKept("RS-004", rs.Spec.ManagedBy, old.Spec.ManagedBy, path.Child("managedBy"))
	if upgrading(old) && hasUpgradeOptions(old) && !hasUpgradeOptions(rs) && newService(old, o).incremental() && o.enabled(GateIncrementalUpgrade) {
		errs = append(errs, required("RS-027", path.Child("upgradeStrategy", "clusterUpgradeOptions"), "cannot be removed while an upgrade in steps runs; wait for its end"))
	}
	return append(errs, validateTransition(&rs.Spec.RayClusterSpec, &old.Spec.RayClusterSpec, path.Child("rayClusterConfig"))...)
}

func upgrading(rs *rayv1.RayService) bool {
	return meta.IsStatusConditionTrue(rs.Status.Conditions, rayv1.RayServiceUpgradeInProgress)
}

func hasUpgradeOptions(rs *rayv1.RayService) bool {
	return rs.Spec.UpgradeStrategy != nil && rs.Spec.UpgradeStrategy.ClusterUpgradeOptions != nil
}

// serviceChanges tells of changes that do not reach the clusters.
func serviceChanges(rs, old *rayv1.RayService, o Options) field.ErrorList {
	path := field.NewPath("spec")
	clusterPath := path.Child("rayClusterConfig")
	var warnings field.ErrorList
	s := newService(rs, o)
	if !s.overlaps() && clusterDiffers(&rs.Spec.RayClusterSpec, &old.Spec.RayClusterSpec) {
		warnings = append(warnings, forbidden("RS-521", clusterPath, "has no effect on the cluster that runs, since upgrades are off; set upgradeStrategy.type to NewCluster"))
	}
	if upgrading(old) && !equality.Semantic.DeepEqual(rs.Spec.UpgradeStrategy, old.Spec.UpgradeStrategy) {
		warnings = append(warnings, forbidden("RS-523", path.Child("upgradeStrategy"), "is changed in the middle of an upgrade; wait for its end"))
	}
	if n := isTrue(rs.Spec.RayClusterSpec.Suspend); n != isTrue(old.Spec.RayClusterSpec.Suspend) && !n {
		warnings = append(warnings, invalid("RS-524", clusterPath.Child("suspend"), n, "counts only when a cluster is made; use suspend of the service"))
	}
	return append(warnings, warnLostFields(rs, old, o)...)
}

// clusterDiffers compares what a new cluster would be made for.
func clusterDiffers(spec, old *rayv1.RayClusterSpec) bool {
	a, b := hashedCluster(spec), hashedCluster(old)
	return !equality.Semantic.DeepEqual(a, b)
}

// hashedCluster leaves out what may change in place, as the hash of the peer does.
func hashedCluster(spec *rayv1.RayClusterSpec) rayv1.RayClusterSpec {
	c := *spec
	c.Suspend, c.UpgradeStrategy = nil, nil
	c.HeadGroupSpec.Template = hashedTemplate(&c.HeadGroupSpec.Template)
	c.WorkerGroupSpecs = make([]rayv1.WorkerGroupSpec, len(spec.WorkerGroupSpecs))
	for i := range spec.WorkerGroupSpecs {
		g := spec.WorkerGroupSpecs[i]
		g.Replicas, g.MinReplicas, g.MaxReplicas, g.ScaleStrategy = nil, nil, nil, rayv1.ScaleStrategy{}
		g.Template = hashedTemplate(&g.Template)
		c.WorkerGroupSpecs[i] = g
	}
	return c
}
