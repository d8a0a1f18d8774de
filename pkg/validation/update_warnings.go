package validation

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/validation/field"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

func clusterChanges(rc, old *rayv1.RayCluster, o Options) field.ErrorList {
	path := field.NewPath("spec")
	warnings := warnStorageChange(&rc.Spec, &old.Spec, path.Child("gcsFaultToleranceOptions"))
	warnings = append(warnings, warnGroupChanges(rc, &old.Spec, path)...)
	if !o.RefuseGroupRemoval {
		warnings = append(warnings, checkGroupsKept(rc, old, path.Child("workerGroupSpecs"))...)
	}
	warnings = append(warnings, warnResume(rc, old, path.Child("suspend"))...)
	warnings = append(warnings, warnSecurityChange(&rc.Spec, &old.Spec, path)...)
	warnings = append(warnings, warnOwnedEdit(rc, old, o)...)
	warnings = append(warnings, warnLostFields(rc, old, o)...)
	return warnings
}

func recreates(s *rayv1.RayClusterSpec) bool {
	return s.UpgradeStrategy != nil && s.UpgradeStrategy.Type != nil && *s.UpgradeStrategy.Type == rayv1.RayClusterRecreate
}

func warnStorageChange(new, old *rayv1.RayClusterSpec, path *field.Path) field.ErrorList {
	n, o := new.GcsFaultToleranceOptions, old.GcsFaultToleranceOptions
	if n == nil || o == nil {
		return nil
	}
	var warnings field.ErrorList
	if n.ExternalStorageNamespace != o.ExternalStorageNamespace {
		warnings = append(warnings, forbidden("RC-571", path.Child("externalStorageNamespace"), "the metadata under the old name stays behind, and the cluster starts without it; go back to the old name to keep it"))
	}
	if n.Storage == nil || o.Storage == nil {
		return warnings
	}
	const remedy = "has no effect on a volume claim that exists; make the cluster anew"
	storage := path.Child("storage")
	for _, f := range []struct {
		name    string
		changed bool
	}{
		{"claimName", n.Storage.ClaimName != o.Storage.ClaimName},
		{"size", !equality.Semantic.DeepEqual(n.Storage.Size, o.Storage.Size)},
		{"storageClassName", !equality.Semantic.DeepEqual(n.Storage.StorageClassName, o.Storage.StorageClassName)},
		{"accessModes", !slices.Equal(n.Storage.AccessModes, o.Storage.AccessModes)},
		{"deletionPolicy", !equality.Semantic.DeepEqual(n.Storage.DeletionPolicy, o.Storage.DeletionPolicy)},
	} {
		if f.changed {
			warnings = append(warnings, forbidden("RC-546", storage.Child(f.name), remedy))
		}
	}
	return warnings
}

// warnGroupChanges compares groups by name. Every loop is over one of the two lists, with a map for the other.
func warnGroupChanges(rc *rayv1.RayCluster, old *rayv1.RayClusterSpec, path *field.Path) field.ErrorList {
	groups := path.Child("workerGroupSpecs")
	before := make(map[string]*rayv1.WorkerGroupSpec, len(old.WorkerGroupSpecs))
	for i := range old.WorkerGroupSpecs {
		before[old.WorkerGroupSpecs[i].GroupName] = &old.WorkerGroupSpecs[i]
	}
	var warnings field.ErrorList
	if !recreates(&rc.Spec) {
		warnings = append(warnings, warnHeadChange(&rc.Spec, old, path)...)
	}
	for i := range rc.Spec.WorkerGroupSpecs {
		g := &rc.Spec.WorkerGroupSpecs[i]
		was := before[g.GroupName]
		if was == nil {
			continue
		}
		if !recreates(&rc.Spec) && podsDiffer(workerGroup(g), workerGroup(was)) {
			warnings = append(warnings, forbidden("RC-551", groups.Index(i), keepsPods))
		}
		if g.NumOfHosts != was.NumOfHosts {
			warnings = append(warnings, invalid("RC-554", groups.Index(i).Child("numOfHosts"), g.NumOfHosts, "replicas of the old size are deleted and made anew"))
		}
	}
	if recreates(&rc.Spec) {
		warnings = append(warnings, warnGroupOrder(rc.Spec.WorkerGroupSpecs, old.WorkerGroupSpecs, groups)...)
	}
	return warnings
}

// checkGroupsKept finds groups that are gone, which leaves their Pods behind. It is an error where the operator is configured so,
// and a warning elsewhere. Recreate deletes all Pods anyway, and a RayService makes a new cluster for other groups.
func checkGroupsKept(rc, old *rayv1.RayCluster, path *field.Path) field.ErrorList {
	if recreates(&rc.Spec) || rc.Labels[rayv1.LabelOriginatedFromCRD] == "RayService" {
		return nil
	}
	kept := make(map[string]bool, len(rc.Spec.WorkerGroupSpecs))
	for i := range rc.Spec.WorkerGroupSpecs {
		kept[rc.Spec.WorkerGroupSpecs[i].GroupName] = true
	}
	var gone field.ErrorList
	for i := range old.Spec.WorkerGroupSpecs {
		if name := old.Spec.WorkerGroupSpecs[i].GroupName; !kept[name] {
			gone = append(gone, invalid("RC-552", path, name, "is removed while its Pods may still run; set its replicas, minReplicas and maxReplicas to 0 first"))
		}
	}
	return gone
}

const keepsPods = "Pods that run keep the old template; delete them, or set upgradeStrategy.type to Recreate"

// warnHeadChange tells of changes of what the head Pod is made from.
func warnHeadChange(new, old *rayv1.RayClusterSpec, path *field.Path) field.ErrorList {
	var warnings field.ErrorList
	for _, f := range []struct {
		name    string
		changed bool
	}{
		{"headGroupSpec", podsDiffer(headGroup(&new.HeadGroupSpec), headGroup(&old.HeadGroupSpec))},
		{"enableInTreeAutoscaling", isTrue(new.EnableInTreeAutoscaling) != isTrue(old.EnableInTreeAutoscaling)},
		{"autoscalerOptions", isTrue(new.EnableInTreeAutoscaling) && !equality.Semantic.DeepEqual(autoscalerContainer(new), autoscalerContainer(old))},
		{"gcsFaultToleranceOptions", !equality.Semantic.DeepEqual(gcsConnection(new), gcsConnection(old))},
		{"historyServerOptions", !equality.Semantic.DeepEqual(new.HistoryServerOptions, old.HistoryServerOptions)},
	} {
		if f.changed {
			warnings = append(warnings, forbidden("RC-551", path.Child(f.name), keepsPods))
		}
	}
	return warnings
}

// autoscalerContainer leaves out what the autoscaler reads from the RayCluster while it runs.
func autoscalerContainer(spec *rayv1.RayClusterSpec) rayv1.AutoscalerOptions {
	if spec.AutoscalerOptions == nil {
		return rayv1.AutoscalerOptions{}
	}
	o := *spec.AutoscalerOptions
	o.IdleTimeoutSeconds, o.UpscalingMode = nil, nil
	return o
}

// gcsConnection leaves out what other rules tell of.
func gcsConnection(spec *rayv1.RayClusterSpec) *rayv1.GcsFaultToleranceOptions {
	if spec.GcsFaultToleranceOptions == nil {
		return nil
	}
	o := *spec.GcsFaultToleranceOptions
	o.Storage, o.ExternalStorageNamespace = nil, ""
	return &o
}

// podsDiffer compares what Pods are made from, without what the hash of the peer leaves out.
func podsDiffer(a, b nodeGroup) bool {
	if !equality.Semantic.DeepEqual(a.rayStartParams, b.rayStartParams) ||
		!equality.Semantic.DeepEqual(a.resources, b.resources) ||
		!equality.Semantic.DeepEqual(a.labels, b.labels) {
		return true
	}
	return !equality.Semantic.DeepEqual(hashedTemplate(a.template), hashedTemplate(b.template))
}

func hashedTemplate(t *corev1.PodTemplateSpec) corev1.PodTemplateSpec {
	c := *t
	c.Spec.Tolerations, c.Spec.SchedulingGates = nil, nil
	return c
}

// warnGroupOrder tells of restarts that nobody asked for: the hash that Recreate compares depends on the order.
func warnGroupOrder(new, old []rayv1.WorkerGroupSpec, path *field.Path) field.ErrorList {
	for i := range old {
		if i >= len(new) {
			return nil
		}
		if new[i].GroupName != old[i].GroupName {
			return field.ErrorList{invalid("RC-553", path.Index(i).Child("groupName"), new[i].GroupName,
				"a change of the order restarts the whole cluster with Recreate; keep the order and add groups at the end")}
		}
	}
	return nil
}

func warnResume(new, old *rayv1.RayCluster, path *field.Path) field.ErrorList {
	if new.Spec.Suspend != nil || old.Spec.Suspend == nil || !meta.IsStatusConditionTrue(old.Status.Conditions, string(rayv1.RayClusterSuspended)) {
		return nil
	}
	return field.ErrorList{required("RC-575", path, "the cluster stays suspended; set false to resume it")}
}

func warnSecurityChange(new, old *rayv1.RayClusterSpec, path *field.Path) field.ErrorList {
	if recreates(new) {
		return nil
	}
	const remedy = "old and new Pods cannot talk to each other; set upgradeStrategy.type to Recreate"
	n, o := newCluster(new, nil, Options{}), newCluster(old, nil, Options{})
	var warnings field.ErrorList
	if n.tokenAuth != o.tokenAuth {
		warnings = append(warnings, forbidden("RC-580", path.Child("authOptions", "mode"), remedy))
	}
	if n.tls != o.tls {
		warnings = append(warnings, forbidden("RC-580", path.Child("tlsOptions", "enabled"), remedy))
	}
	return warnings
}
