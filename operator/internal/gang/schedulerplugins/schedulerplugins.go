// Package schedulerplugins supports the coscheduling plugin of kubernetes-sigs/scheduler-plugins. Pods refer by label to a
// PodGroup with the name of the cluster.
package schedulerplugins

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/raygate/raygate/operator/internal/gang"
)

const (
	// Name is the value of --batch-scheduler.
	Name = "scheduler-plugins"
	// schedulerName is the schedulerName of Pods, as in the chart of the scheduler.
	schedulerName = "scheduler-plugins-scheduler"
	labelPodGroup = "scheduling.x-k8s.io/pod-group"
)

// +kubebuilder:rbac:groups=scheduling.x-k8s.io,resources=podgroups,verbs=get;list;watch;create;patch,roleName=raygate-operator-scheduler-plugins

var podGroup = gang.Kind{Group: "scheduling.x-k8s.io", Kind: "PodGroup", Versions: []string{"v1alpha1"}}

// Scheduler is the coscheduling plugin.
type Scheduler struct{}

// Name implements gang.Scheduler.
func (Scheduler) Name() string { return Name }

// Plan implements gang.Scheduler.
func (Scheduler) Plan(w *gang.Workload) gang.Plan {
	if w.Owner.Kind == gang.KindRayJob {
		return gang.Plan{Refusal: "the batch scheduler " + Name + " does not support RayJob; use a RayCluster, or another scheduler"}
	}
	if !w.WantsGang() {
		return gang.Plan{}
	}
	spec := map[string]any{
		"minMember":    w.Pods(gang.Desired),
		"minResources": gang.Quantities(w.Resources(gang.Desired)),
	}
	return gang.Plan{Objects: []gang.Object{{
		Kind: podGroup,
		Name: w.Owner.Name,
		Spec: func(string) map[string]any { return spec },
		// KubeRay 1.7 never updates them, so a gang that was scaled down could not be scheduled again.
		Follow: []string{"/spec/minMember", "/spec/minResources"},
	}}}
}

// Decorate implements gang.Scheduler.
func (Scheduler) Decorate(w *gang.Workload, _ string, meta *metav1.ObjectMeta, spec *corev1.PodSpec) {
	if w.WantsGang() {
		gang.SetLabel(&meta.Labels, labelPodGroup, w.Owner.Name)
	}
	if spec != nil {
		spec.SchedulerName = schedulerName
	}
}
