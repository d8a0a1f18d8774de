package gang

import (
	"math"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/names"
	"github.com/raygate/raygate/operator/internal/build/pod"
	"github.com/raygate/raygate/operator/internal/build/resources"
	"github.com/raygate/raygate/operator/internal/podplan"
)

// Kinds of objects that own workloads.
const (
	KindRayCluster = "RayCluster"
	KindRayJob     = "RayJob"
)

// Workload is the unit that a scheduler places together: a RayCluster, or a RayJob with its future cluster.
type Workload struct {
	// Owner is the RayCluster or RayJob. Its labels and annotations contain the user's settings for the scheduler.
	Owner Owner
	// Job is the name of the RayJob that owns the RayCluster; empty for other owners.
	Job string
	// Autoscaling means that the number of workers changes with the load.
	Autoscaling bool
	// Members are the head, then the worker groups in the order of the spec. Empty if there is no cluster.
	Members []Member
	// Submitter is the Pod that submits a RayJob; nil if there is none.
	Submitter *Member
}

// Owner identifies the RayCluster or RayJob.
type Owner struct {
	Kind string
	metav1.ObjectMeta
}

// Member is a set of equal Pods.
type Member struct {
	// Name is headgroup, the name of a worker group, or submittergroup.
	Name string
	// Desired is the current number of Pods, Min the minimum under autoscaling.
	Desired, Min int64
	// Suspended means that the user suspended the group, so that it has no Pods.
	Suspended bool
	// Template is the Pod template without the operator's additions. It must not be modified.
	Template *corev1.PodTemplateSpec
	// Resources are the requests of one Pod as the scheduler counts them, including containers that the operator adds. KubeRay
	// counts only the template, so its gangs reserve too little.
	Resources corev1.ResourceList
}

// ForCluster returns the workload of a RayCluster whose Pods are built with the options o.
func ForCluster(rc *rayv1.RayCluster, o pod.Options) *Workload {
	w := &Workload{
		Owner:       Owner{KindRayCluster, rc.ObjectMeta},
		Autoscaling: rc.Spec.EnableInTreeAutoscaling != nil && *rc.Spec.EnableInTreeAutoscaling,
		Members: []Member{{
			Name: rayv1.HeadGroupName, Desired: 1, Min: 1,
			Template:  &rc.Spec.HeadGroupSpec.Template,
			Resources: resources.OfPod(&pod.Head(rc, o).Spec),
		}},
	}
	if names.CreatorKind(rc) == KindRayJob {
		w.Job = rc.Labels[rayv1.LabelOriginatedFromCRName]
	}
	for i := range rc.Spec.WorkerGroupSpecs {
		g := &rc.Spec.WorkerGroupSpecs[i]
		w.Members = append(w.Members, Member{
			Name: g.GroupName, Desired: podplan.DesiredPods(g), Min: podplan.MinPods(g),
			Suspended: g.Suspend != nil && *g.Suspend,
			Template:  &g.Template,
			Resources: resources.OfPod(&pod.Worker(rc, g, o).Spec),
		})
	}
	return w
}

// ForJob returns the workload of a RayJob: its future cluster and the Kubernetes Job that submits, which is nil in other modes. A
// submitter container in the head is part of the cluster.
func ForJob(j *rayv1.RayJob, rc *rayv1.RayCluster, submitter *batchv1.Job, o pod.Options) *Workload {
	w := ForCluster(rc, o)
	w.Owner, w.Job = Owner{KindRayJob, j.ObjectMeta}, ""
	if submitter != nil {
		w.Submitter = &Member{
			Name: rayv1.SubmitterGroupName, Desired: 1, Min: 1,
			Template: &submitter.Spec.Template, Resources: resources.OfPod(&submitter.Spec.Template.Spec),
		}
	}
	return w
}

// Amount selects how Pods are counted.
type Amount int

const (
	// Desired counts the currently wanted Pods.
	Desired Amount = iota
	// Least counts the Pods that autoscaling cannot remove.
	Least
)

func (m *Member) pods(a Amount) int64 {
	if a == Least {
		return m.Min
	}
	return m.Desired
}

// Pods returns the number of Pods of all members, limited to an int32 like all counts of Pods in the Kubernetes API. It does not
// count the submitter, which does not exist yet when the others are scheduled.
func (w *Workload) Pods(a Amount) int64 {
	var n int64
	for i := range w.Members {
		n = min(n+min(w.Members[i].pods(a), math.MaxInt32), math.MaxInt32)
	}
	return n
}

// Resources returns the total requests of all members and the submitter.
func (w *Workload) Resources(a Amount) corev1.ResourceList {
	sum := corev1.ResourceList{}
	for i := range w.Members {
		if n := w.Members[i].pods(a); n > 0 {
			resources.Add(sum, w.Members[i].Resources, n)
		}
	}
	if w.Submitter != nil {
		resources.Add(sum, w.Submitter.Resources, 1)
	}
	return sum
}

// WantsGang reports whether the user requested gang scheduling. As in KubeRay 1.7, the presence of the label counts, even with the
// value false.
func (w *Workload) WantsGang() bool {
	_, asked := w.Owner.Labels[rayv1.LabelGangSchedulingEnabled]
	return asked
}

// SaysGang reports whether the value of the label is true, ignoring case.
func (w *Workload) SaysGang() bool {
	return strings.EqualFold(w.Owner.Labels[rayv1.LabelGangSchedulingEnabled], "true")
}

// Quantities converts a list of resources to its form in an unstructured object.
func Quantities(list corev1.ResourceList) map[string]any {
	out := make(map[string]any, len(list))
	for name, q := range list {
		out[string(name)] = q.String()
	}
	return out
}

// SetLabel sets a label unless the value is empty.
func SetLabel(labels *map[string]string, key, value string) {
	if value == "" {
		return
	}
	if *labels == nil {
		*labels = map[string]string{}
	}
	(*labels)[key] = value
}
