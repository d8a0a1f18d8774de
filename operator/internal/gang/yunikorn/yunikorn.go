// Package yunikorn supports Apache YuniKorn, which reads only labels and annotations of Pods.
package yunikorn

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/gang"
)

// Name is the value of --batch-scheduler and the schedulerName of Pods.
const Name = "yunikorn"

// Labels of Pods that YuniKorn reads: the old names, which all its versions support.
const (
	labelApplication = "applicationId"
	labelQueue       = "queue"
)

// Scheduler is the YuniKorn scheduler.
type Scheduler struct{}

// Name implements gang.Scheduler.
func (Scheduler) Name() string { return Name }

// Plan implements gang.Scheduler.
func (Scheduler) Plan(w *gang.Workload) gang.Plan {
	if w.WantsGang() && w.Owner.Labels[rayv1.LabelYuniKornAppID] == "" {
		return gang.Plan{Problems: []string{
			"label " + rayv1.LabelGangSchedulingEnabled + " asks for gang scheduling, but YuniKorn needs the label " +
				rayv1.LabelYuniKornAppID + " to know which Pods belong together",
		}}
	}
	return gang.Plan{}
}

// Decorate implements gang.Scheduler.
func (Scheduler) Decorate(w *gang.Workload, member string, meta *metav1.ObjectMeta, spec *corev1.PodSpec) {
	gang.SetLabel(&meta.Labels, labelApplication, w.Owner.Labels[rayv1.LabelYuniKornAppID])
	gang.SetLabel(&meta.Labels, labelQueue, w.Owner.Labels[rayv1.LabelYuniKornQueue])
	if spec != nil {
		spec.SchedulerName = Name
	}
	if !w.WantsGang() {
		return
	}
	groups := w.Owner.Annotations[rayv1.AnnotationYuniKornTaskGroups]
	if groups == "" {
		groups = taskGroups(w)
	}
	gang.SetLabel(&meta.Annotations, rayv1.AnnotationYuniKornTaskGroups, groups)
	gang.SetLabel(&meta.Annotations, rayv1.AnnotationYuniKornTaskGroupName, member)
}
