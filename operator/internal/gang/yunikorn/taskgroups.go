package yunikorn

import (
	"encoding/json"
	"math"

	corev1 "k8s.io/api/core/v1"

	"github.com/raygate/raygate/operator/internal/gang"
)

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
