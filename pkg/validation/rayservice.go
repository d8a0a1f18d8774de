package validation

import (
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

var serviceNameRules = nameRules{
	tooLong: "RS-010", malformed: "RS-011", maxLength: 47,
	why: "so that the names of its RayClusters stay within 53",
}

var serviceRules = &kindRules[rayv1.RayService]{
	meta:        func(rs *rayv1.RayService) *metav1.ObjectMeta { return &rs.ObjectMeta },
	spec:        func(rs *rayv1.RayService) any { return &rs.Spec },
	roots:       ruleRoots{cluster: "spec.rayClusterConfig"},
	problems:    serviceErrors,
	advice:      serviceWarnings,
	status:      RayServiceStatus,
	transitions: serviceTransitions,
	changes:     serviceChanges,
	unused:      serviceUnused,
	object:      func(rs *rayv1.RayService) Object { return rs },
}

// RayService returns every error of a RayService that is being created, with its schema defaults. A nil object counts as
// one without a spec.
func RayService(rs *rayv1.RayService, o Options) field.ErrorList {
	return serviceRules.create(rs, o).Errors
}

// RayServiceWarningList returns what works in a RayService but may surprise its author.
func RayServiceWarningList(rs *rayv1.RayService, o Options) field.ErrorList {
	return serviceRules.create(rs, o).Warnings
}

// RayServiceUpdate is RayClusterUpdate for a RayService.
func RayServiceUpdate(rs, old *rayv1.RayService, o Options) field.ErrorList {
	return serviceRules.update(rs, old, o).Errors
}

// RayServiceUpdateWarningList is RayClusterUpdateWarningList for a RayService.
func RayServiceUpdateWarningList(rs, old *rayv1.RayService, o Options) field.ErrorList {
	return serviceRules.update(rs, old, o).Warnings
}

// RayServiceStatus returns the errors in the status alone. No rule is about the status of a RayService.
func RayServiceStatus(*rayv1.RayService, Options) field.ErrorList { return nil }

// serviceUnused leaves out the template of the serve Service where each cluster has one of its own.
func serviceUnused(rs *rayv1.RayService, o Options) []string {
	unused := groupsWithoutPods(&rs.Spec.RayClusterSpec, "spec.rayClusterConfig")
	if s := newService(rs, o); s.incremental() && o.enabled(GateIncrementalUpgrade) {
		unused = append(unused, "spec.serveService")
	}
	return unused
}

// service is one RayService under test.
type service struct {
	*rayv1.RayService
	cluster *cluster
	path    *field.Path
	// clusterPath is where the cluster is described.
	clusterPath *field.Path
}

func newService(rs *rayv1.RayService, o Options) *service {
	path := field.NewPath("spec")
	s := &service{RayService: rs, cluster: newCluster(&rs.Spec.RayClusterSpec, &rs.ObjectMeta, o), path: path, clusterPath: path.Child("rayClusterConfig")}
	s.cluster.within = "RayService"
	s.cluster.nameLength += addedByOwner
	return s
}

// upgradeType is empty when the operator decides.
func (s *service) upgradeType() rayv1.RayServiceUpgradeType {
	if u := s.Spec.UpgradeStrategy; u != nil && u.Type != nil {
		return *u.Type
	}
	return ""
}

func (s *service) incremental() bool {
	return s.upgradeType() == rayv1.RayServiceNewClusterWithIncrementalUpgrade
}

// overlaps reports whether two clusters run side by side during an upgrade.
func (s *service) overlaps() bool {
	switch s.upgradeType() {
	case rayv1.RayServiceUpgradeNone:
		return false
	case "":
		return !s.cluster.options.NoZeroDowntime
	case rayv1.RayServiceNewClusterWithIncrementalUpgrade:
		return s.cluster.options.enabled(GateIncrementalUpgrade)
	}
	return true
}

func emptyServiceSpec(spec *rayv1.RayServiceSpec) bool {
	return equality.Semantic.DeepEqual(*spec, rayv1.RayServiceSpec{})
}

func serviceErrors(rs *rayv1.RayService, o Options) field.ErrorList {
	meta := field.NewPath("metadata")
	errs := validateObjectName(&rs.ObjectMeta, serviceNameRules)
	errs = append(errs, validateSchedulerLabels(rs.Labels, o, meta.Child("labels"))...)
	errs = append(errs, validateInitializingTimeout(rs.Annotations, meta.Child("annotations"))...)
	if emptyServiceSpec(&rs.Spec) {
		return append(errs, required("RS-581", field.NewPath("spec"), "describe the service: at least rayClusterConfig and serveConfigV2"))
	}
	s := newService(rs, o)
	errs = append(errs, validateOwnedCluster(s.cluster, ownedRules{k8sToken: "RS-013", upgrade: "RS-530", dashboard: "RS-535"}, s.clusterPath)...)
	if svc := rs.Spec.RayClusterSpec.HeadGroupSpec.HeadService; svc != nil && svc.Name != "" {
		errs = append(errs, invalid("RS-015", s.clusterPath.Child("headGroupSpec", "headService", "metadata", "name"), svc.Name,
			"must be empty, since each cluster of the service has a head Service of its own"))
	}
	errs = append(errs, validateClusterSpec(s.cluster, s.clusterPath)...)
	errs = append(errs, validateServeConfig(rs.Spec.ServeConfigV2, s.path.Child("serveConfigV2"))...)
	errs = append(errs, validateServeService(s)...)
	errs = append(errs, validateServiceUpgrade(s)...)
	if d := rs.Spec.RayClusterDeletionDelaySeconds; d != nil && *d < 0 {
		errs = append(errs, invalid("RS-002", s.path.Child("rayClusterDeletionDelaySeconds"), *d, "must be at least 0"))
	}
	if m := rs.Spec.ManagedBy; m != nil {
		errs = append(errs, notIn("RS-005", s.path.Child("managedBy"), *m, rayv1.ManagedByKubeRayOperator, rayv1.ManagedByMultiKueue)...)
	}
	return errs
}

// validateInitializingTimeout takes a Go duration or whole seconds.
func validateInitializingTimeout(annotations map[string]string, path *field.Path) field.ErrorList {
	text := annotations[rayv1.AnnotationInitializingTimeout]
	if text == "" {
		return nil
	}
	if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return nil
	}
	if n, err := strconv.Atoi(text); err == nil && n > 0 {
		return nil
	}
	return field.ErrorList{invalid("RS-012", path.Key(rayv1.AnnotationInitializingTimeout), text, "must be a duration above 0, as in 5m, or seconds, as in 300")}
}

// isServePort reports whether the operator takes a port of this name for one of Ray Serve.
func isServePort(name string) bool {
	return name == rayv1.PortServe || strings.HasPrefix(name, rayv1.PortServe+"-")
}

// validateServeService checks the Service that users call.
func validateServeService(s *service) field.ErrorList {
	svc := s.Spec.ServeService
	if svc == nil {
		c := rayContainer(&s.Spec.RayClusterSpec.HeadGroupSpec.Template)
		if c == nil || len(c.Ports) == 0 || slices.ContainsFunc(c.Ports, func(p corev1.ContainerPort) bool { return isServePort(p.Name) }) {
			return nil
		}
		return field.ErrorList{required("RS-512", s.clusterPath.Child("headGroupSpec", "template", "spec", "containers").Index(0).Child("ports"),
			"ports are listed, but none is named serve; add it, with containerPort 8000 usually, or give serveService")}
	}
	path := s.path.Child("serveService")
	var errs field.ErrorList
	if name := svc.Name; name != "" {
		if len(validation.IsDNS1035Label(name)) > 0 {
			errs = append(errs, invalid("RS-515", path.Child("metadata", "name"), name,
				"use at most 63 lower-case letters, digits and dashes, beginning with a letter and not ending with a dash"))
		}
	}
	errs = append(errs, validateServicePorts(svc.Spec.Ports, path.Child("spec"))...)
	if t := svc.Spec.Type; t != "" {
		errs = append(errs, notIn("RS-514", path.Child("spec", "type"), t, serviceTypes...)...)
	}
	return errs
}

// serviceWarnings returns what works but may surprise.
func serviceWarnings(rs *rayv1.RayService, o Options) field.ErrorList {
	if emptyServiceSpec(&rs.Spec) {
		return nil
	}
	s := newService(rs, o)
	warnings := warnMetadata(&rs.ObjectMeta, o, field.NewPath("metadata"))
	warnings = append(warnings, warnServiceCluster(s)...)
	warnings = append(warnings, warnClusterSpec(s.cluster, s.clusterPath)...)
	warnings = append(warnings, warnServeConfig(s, s.path.Child("serveConfigV2"))...)
	warnings = append(warnings, warnServeService(s)...)
	warnings = append(warnings, warnServiceUpgrade(s)...)
	for _, f := range []struct {
		name  string
		value *int32
	}{
		{"serviceUnhealthySecondThreshold", rs.Spec.ServiceUnhealthySecondThreshold},
		{"deploymentUnhealthySecondThreshold", rs.Spec.DeploymentUnhealthySecondThreshold},
	} {
		if f.value != nil {
			warnings = append(warnings, invalid("RS-513", s.path.Child(f.name), *f.value, "is read by nobody; remove it"))
		}
	}
	return append(warnings, warnObjectSize(rs)...)
}

func warnServeService(s *service) field.ErrorList {
	svc := s.Spec.ServeService
	if svc == nil {
		return nil
	}
	path := s.path.Child("serveService", "spec")
	var warnings field.ErrorList
	if name := svc.Name; name == s.Name+"-head-svc" {
		warnings = append(warnings, invalid("RS-515", s.path.Child("serveService", "metadata", "name"), name, "is the name of the head Service; use another"))
	}
	if len(svc.Spec.Ports) > 0 && !slices.ContainsFunc(svc.Spec.Ports, func(p corev1.ServicePort) bool { return isServePort(p.Name) }) {
		warnings = append(warnings, required("RS-514", path.Child("ports"), "none is named serve, and ports of other names are dropped when the head lists a port named serve"))
	}
	if len(svc.Spec.Selector) > 0 {
		warnings = append(warnings, forbidden("RS-514", path.Child("selector"), "is replaced by the operator; remove it"))
	}
	return warnings
}

// longDelay is a day, after which a forgotten cluster costs more than it protects.
const longDelay = 24 * 60 * 60

// warnServiceCluster tells of settings of the cluster that make no sense in a RayService.
func warnServiceCluster(s *service) field.ErrorList {
	spec, path := &s.Spec.RayClusterSpec, s.clusterPath
	var warnings field.ErrorList
	if isTrue(spec.HeadGroupSpec.EnableIngress) {
		warnings = append(warnings, invalid("RS-519", path.Child("headGroupSpec", "enableIngress"), true, "gives each cluster of the service an Ingress of its own, which goes away with it; make an Ingress for the serve Service"))
	}
	if isTrue(spec.Suspend) {
		warnings = append(warnings, invalid("RS-524", path.Child("suspend"), true, "counts only when a cluster is made; use suspend of the service"))
	}
	if m := spec.ManagedBy; m != nil && *m != manager(s.Spec.ManagedBy) {
		warnings = append(warnings, invalid("RS-525", path.Child("managedBy"), *m, "leaves the clusters to another controller than the service; remove it"))
	}
	if s.Spec.ExcludeHeadPodFromServeSvc {
		warnings = append(warnings, warnNoEndpoint(s)...)
	}
	if d := s.Spec.RayClusterDeletionDelaySeconds; d != nil && (*d == 0 || *d > longDelay) {
		why := "cuts open requests when the old cluster goes; leave some seconds"
		if *d != 0 {
			why = "keeps the old cluster for more than a day after each upgrade"
		}
		warnings = append(warnings, invalid("RS-522", s.path.Child("rayClusterDeletionDelaySeconds"), *d, why))
	}
	if f := spec.GcsFaultToleranceOptions; f != nil && s.overlaps() {
		warnings = append(warnings, warnSharedState(s, f, path.Child("gcsFaultToleranceOptions"))...)
	}
	return warnings
}

// warnNoEndpoint tells of a service whose head may not serve and whose workers cannot.
func warnNoEndpoint(s *service) field.ErrorList {
	groups, path := s.Spec.RayClusterSpec.WorkerGroupSpecs, s.clusterPath.Child("workerGroupSpecs")
	workers, ports := false, false
	for i := range groups {
		workers = workers || groups[i].MaxReplicas == nil || *groups[i].MaxReplicas > 0
		c := rayContainer(&groups[i].Template)
		ports = ports || c != nil && slices.ContainsFunc(c.Ports, func(p corev1.ContainerPort) bool { return isServePort(p.Name) })
	}
	if !workers {
		return field.ErrorList{invalid("RS-520", s.path.Child("excludeHeadPodFromServeSvc"), true, "leaves nobody to serve, since no group can have workers")}
	}
	if ports {
		return nil
	}
	var warnings field.ErrorList
	for i := range groups {
		warnings = append(warnings, required("RS-518", path.Index(i).Child("template", "spec", "containers").Index(0).Child("ports"),
			"the head does not serve with excludeHeadPodFromServeSvc, and no group lists a port named serve; add it, with containerPort 8000 usually"))
	}
	return warnings
}

// warnSharedState tells of state that two clusters side by side cannot share, or should not.
func warnSharedState(s *service, f *rayv1.GcsFaultToleranceOptions, path *field.Path) field.ErrorList {
	var warnings field.ErrorList
	if f.ExternalStorageNamespace != "" {
		warnings = append(warnings, invalid("RS-517", path.Child("externalStorageNamespace"), f.ExternalStorageNamespace,
			"is shared by the old and the new cluster during an upgrade; leave it out to give each its own"))
	}
	if !s.cluster.rocksdb {
		return warnings
	}
	claim := s.cluster.options.facts().Claim
	switch own := f.Storage == nil || f.Storage.ClaimName == ""; {
	case own:
		warnings = append(warnings, forbidden("RS-516", path.Child("storage"), "each cluster of the service gets a volume of its own, so that an upgrade starts without the old state"))
	case claim != nil && slices.Equal(claim.AccessModes, []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}):
		warnings = append(warnings, forbidden("RS-516", path.Child("storage"), "the claim can be mounted on one node at a time, so that the new head of an upgrade may not start; use ReadWriteMany"))
	}
	return warnings
}
