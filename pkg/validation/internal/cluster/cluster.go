// Package cluster holds the rules on a RayClusterSpec, wherever one stands, and on RayClusters.
package cluster

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/pkg/validation/internal/metadata"
	"github.com/raygate/raygate/pkg/validation/rule"
)

// Spec is one RayClusterSpec under test, with what rules ask about it more than once.
type Spec struct {
	Spec *rayv1.RayClusterSpec
	// meta is of the object that carries the spec: the RayCluster, or the RayJob or RayService around it. Never nil.
	meta    *metav1.ObjectMeta
	Options rule.Options

	Autoscaling bool
	// autoscalerV2 says that version v2 is asked for, by option or by env, whether or not the autoscaler is on.
	autoscalerV2 bool
	ftOptions    bool
	Rocksdb      bool
	tokenAuth    bool
	tls          bool

	// NameLength is how long the name of the cluster is going to be.
	NameLength int

	// Within is the kind of the object around, RayJob or RayService. Empty for a RayCluster.
	Within string
	// SidecarSubmitter says that the operator adds the submitter of a RayJob to the head Pod.
	SidecarSubmitter bool
}

// New reads a spec. The metadata are those of the object around; nil stands for none.
func New(spec *rayv1.RayClusterSpec, meta *metav1.ObjectMeta, o rule.Options) *Spec {
	if meta == nil {
		meta = &metav1.ObjectMeta{}
	}
	c := &Spec{Spec: spec, meta: meta, Options: o, NameLength: metadata.NameLength(meta)}
	head := RayContainer(&spec.HeadGroupSpec.Template)
	c.Autoscaling = metadata.IsTrue(spec.EnableInTreeAutoscaling)
	c.autoscalerV2 = c.versionOption() == rayv1.AutoscalerVersionV2 || wantsAutoscalerV2(head)
	c.ftOptions = spec.GcsFaultToleranceOptions != nil
	c.Rocksdb = c.ftOptions && spec.GcsFaultToleranceOptions.Backend == rayv1.GcsFTBackendRocksDB
	c.tokenAuth = spec.AuthOptions != nil && spec.AuthOptions.Mode == rayv1.AuthModeToken
	c.tls = spec.TLSOptions != nil && metadata.IsTrue(spec.TLSOptions.Enabled)
	return c
}

// Lengths of what names of children add to those of their owners: a dash and five characters on the cluster of a RayJob or a
// RayService; a dash and the minutes since 1970 on the RayJob of a RayCronJob.
const (
	AddedByOwner   = 6
	AddedByCronJob = 9
)

// versionOption is autoscalerOptions.version, or empty.
func (c *Spec) versionOption() rayv1.AutoscalerVersion {
	if c.Spec.AutoscalerOptions == nil {
		return ""
	}
	return ptr.Deref(c.Spec.AutoscalerOptions.Version, "")
}

// CheckSpec looks at a RayClusterSpec wherever it stands: at spec of a RayCluster, or inside a RayJob, a
// RayService or a RayCronJob. Rules that only hold for an object of kind RayCluster are not here.
func CheckSpec(out *rule.Report, c *Spec, path *field.Path) {
	checkHeadGroup(out, c, path.Child("headGroupSpec"))
	checkWorkerGroups(out, c, path.Child("workerGroupSpecs"))
	checkAutoscaler(out, c, path)
	checkRayVersion(out, c, path)
	checkGCSFaultTolerance(out, c, path)
	checkAuth(out, c, path)
	checkHistoryServer(out, c, path)
	checkNetworkPolicy(out, c, path)
	checkTLS(out, c, path)
	checkManagedBy(out, c, path.Child("managedBy"))
	checkUpgradeType(out, c, path.Child("upgradeStrategy"))
	checkHostNetwork(out, c, path)
	checkFacts(out, c, path)
}

// RayContainer is the first container of the template, which is Ray by definition, or nil.
func RayContainer(t *corev1.PodTemplateSpec) *corev1.Container {
	if len(t.Spec.Containers) == 0 {
		return nil
	}
	return &t.Spec.Containers[0]
}

// hasEnv reports whether the container sets the variable to one of the values, or, without values, to any. It does not look into envFrom.
func hasEnv(c *corev1.Container, name string, values ...string) bool {
	return c != nil && slices.ContainsFunc(c.Env, func(e corev1.EnvVar) bool {
		return e.Name == name && (len(values) == 0 || slices.Contains(values, e.Value))
	})
}
