// Package volcano supports Volcano: one PodGroup per RayCluster or RayJob, to which its Pods refer.
package volcano

import (
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/child"
	"github.com/raygate/raygate/operator/internal/gang"
)

// Name is the value of --batch-scheduler and the schedulerName of Pods.
const Name = "volcano"

// Annotations of Pods that Volcano reads.
const (
	annotationGroupName = "scheduling.k8s.io/group-name"
	annotationTaskSpec  = "volcano.sh/task-spec"
)

// +kubebuilder:rbac:groups=scheduling.volcano.sh,resources=podgroups,verbs=get;list;watch;create;patch,roleName=raygate-operator-volcano

var podGroup = gang.Kind{Group: "scheduling.volcano.sh", Kind: "PodGroup", Versions: []string{"v1beta1"}}

// Scheduler is Volcano.
type Scheduler struct{}

// Name implements gang.Scheduler.
func (Scheduler) Name() string { return Name }

// Plan implements gang.Scheduler. The cluster of a RayJob has no PodGroup of its own: its Pods belong to that of the job.
func (Scheduler) Plan(w *gang.Workload) gang.Plan {
	if w.Job != "" {
		return gang.Plan{}
	}
	amount := gang.Desired
	if w.Autoscaling {
		amount = gang.Least // further Pods may be scheduled later or never
	}
	spec := map[string]any{
		"minMember":    w.Pods(amount),
		"minResources": gang.Quantities(w.Resources(amount)),
	}
	// These three follow the labels; without a label, Volcano or the administrator chooses the value.
	follow := []string{"/spec/minMember", "/spec/minResources"}
	if queue := w.Owner.Labels[rayv1.LabelVolcanoQueueName]; queue != "" {
		spec["queue"] = queue
		follow = append(follow, "/spec/queue")
	}
	if class := w.Owner.Labels[rayv1.LabelPriorityClassName]; class != "" {
		spec["priorityClassName"] = class
		follow = append(follow, "/spec/priorityClassName")
	}
	topology, problems := networkTopology(w.Owner.Labels)
	if topology != nil {
		spec["networkTopology"] = topology
		follow = append(follow, "/spec/networkTopology")
	}
	return gang.Plan{
		Problems: problems,
		Objects: []gang.Object{{
			Kind:        podGroup,
			Name:        groupName(w),
			Annotations: child.Annotations(&w.Owner),
			Controller:  true,
			Spec:        func(string) map[string]any { return spec },
			Status:      map[string]any{"phase": "Pending"},
			Follow:      follow,
		}},
	}
}

// networkTopology returns the maximum distance between the Pods; nil if the user sets none. Validation rejects a tier that is not
// a number, but stored objects may be older.
func networkTopology(labels map[string]string) (map[string]any, []string) {
	mode := labels[rayv1.LabelVolcanoNetworkTopologyMode]
	if mode == "" {
		return nil, nil
	}
	topology := map[string]any{"mode": mode}
	text, given := labels[rayv1.LabelVolcanoNetworkTopologyHighestTierAllowed]
	if !given {
		return topology, nil
	}
	tier, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return topology, []string{fmt.Sprintf("label %s is %q, which is not a whole number, so Pods may be placed across any tier",
			rayv1.LabelVolcanoNetworkTopologyHighestTierAllowed, text)}
	}
	topology["highestTierAllowed"] = tier
	return topology, nil
}

func groupName(w *gang.Workload) string {
	name := w.Owner.Name
	if w.Job != "" {
		name = w.Job
	}
	return "ray-" + name + "-pg"
}

// Decorate implements gang.Scheduler.
func (Scheduler) Decorate(w *gang.Workload, member string, meta *metav1.ObjectMeta, spec *corev1.PodSpec) {
	for _, key := range []string{rayv1.LabelVolcanoQueueName, rayv1.LabelPriorityClassName} {
		gang.SetLabel(&meta.Labels, key, w.Owner.Labels[key])
	}
	gang.SetLabel(&meta.Annotations, annotationGroupName, groupName(w))
	gang.SetLabel(&meta.Annotations, annotationTaskSpec, member)
	if spec != nil {
		spec.SchedulerName = Name
	}
}
