package validation

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// cluster is one RayClusterSpec under test, with what rules ask about it more than once.
type cluster struct {
	spec *rayv1.RayClusterSpec
	// meta is of the object that carries the spec: the RayCluster, or the RayJob or RayService around it. Never nil.
	meta    *metav1.ObjectMeta
	options Options

	autoscaling bool
	// autoscalerV2 says that version v2 is asked for, by option or by env, whether or not the autoscaler is on.
	autoscalerV2 bool
	ftOptions    bool
	rocksdb      bool
	tokenAuth    bool
	tls          bool

	// nameLength is how long the name of the cluster is going to be.
	nameLength int

	// within is the kind of the object around, RayJob or RayService. Empty for a RayCluster.
	within string
	// sidecarSubmitter says that the operator adds the submitter of a RayJob to the head Pod.
	sidecarSubmitter bool
}

func newCluster(spec *rayv1.RayClusterSpec, meta *metav1.ObjectMeta, o Options) *cluster {
	if meta == nil {
		meta = &metav1.ObjectMeta{}
	}
	c := &cluster{spec: spec, meta: meta, options: o, nameLength: nameLength(meta)}
	head := rayContainer(&spec.HeadGroupSpec.Template)
	c.autoscaling = isTrue(spec.EnableInTreeAutoscaling)
	c.autoscalerV2 = c.versionOption() == rayv1.AutoscalerVersionV2 || wantsAutoscalerV2(head)
	c.ftOptions = spec.GcsFaultToleranceOptions != nil
	c.rocksdb = c.ftOptions && spec.GcsFaultToleranceOptions.Backend == rayv1.GcsFTBackendRocksDB
	c.tokenAuth = spec.AuthOptions != nil && spec.AuthOptions.Mode == rayv1.AuthModeToken
	c.tls = spec.TLSOptions != nil && isTrue(spec.TLSOptions.Enabled)
	return c
}

// Lengths of what names of children add to those of their owners: a dash and five characters on the cluster of a RayJob or a
// RayService; a dash and the minutes since 1970 on the RayJob of a RayCronJob.
const (
	addedByOwner   = 6
	addedByCronJob = 9
)

// versionOption is autoscalerOptions.version, or empty.
func (c *cluster) versionOption() rayv1.AutoscalerVersion {
	if c.spec.AutoscalerOptions == nil || c.spec.AutoscalerOptions.Version == nil {
		return ""
	}
	return *c.spec.AutoscalerOptions.Version
}

// validateClusterSpec checks a RayClusterSpec wherever it stands: at spec of a RayCluster, or inside a RayJob, a
// RayService or a RayCronJob. Rules that only hold for an object of kind RayCluster are not here.
func validateClusterSpec(c *cluster, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	errs = append(errs, validateHeadGroup(c, path.Child("headGroupSpec"))...)
	errs = append(errs, validateWorkerGroups(c, path.Child("workerGroupSpecs"))...)
	errs = append(errs, validateAutoscaler(c, path)...)
	errs = append(errs, validateGCSFaultTolerance(c, path)...)
	errs = append(errs, validateAuth(c, path)...)
	errs = append(errs, validateHistoryServer(c, path)...)
	errs = append(errs, validateNetworkPolicy(c, path)...)
	errs = append(errs, validateTLS(c, path)...)
	errs = append(errs, validateManagedBy(c, path.Child("managedBy"))...)
	errs = append(errs, validateUpgradeType(c, path.Child("upgradeStrategy"))...)
	errs = append(errs, validateFacts(c, path)...)
	return errs
}

// warnClusterSpec is validateClusterSpec for what works but may surprise.
func warnClusterSpec(c *cluster, path *field.Path) field.ErrorList {
	var warnings field.ErrorList
	warnings = append(warnings, warnHeadGroup(c, path.Child("headGroupSpec"))...)
	warnings = append(warnings, warnWorkerGroups(c, path.Child("workerGroupSpecs"))...)
	warnings = append(warnings, warnRayVersion(c, path)...)
	warnings = append(warnings, warnAutoscaler(c, path)...)
	warnings = append(warnings, warnGCSFaultTolerance(c, path)...)
	warnings = append(warnings, warnAuth(c, path)...)
	warnings = append(warnings, warnNetworkPolicy(c, path)...)
	warnings = append(warnings, warnHostNetwork(c, path)...)
	warnings = append(warnings, warnGates(c, path)...)
	warnings = append(warnings, warnFacts(c, path)...)
	return warnings
}

// warnGates tells of fields that need feature gates of which nobody knows here whether they are on. That of the embedded
// store is reported with its options.
func warnGates(c *cluster, path *field.Path) field.ErrorList {
	var warnings field.ErrorList
	if c.spec.HistoryServerOptions != nil {
		warnings = append(warnings, c.options.mayNeed(GateHistoryServer, forbidden("RC-078", path.Child("historyServerOptions"), GateHistoryServer.missing()))...)
	}
	if c.spec.NetworkPolicy != nil {
		warnings = append(warnings, c.options.mayNeed(GateNetworkPolicy, forbidden("RC-097", path.Child("networkPolicy"), GateNetworkPolicy.missing()))...)
	}
	if c.spec.TLSOptions != nil {
		warnings = append(warnings, c.options.mayNeed(GateMTLS, needsTLS(path.Child("tlsOptions")))...)
	}
	return warnings
}

// rayContainer is the first container of the template, which is Ray by definition, or nil.
func rayContainer(t *corev1.PodTemplateSpec) *corev1.Container {
	if len(t.Spec.Containers) == 0 {
		return nil
	}
	return &t.Spec.Containers[0]
}

// hasEnv reports whether the container sets the variable, to whatever value. It does not look into envFrom.
func hasEnv(c *corev1.Container, name string) bool {
	return c != nil && findEnv(c.Env, name) != nil
}

func findEnv(env []corev1.EnvVar, name string) *corev1.EnvVar {
	for i := range env {
		if env[i].Name == name {
			return &env[i]
		}
	}
	return nil
}

func isTrue(b *bool) bool { return b != nil && *b }

// lowerTrue is how the peer reads most of its annotations.
func lowerTrue(s string) bool { return strings.EqualFold(s, "true") }
