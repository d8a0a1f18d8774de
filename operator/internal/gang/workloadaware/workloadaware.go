// Package workloadaware supports workload-aware scheduling by the Kubernetes scheduler (feature gate KubernetesWAS). Pods refer in
// spec.schedulingGroup to a PodGroup, which belongs to a Workload.
package workloadaware

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/gang"
)

const (
	// Name is the name of the scheduler in messages.
	Name = "kubernetes-was"
	// templateName is the name of the only template of a Workload, and the suffix of the PodGroup.
	templateName = "cluster"
	// oldVersion is the version of Kubernetes 1.36. It names the template differently, and the size of a gang is immutable.
	oldVersion = "v1alpha2"
	// protection is the finalizer that keeps a PodGroup while Pods use it. It has to be removed when the PodGroup is recreated for
	// these Pods.
	protection = "scheduling.k8s.io/podgroup-protection"
)

// +kubebuilder:rbac:groups=scheduling.k8s.io,resources=podgroups;workloads,verbs=get;list;watch;create;patch;delete,roleName=raygate-operator-workload-aware-scheduling

var (
	versions = []string{"v1beta1", "v1alpha3", oldVersion}
	workload = gang.Kind{Group: "scheduling.k8s.io", Kind: "Workload", Versions: versions}
	podGroup = gang.Kind{Group: "scheduling.k8s.io", Kind: "PodGroup", Versions: versions}
)

// Scheduler is the Kubernetes scheduler.
type Scheduler struct{}

// Name implements gang.Scheduler.
func (Scheduler) Name() string { return Name }

// Plan implements gang.Scheduler. It deletes the gang of a cluster that no longer requests one.
func (Scheduler) Plan(w *gang.Workload) gang.Plan {
	if w.Owner.Kind != gang.KindRayCluster {
		return gang.Plan{} // the cluster of a job is a gang if its own label requests it
	}
	objects := []gang.Object{workloadOf(w), podGroupOf(w)}
	if inGang(w) {
		return gang.Plan{Objects: objects}
	}
	for i := range objects {
		objects[i].Absent = true
	}
	p := gang.Plan{Objects: objects}
	if w.SaysGang() {
		p.Problems = []string{"label " + rayv1.LabelGangSchedulingEnabled +
			" has no effect together with enableInTreeAutoscaling: a gang of Kubernetes cannot grow with the load"}
	}
	return p
}

// inGang reports whether the workload is a gang. Unlike the other schedulers it uses the value of the label, as KubeRay 1.7 does.
func inGang(w *gang.Workload) bool {
	return w.Owner.Kind == gang.KindRayCluster && w.SaysGang() && !w.Autoscaling
}

func workloadOf(w *gang.Workload) gang.Object {
	return gang.Object{
		Kind:       workload,
		Name:       w.Owner.Name,
		Labels:     map[string]string{rayv1.LabelCluster: w.Owner.Name},
		Controller: true,
		Spec: func(string) map[string]any {
			return map[string]any{
				"controllerRef":     map[string]any{"apiGroup": rayv1.GroupVersion.Group, "kind": w.Owner.Kind, "name": w.Owner.Name},
				"podGroupTemplates": []any{map[string]any{"name": templateName, "schedulingPolicy": policy(w)}},
			}
		},
		Follow: []string{"/spec/podGroupTemplates/0/schedulingPolicy/gang/minCount"},
		Fixed:  fixed,
	}
}

func podGroupOf(w *gang.Workload) gang.Object {
	return gang.Object{
		Kind:       podGroup,
		Name:       podGroupName(w),
		Labels:     map[string]string{rayv1.LabelCluster: w.Owner.Name},
		Controller: true,
		Spec: func(version string) map[string]any {
			spec := map[string]any{"schedulingPolicy": policy(w)}
			if version == oldVersion {
				spec["podGroupTemplateRef"] = map[string]any{
					"workload": map[string]any{"workloadName": w.Owner.Name, "podGroupTemplateName": templateName},
				}
			} else {
				spec["workloadRef"] = map[string]any{"workloadName": w.Owner.Name, "templateName": templateName}
			}
			return spec
		},
		Follow:    []string{"/spec/schedulingPolicy/gang/minCount"},
		Fixed:     fixed,
		Finalizer: protection,
	}
}

func policy(w *gang.Workload) map[string]any {
	return map[string]any{"gang": map[string]any{"minCount": w.Pods(gang.Desired)}}
}

func fixed(version string) bool { return version == oldVersion }

func podGroupName(w *gang.Workload) string { return w.Owner.Name + "-" + templateName }

// Decorate implements gang.Scheduler. Pods of clusters without a gang stay unchanged.
func (Scheduler) Decorate(w *gang.Workload, _ string, _ *metav1.ObjectMeta, spec *corev1.PodSpec) {
	if spec == nil || !inGang(w) {
		return
	}
	spec.SchedulerName = corev1.DefaultSchedulerName
	spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: new(podGroupName(w))}
}
