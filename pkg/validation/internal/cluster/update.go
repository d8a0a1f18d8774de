package cluster

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/pkg/validation/internal/jsonfield"
	"github.com/raygate/raygate/pkg/validation/internal/metadata"
	"github.com/raygate/raygate/pkg/validation/rule"
)

// CheckTransition checks an update of a RayCluster.
func CheckTransition(out *rule.Report, rc, old *rayv1.RayCluster, o rule.Options) {
	path := field.NewPath("spec")
	CheckSpecTransition(out, &rc.Spec, &old.Spec, path)
	checkStorageChange(out, &rc.Spec, &old.Spec, path.Child("gcsFaultToleranceOptions"))
	checkGroupChanges(out, rc, &old.Spec, path)
	checkGroupsKept(out, rc, old, path.Child("workerGroupSpecs"))
	suspended := meta.IsStatusConditionTrue(old.Status.Conditions, string(rayv1.RayClusterSuspended))
	out.When(suspended && rc.Spec.Suspend == nil && old.Spec.Suspend != nil).Required(rc575, path.Child("suspend"))
	checkSecurityChange(out, &rc.Spec, &old.Spec, path)
	checkOwnedEdit(out, rc, old)
	metadata.CheckLostFields(out, rc, old, o)
}

func recreates(s *rayv1.RayClusterSpec) bool {
	return s.UpgradeStrategy != nil && ptr.Deref(s.UpgradeStrategy.Type, "") == rayv1.RayClusterRecreate
}

var rc546 = rule.New(rule.Rule{ID: "RC-546", Kind: "RayCluster", Field: "spec.gcsFaultToleranceOptions.storage.size, .storageClassName, .accessModes, .claimName, .deletionPolicy", Condition: "changed", Transition: true})
var rc571 = rule.New(rule.Rule{ID: "RC-571", Kind: "RayCluster", Field: "spec.gcsFaultToleranceOptions.externalStorageNamespace", Condition: "changed on a live cluster", Transition: true,
	Remedy: "the metadata under the old name stays behind, and the cluster starts without it; go back to the old name to keep it"})

func checkStorageChange(out *rule.Report, new, old *rayv1.RayClusterSpec, path *field.Path) {
	n, o := new.GcsFaultToleranceOptions, old.GcsFaultToleranceOptions
	if n == nil || o == nil {
		return
	}
	out.When(n.ExternalStorageNamespace != o.ExternalStorageNamespace).Forbidden(rc571, path.Child("externalStorageNamespace"))
	if n.Storage == nil || o.Storage == nil {
		return
	}
	const remedy = "has no effect on a volume claim that exists; make the cluster anew"
	for _, name := range jsonfield.Changed(n.Storage, o.Storage) {
		out.When(name != "subPath").Forbidden(rc546, path.Child("storage", name), remedy)
	}
}

var rc551 = rule.New(rule.Rule{ID: "RC-551", Kind: "RayCluster", Field: "spec: headGroupSpec, workerGroupSpecs[i], enableInTreeAutoscaling, autoscalerOptions, gcsFaultToleranceOptions, historyServerOptions", Condition: "what Pods are made from is changed with upgradeStrategy unset or None, unless annotation raygate.io/upgrade-strategy replaces them", Transition: true,
	Remedy: "Pods that run keep the old template; delete them, or set upgradeStrategy.type to Recreate"})
var rc554 = rule.New(rule.Rule{ID: "RC-554", Kind: "RayCluster", Field: "spec.workerGroupSpecs[i].numOfHosts", Condition: "changed", Transition: true,
	Remedy: "replicas of the old size are deleted and made anew"})

// checkGroupChanges compares groups by name. Every loop is over one of the two lists, with a map for the other.
func checkGroupChanges(out *rule.Report, rc *rayv1.RayCluster, old *rayv1.RayClusterSpec, path *field.Path) {
	groups := path.Child("workerGroupSpecs")
	before := make(map[string]*rayv1.WorkerGroupSpec, len(old.WorkerGroupSpecs))
	for i := range old.WorkerGroupSpecs {
		before[old.WorkerGroupSpecs[i].GroupName] = &old.WorkerGroupSpecs[i]
	}
	rolls := rc.RollingUpdate() != nil
	if !recreates(&rc.Spec) {
		tolerant := rc.Spec.GcsFaultToleranceOptions != nil || strings.EqualFold(rc.Annotations[rayv1.AnnotationFTEnabled], "true")
		checkHeadChange(out, &rc.Spec, old, rolls && tolerant, path)
	}
	for i := range rc.Spec.WorkerGroupSpecs {
		g := &rc.Spec.WorkerGroupSpecs[i]
		was := before[g.GroupName]
		if was == nil {
			continue
		}
		out.When(!recreates(&rc.Spec) && !rolls && podsDiffer(workerGroup(g), workerGroup(was))).Forbidden(rc551, groups.Index(i))
		out.When(g.NumOfHosts != was.NumOfHosts).Invalid(rc554, groups.Index(i).Child("numOfHosts"), g.NumOfHosts)
	}
	if recreates(&rc.Spec) {
		checkGroupOrder(out, rc.Spec.WorkerGroupSpecs, old.WorkerGroupSpecs, groups)
	}
}

var rc552 = rule.New(rule.Rule{ID: "RC-552", Kind: "RayCluster", Field: "spec.workerGroupSpecs", Condition: "a group of the old object is missing, strategy not Recreate, cluster not of a RayService (error where the operator runs with --webhook-refuse-group-removal)", OptIn: true, Transition: true,
	Remedy: "is removed while its Pods may still run; set its replicas, minReplicas and maxReplicas to 0 first"})

// checkGroupsKept reports removed groups, whose Pods stay behind. It is an error if the operator is configured so, and otherwise a warning.
// Recreate deletes all Pods in any case, and a RayService makes a new cluster for other groups.
func checkGroupsKept(out *rule.Report, rc, old *rayv1.RayCluster, path *field.Path) {
	if recreates(&rc.Spec) || rc.Labels[rayv1.LabelOriginatedFromCRD] == "RayService" {
		return
	}
	kept := make(map[string]bool, len(rc.Spec.WorkerGroupSpecs))
	for i := range rc.Spec.WorkerGroupSpecs {
		kept[rc.Spec.WorkerGroupSpecs[i].GroupName] = true
	}
	for i := range old.Spec.WorkerGroupSpecs {
		name := old.Spec.WorkerGroupSpecs[i].GroupName
		out.When(!kept[name]).Invalid(rc552, path, name)
	}
}

// checkHeadChange reports changes to the settings that the head Pod is made from. A head that is replaced must keep its store.
func checkHeadChange(out *rule.Report, new, old *rayv1.RayClusterSpec, replaced bool, path *field.Path) {
	differ := func(name string, a, b any) {
		out.When(!equality.Semantic.DeepEqual(a, b)).Forbidden(rc551, path.Child(name))
	}
	differ("gcsFaultToleranceOptions", gcsConnection(new), gcsConnection(old))
	if replaced {
		return
	}
	scales := metadata.IsTrue(new.EnableInTreeAutoscaling)
	out.When(podsDiffer(headGroup(&new.HeadGroupSpec), headGroup(&old.HeadGroupSpec))).Forbidden(rc551, path.Child("headGroupSpec"))
	differ("enableInTreeAutoscaling", scales, metadata.IsTrue(old.EnableInTreeAutoscaling))
	if scales {
		differ("autoscalerOptions", autoscalerContainer(new), autoscalerContainer(old))
	}
	differ("historyServerOptions", new.HistoryServerOptions, old.HistoryServerOptions)
}

// autoscalerContainer leaves out the options that the autoscaler reads from the RayCluster while it runs.
func autoscalerContainer(spec *rayv1.RayClusterSpec) rayv1.AutoscalerOptions {
	o := ptr.Deref(spec.AutoscalerOptions, rayv1.AutoscalerOptions{})
	o.IdleTimeoutSeconds, o.UpscalingMode = nil, nil
	return o
}

// gcsConnection leaves out the fields that other rules report.
func gcsConnection(spec *rayv1.RayClusterSpec) *rayv1.GcsFaultToleranceOptions {
	if spec.GcsFaultToleranceOptions == nil {
		return nil
	}
	o := *spec.GcsFaultToleranceOptions
	o.Storage, o.ExternalStorageNamespace = nil, ""
	return &o
}

// podsDiffer compares the inputs of Pods, without those that KubeRay's hash leaves out.
func podsDiffer(a, b nodeGroup) bool {
	return !equality.Semantic.DeepEqual(a.rayStartParams, b.rayStartParams) ||
		!equality.Semantic.DeepEqual(a.resources, b.resources) ||
		!equality.Semantic.DeepEqual(a.labels, b.labels) ||
		!equality.Semantic.DeepEqual(HashedTemplate(a.template), HashedTemplate(b.template))
}

// HashedTemplate is the part of a template that makes Pods differ, as the hash of the peer has it.
func HashedTemplate(t *corev1.PodTemplateSpec) corev1.PodTemplateSpec {
	c := *t
	c.Spec.Tolerations, c.Spec.SchedulingGates = nil, nil
	return c
}

var rc553 = rule.New(rule.Rule{ID: "RC-553", Kind: "RayCluster", Field: "spec.workerGroupSpecs", Condition: "order changed or a group inserted before old ones, with Recreate", Transition: true,
	Remedy: "a change of the order restarts the whole cluster with Recreate; keep the order and add groups at the end"})

// checkGroupOrder reports a changed order of groups. It causes an unintended restart, because the hash for Recreate depends on the order.
func checkGroupOrder(out *rule.Report, new, old []rayv1.WorkerGroupSpec, path *field.Path) {
	for i := range min(len(old), len(new)) {
		if new[i].GroupName != old[i].GroupName {
			out.Invalid(rc553, path.Index(i).Child("groupName"), new[i].GroupName)
			return
		}
	}
}

var rc575 = rule.New(rule.Rule{ID: "RC-575", Kind: "RayCluster", Field: "spec.suspend", Condition: "removed (nil) while Suspended", Transition: true,
	Remedy: "the cluster stays suspended; set false to resume it"})
var rc580 = rule.New(rule.Rule{ID: "RC-580", Kind: "RayCluster", Field: "spec.authOptions.mode, spec.tlsOptions.enabled", Condition: "changed on a live cluster with strategy other than Recreate", Transition: true})

func checkSecurityChange(out *rule.Report, new, old *rayv1.RayClusterSpec, path *field.Path) {
	if recreates(new) {
		return
	}
	const remedy = "old and new Pods cannot talk to each other; set upgradeStrategy.type to Recreate"
	n, o := New(new, nil, rule.Options{}), New(old, nil, rule.Options{})
	out.When(n.tokenAuth != o.tokenAuth).Forbidden(rc580, path.Child("authOptions", "mode"), remedy)
	out.When(n.tls != o.tls).Forbidden(rc580, path.Child("tlsOptions", "enabled"), remedy)
}

var x503 = rule.New(rule.Rule{ID: "X-503", Kind: "RayCluster", Field: "spec", Condition: "edited although a RayJob or a RayService owns the cluster, but for what the autoscaler writes; the webhook does not see the operator's own writes", Transition: true})

// checkOwnedEdit reports an edit of a cluster that a RayJob or a RayService owns: the owner overwrites the edit, or never sees it. Fields
// that the autoscaler writes may be edited. The match conditions of the webhook know the operator by its user name and exclude its
// requests.
func checkOwnedEdit(out *rule.Report, rc, old *rayv1.RayCluster) {
	owner := metav1.GetControllerOf(rc)
	if owner == nil || owner.Kind != "RayJob" && owner.Kind != "RayService" {
		return
	}
	edited := !equality.Semantic.DeepEqual(scalingAside(&rc.Spec), scalingAside(&old.Spec))
	out.When(edited).Forbidden(x503, field.NewPath("spec"), "the cluster belongs to the "+owner.Kind+" "+owner.Name+", which may undo the change; edit that instead")
}

func scalingAside(spec *rayv1.RayClusterSpec) rayv1.RayClusterSpec {
	return WithGroups(spec, func(g *rayv1.WorkerGroupSpec) { g.Replicas, g.ScaleStrategy = nil, rayv1.ScaleStrategy{} })
}

// WithGroups is a copy of the spec with another form of each worker group.
func WithGroups(spec *rayv1.RayClusterSpec, change func(*rayv1.WorkerGroupSpec)) rayv1.RayClusterSpec {
	c := *spec
	c.WorkerGroupSpecs = slices.Clone(c.WorkerGroupSpecs)
	for i := range c.WorkerGroupSpecs {
		change(&c.WorkerGroupSpecs[i])
	}
	return c
}

// CheckSpecTransition has the rules that need the old value. They are never ratcheted.
func CheckSpecTransition(out *rule.Report, new, old *rayv1.RayClusterSpec, path *field.Path) {
	checkClusterManager(out, new.ManagedBy, old.ManagedBy, path.Child("managedBy"))
	if new.GcsFaultToleranceOptions != nil && old.GcsFaultToleranceOptions != nil {
		checkBackendTransition(out, new.GcsFaultToleranceOptions.Backend, old.GcsFaultToleranceOptions.Backend,
			path.Child("gcsFaultToleranceOptions", "backend"))
	}
}

// CheckManagerKept allows managedBy to be added and removed, but not changed.
func CheckManagerKept(out *rule.Report, by *rule.Rule, new, old *string, path *field.Path) {
	if new != nil && old != nil && *new != *old {
		out.Invalid(by, path, *new, "cannot change, since another controller would take over half-way; make the object anew")
	}
}

var rc021 = rule.New(rule.Rule{ID: "RC-021", Field: "managedBy", Condition: "old and new both set and different", Peer: rule.BySchema, Transition: true,
	Marker: rule.InCEL})
var rc550 = rule.New(rule.Rule{ID: "RC-550", Field: "managedBy", Condition: "added or removed, so that another controller takes over", Transition: true})

// checkClusterManager reports a changed managedBy. It reports an added or removed one only if another controller takes over the cluster.
func checkClusterManager(out *rule.Report, new, old *string, path *field.Path) {
	const handed = "hands the cluster to another controller half-way; make the cluster anew instead"
	switch {
	case new != nil && old != nil:
		CheckManagerKept(out, rc021, new, old, path)
	case Manager(new) == Manager(old):
	case new == nil:
		out.Invalid(rc550, path, field.OmitValueType{}, "is removed, which "+handed)
	default:
		out.Invalid(rc550, path, *new, handed)
	}
}

var rc023 = rule.New(rule.Rule{ID: "RC-023", Field: "gcsFaultToleranceOptions.backend", Condition: "old and new both set and different", Peer: rule.BySchema, Transition: true,
	Marker: rule.InCEL})
var rc547 = rule.New(rule.Rule{ID: "RC-547", Field: "gcsFaultToleranceOptions.backend", Condition: "effective backend (empty = redis) changes", Transition: true})

func checkBackendTransition(out *rule.Report, new, old rayv1.GcsFaultToleranceBackend, path *field.Path) {
	const remedy = "cannot change without losing the metadata; make the cluster anew"
	changes := cmp.Or(new, rayv1.GcsFTBackendRedis) != cmp.Or(old, rayv1.GcsFTBackendRedis)
	given := new != "" && old != ""
	out.When(changes && given).Invalid(rc023, path, string(new), remedy)
	out.When(changes && !given).Invalid(rc547, path, string(new), remedy)
}

// Manager is the controller that is responsible for an object with this managedBy.
func Manager(managedBy *string) string {
	return ptr.Deref(managedBy, rayv1.ManagedByKubeRayOperator)
}
