// Package kai supports the KAI scheduler. It groups Pods itself and needs only the queue.
package kai

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/gang"
)

// Name is the value of --batch-scheduler and the schedulerName of Pods.
const Name = "kai-scheduler"

// Scheduler is the KAI scheduler.
type Scheduler struct{}

// Name implements gang.Scheduler.
func (Scheduler) Name() string { return Name }

// Plan implements gang.Scheduler.
func (Scheduler) Plan(w *gang.Workload) gang.Plan {
	var p gang.Plan
	if w.Owner.Labels[rayv1.LabelKAIQueue] == "" {
		p.Problems = []string{"label " + rayv1.LabelKAIQueue + " is missing, so the KAI scheduler does not know the queue of the Pods"}
	}
	if w.Owner.Kind == gang.KindRayJob && w.Submitter != nil {
		p.Refusal = "the batch scheduler " + Name + " does not support the submission mode K8sJobMode; use another submissionMode"
	}
	return p
}

// Decorate implements gang.Scheduler.
func (Scheduler) Decorate(w *gang.Workload, _ string, meta *metav1.ObjectMeta, spec *corev1.PodSpec) {
	gang.SetLabel(&meta.Labels, rayv1.LabelKAIQueue, w.Owner.Labels[rayv1.LabelKAIQueue])
	if spec != nil {
		spec.SchedulerName = Name
	}
}
