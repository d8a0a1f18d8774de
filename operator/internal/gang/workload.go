package gang

import (
	"math"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

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

// Workload is what a scheduler places together: a RayCluster, or a RayJob with the cluster that it is going to have.
type Workload struct {
	// Owner is the RayCluster or RayJob. What users tell the scheduler stands in its labels and annotations.
	Owner Owner
	// Job is the name of the RayJob that a RayCluster was made for; empty for other owners.
	Job string
	// Autoscaling says that the number of workers changes with the load.
	Autoscaling bool
	// Members are the head, then the worker groups in the order of the spec. None while there is no cluster.
	Members []Member
	// Submitter is the Pod or container that submits a RayJob; nil if there is none.
	Submitter *Member
	// SubmitterIsPod says that the submitter runs in a Pod of its own.
	SubmitterIsPod bool
}

// Owner identifies an object of ours.
type Owner struct {
	Kind                string
	Namespace, Name     string
	UID                 types.UID
	Labels, Annotations map[string]string
}

// Member is a number of equal Pods.
type Member struct {
	// Name is headgroup, the name of a worker group, or submittergroup.
	Name string
	// Desired is the number of Pods now, Min the number that autoscaling leaves.
	Desired, Min int64
	// Suspended says that the user suspended the group, so that no Pod of it is wanted.
	Suspended bool
	// Template is what the Pods are made from, without what the operator adds. It must not be changed.
	Template *corev1.PodTemplateSpec
	// Resources are what one Pod asks for, as the scheduler counts it, with the containers that the operator adds. KubeRay counts
	// those of the template only, so that a gang gets less room than it needs.
	Resources corev1.ResourceList
}

// ForCluster returns the workload that a RayCluster is, whose Pods are built with these options.
func ForCluster(rc *rayv1.RayCluster, o pod.Options) *Workload {
	w := &Workload{
		Owner: Owner{
			Kind: KindRayCluster, Namespace: rc.Namespace, Name: rc.Name, UID: rc.UID, Labels: rc.Labels, Annotations: rc.Annotations,
		},
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

// ForJob returns the workload that a RayJob is: the cluster that it is going to have, and the Kubernetes Job that submits, which is
// nil in other modes. A container of the head that submits is part of the cluster.
func ForJob(j *rayv1.RayJob, rc *rayv1.RayCluster, submitter *batchv1.Job, o pod.Options) *Workload {
	w := ForCluster(rc, o)
	w.Owner = Owner{
		Kind: KindRayJob, Namespace: j.Namespace, Name: j.Name, UID: j.UID, Labels: j.Labels, Annotations: j.Annotations,
	}
	w.Job = ""
	if submitter != nil {
		w.SubmitterIsPod = true
		w.Submitter = &Member{
			Name: rayv1.SubmitterGroupName, Desired: 1, Min: 1,
			Template: &submitter.Spec.Template, Resources: resources.OfPod(&submitter.Spec.Template.Spec),
		}
	}
	return w
}

// Amount is how much of a workload is counted.
type Amount int

const (
	// Desired counts the Pods that are wanted now.
	Desired Amount = iota
	// Least counts the Pods that are left when autoscaling has removed all it may.
	Least
)

func (m *Member) pods(a Amount) int64 {
	if a == Least {
		return m.Min
	}
	return m.Desired
}

// Pods is the number of Pods of all members, at most what fits an int32, like every count of Pods in the Kubernetes API.
// The submitter is not counted: it does not exist yet when the others have to be placed.
func (w *Workload) Pods(a Amount) int64 {
	var n int64
	for i := range w.Members {
		n = min(n+min(w.Members[i].pods(a), math.MaxInt32), math.MaxInt32)
	}
	return n
}

// Resources are what all members ask for together, and the submitter.
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

// WantsGang reports whether the user asked for all or nothing. As with KubeRay 1.7 the label counts and not its value,
// even if that is false.
func (w *Workload) WantsGang() bool {
	_, asked := w.Owner.Labels[rayv1.LabelGangSchedulingEnabled]
	return asked
}

// SaysGang reports whether the label says true, in any case of letters.
func (w *Workload) SaysGang() bool {
	return strings.EqualFold(w.Owner.Labels[rayv1.LabelGangSchedulingEnabled], "true")
}

// Quantities is a list of resources as it stands in an object.
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
