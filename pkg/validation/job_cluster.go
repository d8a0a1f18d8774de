package validation

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// validateJobCluster checks where the job runs: on a cluster of its own or on one that exists.
func validateJobCluster(j *job, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	clusterPath, selectorPath := path.Child("rayClusterSpec"), path.Child("clusterSelector")
	if j.cluster == nil && !j.selects {
		errs = append(errs, required("RJ-046", clusterPath, "describe the cluster to make, or name one that exists in clusterSelector"))
	}
	if j.selects {
		if j.spec.ClusterSelector[rayv1.LabelCluster] == "" {
			errs = append(errs, required("RJ-047", selectorPath, "give the name of the RayCluster under the key "+rayv1.LabelCluster))
		} else if j.options.facts().SelectedClusterMissing {
			errs = append(errs, field.NotFound(selectorPath, j.spec.ClusterSelector[rayv1.LabelCluster]).WithOrigin("RJ-062"))
			errs[len(errs)-1].Detail = "make a RayCluster of this name, or name another"
		}
		if j.cluster == nil && j.options.scheduler() == "volcano" {
			errs = append(errs, forbidden("RJ-064", selectorPath, "the batch scheduler volcano, which the operator runs with, needs rayClusterSpec"))
		}
	}
	if j.cluster == nil {
		return errs
	}
	errs = append(errs, validateOwnedCluster(j.cluster, ownedRules{k8sToken: "RJ-054", upgrade: "RJ-530", dashboard: "RJ-535"}, clusterPath)...)
	if j.spec.SubmissionMode == rayv1.SidecarMode {
		errs = append(errs, validateSidecarHead(&j.cluster.spec.HeadGroupSpec.Template, clusterPath.Child("headGroupSpec", "template", "spec"))...)
	}
	return append(errs, validateClusterSpec(j.cluster, clusterPath)...)
}

// ownedRules are the ids of rules for a cluster that belongs to another object, for one kind of owner.
type ownedRules struct{ k8sToken, upgrade, dashboard string }

// validateOwnedCluster refuses what a RayCluster may have, but not one that a RayJob or a RayService makes.
func validateOwnedCluster(c *cluster, ids ownedRules, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if a := c.spec.AuthOptions; a != nil && isTrue(a.EnableK8sTokenAuth) {
		errs = append(errs, invalid(ids.k8sToken, path.Child("authOptions", "enableK8sTokenAuth"), true,
			"is possible for a RayCluster alone; use authOptions.mode token with a secret"))
	}
	if s := c.spec.UpgradeStrategy; s != nil && s.Type != nil {
		errs = append(errs, invalid(ids.upgrade, path.Child("upgradeStrategy", "type"), string(*s.Type), "the cluster belongs to a "+c.within+", which decides about upgrades; remove it"))
	}
	if !findsDashboard(&c.spec.HeadGroupSpec) {
		errs = append(errs, required(ids.dashboard, path.Child("headGroupSpec", "template", "spec", "containers").Index(0).Child("ports"),
			"ports are listed, but none is named dashboard, by which the operator finds Ray; add it, with containerPort 8265 usually"))
	}
	return errs
}

// findsDashboard reports whether the head Service has a port named dashboard, from the container or from headService, by which
// the operator finds Ray.
func findsDashboard(h *rayv1.HeadGroupSpec) bool {
	if h.HeadService != nil && slices.ContainsFunc(h.HeadService.Spec.Ports, func(p corev1.ServicePort) bool { return p.Name == rayv1.PortDashboard }) {
		return true
	}
	container := rayContainer(&h.Template)
	return container == nil || len(container.Ports) == 0 || slices.ContainsFunc(container.Ports, named(rayv1.PortDashboard))
}

func named(name string) func(corev1.ContainerPort) bool {
	return func(p corev1.ContainerPort) bool { return p.Name == name }
}

// validateSidecarHead guards the head Pod that the submitter runs in.
func validateSidecarHead(t *corev1.PodTemplateSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if p := t.Spec.RestartPolicy; p != "" && p != corev1.RestartPolicyNever {
		errs = append(errs, invalid("RJ-053", path.Child("restartPolicy"), string(p), "must be Never or unset in SidecarMode, where the job ends with the head Pod"))
	}
	for i := range t.Spec.Containers {
		if name := t.Spec.Containers[i].Name; name == rayv1.ContainerJobSubmitter {
			errs = append(errs, invalid("RJ-533", path.Child("containers").Index(i).Child("name"), name, "the operator adds a container of this name in SidecarMode; use another name"))
		}
	}
	return errs
}

func warnJobCluster(j *job, path *field.Path) field.ErrorList {
	var warnings field.ErrorList
	clusterPath, selectorPath := path.Child("rayClusterSpec"), path.Child("clusterSelector")
	if j.selects {
		if j.cluster != nil {
			warnings = append(warnings, forbidden("RJ-505", clusterPath, "is ignored, since clusterSelector names a cluster; keep one of the two"))
		}
		for _, key := range slices.Sorted(maps.Keys(j.spec.ClusterSelector)) {
			if key != rayv1.LabelCluster {
				warnings = append(warnings, invalid("RJ-506", selectorPath.Key(key), j.spec.ClusterSelector[key], "is ignored; only "+rayv1.LabelCluster+" is looked at"))
			}
		}
	}
	if j.cluster == nil {
		return warnings
	}
	if m := j.cluster.spec.ManagedBy; m != nil && *m != manager(j.spec.ManagedBy) {
		warnings = append(warnings, invalid("RJ-528", clusterPath.Child("managedBy"), *m, "leaves the cluster of the job to another controller than the job; remove it"))
	}
	if isTrue(j.cluster.spec.Suspend) {
		warnings = append(warnings, invalid("RJ-529", clusterPath.Child("suspend"), true, "makes the job wait for ever; use suspend of the job"))
	}
	return append(warnings, warnClusterSpec(j.cluster, clusterPath)...)
}

// manager is who looks after an object with this managedBy.
func manager(managedBy *string) string {
	if managedBy == nil {
		return rayv1.ManagedByKubeRayOperator
	}
	return *managedBy
}

// maxKueuePodSets is how many kinds of Pods Kueue takes in one workload.
const maxKueuePodSets = 8

// warnKueue tells of settings with which Kueue does not admit the job.
func warnKueue(j *job, path *field.Path) field.ErrorList {
	if j.meta.Labels[labelKueueQueue] == "" || j.spec.ManagedBy != nil || j.selects {
		return nil
	}
	var warnings field.ErrorList
	if !j.spec.ShutdownAfterJobFinishes {
		warnings = append(warnings, invalid("X-502", path.Child("shutdownAfterJobFinishes"), false, "must be true for Kueue, which the label "+labelKueueQueue+" asks for"))
	}
	if j.cluster == nil {
		return warnings
	}
	clusterPath := path.Child("rayClusterSpec")
	if j.cluster.autoscaling {
		warnings = append(warnings, invalid("X-502", clusterPath.Child("enableInTreeAutoscaling"), true, "must not be true for Kueue, which the label "+labelKueueQueue+" asks for"))
	}
	podSets := 1 + len(j.cluster.spec.WorkerGroupSpecs)
	if j.spec.SubmissionMode == rayv1.K8sJobMode {
		podSets++
	}
	if podSets > maxKueuePodSets {
		warnings = append(warnings, field.TooMany(clusterPath.Child("workerGroupSpecs"), podSets, maxKueuePodSets).WithOrigin("X-502"))
		warnings[len(warnings)-1].Detail += ", counting head, groups and submitter, for Kueue, which the label " + labelKueueQueue + " asks for"
	}
	return warnings
}

const labelKueueQueue = "kueue.x-k8s.io/queue-name"
