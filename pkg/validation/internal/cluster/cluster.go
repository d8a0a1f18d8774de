// Package cluster has the rules on a RayClusterSpec, in any kind of object, and on RayClusters.
package cluster

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/pkg/validation/cel"
	"github.com/raygate/raygate/pkg/validation/internal/metadata"
	"github.com/raygate/raygate/pkg/validation/rule"
)

// Spec is one RayClusterSpec under validation, with values that several rules need.
type Spec struct {
	Spec *rayv1.RayClusterSpec
	// meta is of the object that carries the spec: the RayCluster, or the RayJob or RayService around it. Never nil.
	meta    *metav1.ObjectMeta
	Options rule.Options

	Autoscaling bool
	// autoscalerV2 means that version v2 is selected, by option or by env, whether or not the autoscaler is on.
	autoscalerV2 bool
	ftOptions    bool
	Rocksdb      bool
	tokenAuth    bool
	tls          bool

	// NameLength is how long the name of the cluster is going to be.
	NameLength int

	// Within is the kind of the object around, RayJob or RayService. Empty for a RayCluster.
	Within string
	// SidecarSubmitter means that the operator adds the submitter of a RayJob to the head Pod.
	SidecarSubmitter bool
}

// New reads a spec. meta is the metadata of the object that contains it; nil means none.
func New(spec *rayv1.RayClusterSpec, meta *metav1.ObjectMeta, o rule.Options) *Spec {
	meta = cmp.Or(meta, &metav1.ObjectMeta{})
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

// Lengths that the names of children add to those of their owners. The cluster of a RayJob or a RayService adds a dash and five characters.
// The RayJob of a RayCronJob adds a dash and the minutes since 1970.
const (
	AddedByOwner   = 6
	AddedByCronJob = 9
)

// versionOption is autoscalerOptions.version, or empty.
func (c *Spec) versionOption() rayv1.AutoscalerVersion {
	return ptr.Deref(ptr.Deref(c.Spec.AutoscalerOptions, rayv1.AutoscalerOptions{}).Version, "")
}

// CheckSpec checks a RayClusterSpec in any place: the spec of a RayCluster, or inside a RayJob, a RayService or a RayCronJob. Rules only
// for objects of kind RayCluster are not here.
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
	rc022.CheckGiven(out, path.Child("managedBy"), c.Spec.ManagedBy)
	if s := c.Spec.UpgradeStrategy; s != nil {
		rc015.CheckGiven(out, path.Child("upgradeStrategy", "type"), s.Type)
	}
	checkHostNetwork(out, c, path)
	checkFacts(out, c, path)
}

// RayContainer is the first container of the template, which is Ray by definition, or nil. A nil template has none.
func RayContainer(t *corev1.PodTemplateSpec) *corev1.Container {
	if t == nil || len(t.Spec.Containers) == 0 {
		return nil
	}
	return &t.Spec.Containers[0]
}

// hasEnv reports whether the container sets the variable to one of the values, or, without values, to any. It ignores envFrom.
func hasEnv(c *corev1.Container, name string, values ...string) bool {
	return c != nil && slices.ContainsFunc(c.Env, func(e corev1.EnvVar) bool {
		return e.Name == name && (len(values) == 0 || slices.Contains(values, e.Value))
	})
}

var rc581 = rule.New(rule.Rule{ID: "RC-581", Kind: "RayCluster", Field: "spec", Condition: "absent", Peer: rule.BySpec, Remedy: "describe the cluster: at least headGroupSpec with a Pod template",
	CEL: cel.SpecIsThere})
var clusterRules = metadata.ObjectRules{Names: clusterNames, Absent: rc581}

// Check checks a single RayCluster, including its status.
func Check(out *rule.Report, rc *rayv1.RayCluster, o rule.Options) {
	path, missing := field.NewPath("spec"), equality.Semantic.DeepEqual(rc.Spec, rayv1.RayClusterSpec{})
	if !clusterRules.Check(out, rc, &rc.ObjectMeta, missing, o) {
		return
	}
	c := New(&rc.Spec, &rc.ObjectMeta, o)
	checkClippedNames(out, c, field.NewPath("metadata", "name"))
	CheckSpec(out, c, path)
	checkUpgradeOwner(out, rc117, c, rc.Labels[rayv1.LabelOriginatedFromCRD], path.Child("upgradeStrategy", "type"))
	checkRollingUpdate(out, rc)
	checkOwnSuspend(out, c, path.Child("workerGroupSpecs"))
	CheckKueue(out, c, path, 0)
	CheckStatus(out, rc)
}

var rc120 = rule.New(rule.Rule{ID: "RC-120", Kind: "RayCluster", Field: "status.conditions", Condition: "RayClusterSuspending and RayClusterSuspended both True", Peer: rule.BySpec,
	Remedy: "RayClusterSuspending and RayClusterSuspended cannot both be True; the operator sets them, one after the other",
	CEL:    []rule.CEL{{Node: "status.conditions", Valid: "!(self.exists(c, c.type == 'RayClusterSuspending' && c.status == 'True') && self.exists(c, c.type == 'RayClusterSuspended' && c.status == 'True'))"}}})

// CheckStatus guards the state machine of suspending: of its two conditions one at most is true.
func CheckStatus(out *rule.Report, rc *rayv1.RayCluster) {
	conditions, path := rc.Status.Conditions, field.NewPath("status", "conditions")
	suspended := slices.IndexFunc(conditions, func(c metav1.Condition) bool {
		return c.Type == string(rayv1.RayClusterSuspended) && c.Status == metav1.ConditionTrue
	})
	both := suspended >= 0 && meta.IsStatusConditionTrue(conditions, string(rayv1.RayClusterSuspending))
	out.When(both).Invalid(rc120, path.Index(suspended).Child("status"), string(metav1.ConditionTrue))
}

var rc563 = rule.New(rule.Rule{ID: "RC-563", Kind: "RayCluster", Field: "metadata.name", Condition: "51 to 53 characters with autoscaling or token auth; above 37 with enableIngress"})

// checkClippedNames reports names that the operator shortens from the front, so that two clusters may collide.
func checkClippedNames(out *rule.Report, c *Spec, path *field.Path) {
	const plainLimit, ingressLimit = 50, 37
	name := c.meta.Name
	switch {
	case len(name) > ingressLimit && metadata.IsTrue(c.Spec.HeadGroupSpec.EnableIngress):
		out.Invalid(rc563, path, name, fmt.Sprintf(
			"with enableIngress the name of the Ingress is cut from the front and may equal that of another cluster; use at most %d characters", ingressLimit))
	case len(name) > plainLimit && (c.Autoscaling || c.tokenAuth):
		out.Invalid(rc563, path, name, fmt.Sprintf(
			"the names of its ServiceAccount, Role or Secret are cut from the front and may equal those of another cluster; use at most %d characters", plainLimit))
	}
}

var clusterNames = metadata.NewNameRules(metadata.Names{Kind: rule.RayCluster, TooLong: "RC-030", Malformed: "RC-031", LengthBy: rule.ByWebhookAndSpec, FormBy: rule.ByWebhookAndSpec,
	Max: 53, Why: "so that the names of its Services stay within 63"})
