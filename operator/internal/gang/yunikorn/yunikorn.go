// Package yunikorn supports Apache YuniKorn, which reads only labels and annotations of Pods.
package yunikorn

import (
	"encoding/json"
	"math"

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

// taskGroup is a set of equal Pods, in YuniKorn's JSON format.
type taskGroup struct {
	Name         string              `json:"name"`
	MinMember    int64               `json:"minMember"`
	MinResource  map[string]any      `json:"minResource"`
	NodeSelector map[string]string   `json:"nodeSelector,omitempty"`
	Tolerations  []corev1.Toleration `json:"tolerations,omitempty"`
	Affinity     *corev1.Affinity    `json:"affinity,omitempty"`
}

// taskGroups returns the task groups of all members. YuniKorn reserves room for the minimum number of Pods of each before it
// starts any. Suspended groups are left out, because YuniKorn would wait for their Pods.
func taskGroups(w *gang.Workload) string {
	var groups []taskGroup
	for i := range w.Members {
		if !w.Members[i].Suspended {
			groups = append(groups, taskGroupOf(&w.Members[i]))
		}
	}
	if w.Submitter != nil {
		groups = append(groups, taskGroupOf(w.Submitter))
	}
	text, err := json.Marshal(groups)
	if err != nil {
		return "" // these types can always be encoded
	}
	return string(text)
}

func taskGroupOf(m *gang.Member) taskGroup {
	g := taskGroup{Name: m.Name, MinMember: min(m.Min, math.MaxInt32), MinResource: gang.Quantities(m.Resources)}
	if m.Template != nil {
		g.NodeSelector, g.Tolerations, g.Affinity = m.Template.Spec.NodeSelector, m.Template.Spec.Tolerations, m.Template.Spec.Affinity
	}
	return g
}
