package cluster

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/pkg/validation/rule"
)

const (
	annotationKueueElastic = "kueue.x-k8s.io/elastic-job"
	// kueueHead is the name that Kueue gives the head among the kinds of Pods of a workload.
	kueueHead = "head"
	// maxKueuePodSets is the largest number of kinds of Pods in one workload of Kueue up to 0.17.
	maxKueuePodSets = 8
	// asked ends messages about Kueue.
	asked = "Kueue, which the label " + rayv1.LabelKueueQueue + " asks for"
)

var x502 = rule.New(rule.Rule{ID: "X-502", Kind: rule.KindAny, Field: "metadata.labels[" + rayv1.LabelKueueQueue + "]",
	Condition: "set, with autoscaling but without the annotation kueue.x-k8s.io/elastic-job, with a worker group named head, with more than 8 kinds of Pods, " +
		"or in a RayJob without shutdownAfterJobFinishes"})

// CheckKueue reports settings of the object around a cluster that Kueue 0.15 to 0.17 refuses. Messages name versions, because rules cannot
// know the installed one: these versions serve the same APIs, so discovery does not tell them apart, and reading Kueue's Deployment or CRDs
// needs more rights. submitters is the number of Pods beside those of the cluster. A cluster with an owner is skipped, since its owner was
// checked.
func CheckKueue(out *rule.Report, c *Spec, path *field.Path, submitters int) {
	if !queued(c.meta) {
		return
	}
	since := "0.14"
	if c.Within == "RayJob" {
		since = "0.16"
	}
	out.When(c.Autoscaling && c.meta.Annotations[annotationKueueElastic] != "true").Invalid(x502, path.Child("enableInTreeAutoscaling"), true,
		"needs the annotation "+annotationKueueElastic+`: "true", and version `+since+" or later, with the feature gate ElasticJobsViaWorkloadSlices, of "+asked)
	groups := path.Child("workerGroupSpecs")
	for i := range c.Spec.WorkerGroupSpecs {
		name := c.Spec.WorkerGroupSpecs[i].GroupName
		out.When(name == kueueHead).Invalid(x502, groups.Index(i).Child("groupName"), name,
			"is the name of the head Pod for "+asked+"; give the group another name")
	}
	podSets := 1 + len(c.Spec.WorkerGroupSpecs) + submitters
	out.When(podSets > maxKueuePodSets).TooMany(x502, groups, podSets, maxKueuePodSets, ", counting head, groups and submitter, up to version 0.17 of "+asked)
}

// CheckKueueShutdown reports a RayJob that keeps its cluster, which Kueue refuses.
func CheckKueueShutdown(out *rule.Report, meta *metav1.ObjectMeta, shutdown bool, path *field.Path) {
	out.When(queued(meta) && !shutdown).Invalid(x502, path, false, "must be true for "+asked)
}

func queued(meta *metav1.ObjectMeta) bool {
	return meta.Labels[rayv1.LabelKueueQueue] != "" && metav1.GetControllerOf(meta) == nil
}
