// Package service has the rules on RayServices.
package service

import (
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/pkg/validation/cel"
	"github.com/raygate/raygate/pkg/validation/internal/cluster"
	"github.com/raygate/raygate/pkg/validation/internal/metadata"
	"github.com/raygate/raygate/pkg/validation/rule"
)

var serviceNames = metadata.NewNameRules(metadata.Names{Kind: rule.RayService, TooLong: "RS-010", Malformed: "RS-011", LengthBy: rule.ByWebhookAndSpec, FormBy: rule.ByWebhookAndSpec,
	Max: 47, Why: "so that the names of its RayClusters stay within 53"})

// Unused returns the paths of unused parts: groups without Pods, and the template of the serve Service if each cluster has its own.
func Unused(rs *rayv1.RayService, o rule.Options) []string {
	unused := cluster.GroupsWithoutPods(&rs.Spec.RayClusterSpec, "spec.rayClusterConfig")
	if s := newService(rs, o); s.incremental() && o.Enabled(rule.GateIncrementalUpgrade) {
		unused = append(unused, "spec.serveService")
	}
	return unused
}

// service is one RayService under test.
type service struct {
	*rayv1.RayService
	cluster *cluster.Spec
	path    *field.Path
	// clusterPath is where the cluster is described.
	clusterPath *field.Path
}

func newService(rs *rayv1.RayService, o rule.Options) *service {
	path := field.NewPath("spec")
	s := &service{RayService: rs, cluster: cluster.New(&rs.Spec.RayClusterSpec, &rs.ObjectMeta, o), path: path, clusterPath: path.Child("rayClusterConfig")}
	s.cluster.Within = "RayService"
	s.cluster.NameLength += cluster.AddedByOwner
	return s
}

// upgradeType is empty when the operator decides.
func (s *service) upgradeType() rayv1.RayServiceUpgradeType {
	return ptr.Deref(ptr.Deref(s.Spec.UpgradeStrategy, rayv1.RayServiceUpgradeStrategy{}).Type, "")
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
		return !s.cluster.Options.NoZeroDowntime
	case rayv1.RayServiceNewClusterWithIncrementalUpgrade:
		return s.cluster.Options.Enabled(rule.GateIncrementalUpgrade)
	}
	return true
}

var rs002 = rule.New(rule.Rule{ID: "RS-002", Field: "spec.rayClusterDeletionDelaySeconds", Condition: "below 0", Peer: rule.BySchemaAndSpec, Same: []string{"RS-017"}, Remedy: "must be at least 0",
	Marker: rule.InSchema})
var rs005 = rule.NewEnum(rule.Rule{ID: "RS-005", Field: "spec.managedBy", Peer: rule.BySchema, Marker: rule.InCEL}, rayv1.ManagedByKubeRayOperator, rayv1.ManagedByMultiKueue)
var rs013 = rule.New(rule.Rule{ID: "RS-013", Field: "spec.rayClusterConfig.authOptions.enableK8sTokenAuth", Condition: "true", Peer: rule.BySpec,
	CEL: []rule.CEL{{Node: "spec.rayClusterConfig.authOptions", Field: ".enableK8sTokenAuth", Valid: "!has(self.enableK8sTokenAuth) || !self.enableK8sTokenAuth",
		Says: cel.TokenAlone}}})
var rs015 = rule.New(rule.Rule{ID: "RS-015", Field: "spec.rayClusterConfig.headGroupSpec.headService.metadata.name", Condition: "not empty", Peer: rule.BySpec,
	Remedy: "must be empty, since each cluster of the service has a head Service of its own",
	CEL:    []rule.CEL{{Node: "spec.rayClusterConfig.headGroupSpec.headService", Field: ".metadata.name", Valid: "!(" + cel.Present("self", "metadata.name") + ") || self.metadata.name == ''"}}})
var rs530 = rule.New(rule.Rule{ID: "RS-530", Field: "spec.rayClusterConfig.upgradeStrategy.type", Condition: "set", Peer: rule.ByStep,
	CEL: []rule.CEL{{Node: "spec.rayClusterConfig.upgradeStrategy", Field: ".type", Reason: rule.Forbidden, Valid: "!has(self.type)",
		Says: "the cluster belongs to a RayService" + cel.OwnerDecides}}})
var rs535 = rule.New(rule.Rule{ID: "RS-535", Field: "spec.rayClusterConfig.headGroupSpec.template.spec.containers[0].ports", Condition: "ports given, none named dashboard there or in headService"})
var rs581 = rule.New(rule.Rule{ID: "RS-581", Field: "spec", Condition: "absent", Peer: rule.BySpec, Remedy: "describe the service: at least rayClusterConfig and serveConfigV2",
	CEL: cel.SpecIsThere})
var serviceRules = metadata.ObjectRules{Names: serviceNames, Absent: rs581}

// Check checks a single RayService.
func Check(out *rule.Report, rs *rayv1.RayService, o rule.Options) {
	checkInitializingTimeout(out, rs.Annotations, field.NewPath("metadata", "annotations"))
	if !serviceRules.Check(out, rs, &rs.ObjectMeta, equality.Semantic.DeepEqual(rs.Spec, rayv1.RayServiceSpec{}), o) {
		return
	}
	s := newService(rs, o)
	cluster.CheckOwnedCluster(out, s.cluster, rs.Spec.ManagedBy, cluster.OwnedRules{K8sToken: rs013, Upgrade: rs530, Dashboard: rs535, Manager: rs525, Suspend: rs524}, s.clusterPath)
	if svc := rs.Spec.RayClusterSpec.HeadGroupSpec.HeadService; svc != nil && svc.Name != "" {
		out.Invalid(rs015, s.clusterPath.Child("headGroupSpec", "headService", "metadata", "name"), svc.Name)
	}
	checkServiceCluster(out, s)
	cluster.CheckSpec(out, s.cluster, s.clusterPath)
	cluster.CheckKueue(out, s.cluster, s.clusterPath, 0)
	checkServeConfig(out, s, s.path.Child("serveConfigV2"))
	checkServeService(out, s)
	checkServiceUpgrade(out, s)
	checkUpgradeControl(out, s)
	rs005.CheckGiven(out, s.path.Child("managedBy"), rs.Spec.ManagedBy)
	service, deployment := rs.Spec.ServiceUnhealthySecondThreshold, rs.Spec.DeploymentUnhealthySecondThreshold
	out.When(service != nil).Invalid(rs513, s.path.Child("serviceUnhealthySecondThreshold"), ptr.Deref(service, 0))
	out.When(deployment != nil).Invalid(rs513, s.path.Child("deploymentUnhealthySecondThreshold"), ptr.Deref(deployment, 0))
}

var rs012 = rule.New(rule.Rule{ID: "RS-012", Field: "metadata.annotations[ray.io/initializing-timeout]", Condition: "neither a duration above 0 nor a whole number above 0", Peer: rule.ByWebhookAndSpec, Same: []string{"RS-536"},
	Remedy: "must be a duration above 0, as in 5m, or seconds, as in 300",
	Policies: []rule.Policy{{Field: "metadata.annotations[ray.io/initializing-timeout]", Valid: "!" + cel.KeyGiven("annotations", cel.AnnotationTimeout) + " || " +
		"(annotations[" + cel.AnnotationTimeout + "].matches('^[+]?[0-9]{1,9}$') && annotations[" + cel.AnnotationTimeout + "].matches('[1-9]')) || " +
		"(annotations[" + cel.AnnotationTimeout + "].matches('^[+]?([0-9]+([.][0-9]*)?(ns|us|ms|s|m|h))+$') && duration(annotations[" + cel.AnnotationTimeout + "]) > duration('0s'))"}}})

// checkInitializingTimeout accepts a Go duration or whole seconds.
func checkInitializingTimeout(out *rule.Report, annotations map[string]string, path *field.Path) {
	text := annotations[rayv1.AnnotationInitializingTimeout]
	duration, noDuration := time.ParseDuration(text)
	seconds, noNumber := strconv.Atoi(text)
	good := text == "" || noDuration == nil && duration > 0 || noNumber == nil && seconds > 0
	out.When(!good).Invalid(rs012, path.Key(rayv1.AnnotationInitializingTimeout), text)
}

// isServePort reports whether the operator treats a port of this name as one of Ray Serve.
func isServePort(name string) bool {
	return name == rayv1.PortServe || strings.HasPrefix(name, rayv1.PortServe+"-")
}

var rs512 = rule.New(rule.Rule{ID: "RS-512", Field: "spec.rayClusterConfig.headGroupSpec.template.spec.containers[0].ports", Condition: "ports given, none named serve or serve-*, and no serveService", Peer: rule.ByStep, Same: []string{"RS-025"}, Reads: []string{"spec.serveService"},
	Remedy: "ports are listed, but none is named serve; add it, with containerPort 8000 usually, or give serveService",
	CEL: []rule.CEL{{Node: "spec", Field: ".rayClusterConfig.headGroupSpec.template.spec.containers", Reason: rule.Required, Valid: "has(self.serveService) || !has(self.rayClusterConfig) || !has(" + cel.HeadOfService + ".spec) || !has(" + cel.HeadOfService + ".spec.containers) || size(" + cel.HeadOfService + ".spec.containers) == 0 || !has(" + cel.HeadOfService + ".spec.containers[0].ports)" +
		" || size(" + cel.HeadOfService + ".spec.containers[0].ports) == 0 || " + cel.HeadOfService + ".spec.containers[0].ports.exists(p, has(p.name) && (p.name == 'serve' || p.name.startsWith('serve-')))"}}})
var rs514 = rule.New(rule.Rule{ID: "RS-514", Field: "spec.serveService.spec", Condition: "type unknown (error); ports without one named serve, or a selector (warning)", Tier: rule.Kubernetes, Mixed: true,
	CEL: []rule.CEL{cel.OfServeService(".spec.type", "self.serveService.spec.type in ['', 'ClusterIP', 'NodePort', 'LoadBalancer', 'ExternalName']",
		`supported values: "ClusterIP", "NodePort", "LoadBalancer", "ExternalName"`)}})
var rs515 = rule.New(rule.Rule{ID: "RS-515", Field: "spec.serveService.metadata.name", Condition: "not a DNS-1035 label (error), or the name of the head Service (warning)", Tier: rule.Kubernetes, Mixed: true,
	CEL: []rule.CEL{cel.OfServeService(".metadata.name", "self.serveService.metadata.name == '' || (self.serveService.metadata.name.size() <= 63 && self.serveService.metadata.name.matches('"+cel.DNS1035Label+"'))",
		"use at most 63 lower-case letters, digits and dashes, beginning with a letter and not ending with a dash")}})

var rs526 = rule.New(rule.Rule{ID: "RS-526", Field: "spec.serveService", Condition: "set with type NewClusterWithIncrementalUpgrade",
	Remedy: "is ignored with NewClusterWithIncrementalUpgrade, where a Gateway leads to the Services of the clusters; remove it"})

// checkServeService checks the Service that users call.
func checkServeService(out *rule.Report, s *service) {
	svc := s.Spec.ServeService
	if svc == nil {
		c := cluster.RayContainer(&s.Spec.RayClusterSpec.HeadGroupSpec.Template)
		if c == nil || len(c.Ports) == 0 || slices.ContainsFunc(c.Ports, func(p corev1.ContainerPort) bool { return isServePort(p.Name) }) {
			return
		}
		out.Required(rs512, s.clusterPath.Child("headGroupSpec", "template", "spec", "containers").Index(0).Child("ports"))
		return
	}
	path := s.path.Child("serveService")
	out.When(s.incremental() && s.cluster.Options.Enabled(rule.GateIncrementalUpgrade)).Forbidden(rs526, path)
	switch name, path := svc.Name, path.Child("metadata", "name"); {
	case name != "" && len(validation.IsDNS1035Label(name)) > 0:
		out.Invalid(rs515, path, name, "use at most 63 lower-case letters, digits and dashes, beginning with a letter and not ending with a dash")
	case name == s.Name+"-head-svc":
		out.Maybe().Invalid(rs515, path, name, "is the name of the head Service; use another")
	}
	cluster.CheckServicePorts(out, svc.Spec.Ports, path.Child("spec", "ports"))
	if t := svc.Spec.Type; t != "" {
		rule.OneOf(out, rs514, path.Child("spec", "type"), t, cluster.ServiceTypes...)
	}
	if len(svc.Spec.Ports) > 0 && !slices.ContainsFunc(svc.Spec.Ports, func(p corev1.ServicePort) bool { return isServePort(p.Name) }) {
		out.Maybe().Required(rs514, path.Child("spec", "ports"), "none is named serve, and ports of other names are dropped when the head lists a port named serve")
	}
	out.When(len(svc.Spec.Selector) > 0).Maybe().Forbidden(rs514, path.Child("spec", "selector"), "is replaced by the operator; remove it")
}

var rs513 = rule.New(rule.Rule{ID: "RS-513", Field: "spec.serviceUnhealthySecondThreshold, .deploymentUnhealthySecondThreshold", Condition: "set", Remedy: "is read by nobody; remove it"})

// longDelay is a day, after which a forgotten cluster costs more than it protects.
const longDelay = 24 * 60 * 60

var rs519 = rule.New(rule.Rule{ID: "RS-519", Field: "spec.rayClusterConfig.headGroupSpec.enableIngress", Condition: "true",
	Remedy: "gives each cluster of the service its own Ingress, which is deleted with it; make an Ingress for the serve Service"})
var rs522 = rule.New(rule.Rule{ID: "RS-522", Field: "spec.rayClusterDeletionDelaySeconds", Condition: "0, or above a day"})
var rs524 = rule.New(rule.Rule{ID: "RS-524", Field: "spec.rayClusterConfig.suspend", Condition: "true, or changed", Remedy: "counts only when a cluster is made; use suspend of the service"})
var rs525 = rule.New(rule.Rule{ID: "RS-525", Field: "spec.rayClusterConfig.managedBy", Condition: "another value than managedBy of the service",
	Remedy: "leaves the clusters to another controller than the service; remove it"})

// checkServiceCluster reports settings of the cluster that make no sense in a RayService.
func checkServiceCluster(out *rule.Report, s *service) {
	spec, path := &s.Spec.RayClusterSpec, s.clusterPath
	out.When(metadata.IsTrue(spec.HeadGroupSpec.EnableIngress)).Invalid(rs519, path.Child("headGroupSpec", "enableIngress"), true)
	if s.Spec.ExcludeHeadPodFromServeSvc {
		checkNoEndpoint(out, s)
	}
	if d, path := s.Spec.RayClusterDeletionDelaySeconds, s.path.Child("rayClusterDeletionDelaySeconds"); d != nil {
		switch {
		case *d < 0:
			out.Invalid(rs002, path, *d)
		case *d == 0:
			out.Invalid(rs522, path, *d, "cuts open requests when the old cluster goes; leave some seconds")
		case *d > longDelay:
			out.Invalid(rs522, path, *d, "keeps the old cluster for more than a day after each upgrade")
		}
	}
	if f := spec.GcsFaultToleranceOptions; f != nil && s.overlaps() {
		checkSharedState(out, s, f, path.Child("gcsFaultToleranceOptions"))
	}
}

var rs518 = rule.New(rule.Rule{ID: "RS-518", Field: "spec.rayClusterConfig.workerGroupSpecs[i].template.spec.containers[0].ports", Condition: "no group has a port named serve, with excludeHeadPodFromServeSvc",
	Remedy: "the head does not serve with excludeHeadPodFromServeSvc, and no group lists a port named serve; add it, with containerPort 8000 usually"})
var rs520 = rule.New(rule.Rule{ID: "RS-520", Field: "spec.excludeHeadPodFromServeSvc", Condition: "true and no group can have workers", Remedy: "leaves nobody to serve, since no group can have workers"})

// checkNoEndpoint reports a service whose head may not serve and whose workers cannot.
func checkNoEndpoint(out *rule.Report, s *service) {
	groups, path := s.Spec.RayClusterSpec.WorkerGroupSpecs, s.clusterPath.Child("workerGroupSpecs")
	workers, ports := false, false
	for i := range groups {
		workers = workers || groups[i].MaxReplicas == nil || *groups[i].MaxReplicas > 0
		c := cluster.RayContainer(&groups[i].Template)
		ports = ports || c != nil && slices.ContainsFunc(c.Ports, func(p corev1.ContainerPort) bool { return isServePort(p.Name) })
	}
	out.When(!workers).Invalid(rs520, s.path.Child("excludeHeadPodFromServeSvc"), true)
	for i := range groups {
		out.When(workers && !ports).Required(rs518, path.Index(i).Child("template", "spec", "containers").Index(0).Child("ports"))
	}
}

var rs516 = rule.New(rule.Rule{ID: "RS-516", Field: "spec.rayClusterConfig.gcsFaultToleranceOptions.storage", Condition: "rocksdb on a claim of the operator, or on one for a single node, when two clusters overlap in an upgrade"})
var rs517 = rule.New(rule.Rule{ID: "RS-517", Field: "spec.rayClusterConfig.gcsFaultToleranceOptions.externalStorageNamespace", Condition: "set when two clusters overlap in an upgrade",
	Remedy: "is shared by the old and the new cluster during an upgrade; leave it out to give each its own"})

// checkSharedState reports state that two clusters side by side cannot, or should not, share.
func checkSharedState(out *rule.Report, s *service, f *rayv1.GcsFaultToleranceOptions, path *field.Path) {
	out.When(f.ExternalStorageNamespace != "").Invalid(rs517, path.Child("externalStorageNamespace"), f.ExternalStorageNamespace)
	if !s.cluster.Rocksdb {
		return
	}
	claim := s.cluster.Options.KnownFacts().Claim
	switch own := f.Storage == nil || f.Storage.ClaimName == ""; {
	case own:
		out.Forbidden(rs516, path.Child("storage"), "each cluster of the service gets a volume of its own, so that an upgrade starts without the old state")
	case claim != nil && slices.Equal(claim.AccessModes, []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}):
		out.Forbidden(rs516, path.Child("storage"), "the claim can be mounted on one node at a time, so that the new head of an upgrade may not start; use ReadWriteMany")
	}
}
