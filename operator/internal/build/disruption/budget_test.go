package disruption

import (
	"testing"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/raytest"
)

func TestBudgets(t *testing.T) {
	rc := raytest.RayCluster("ns/demo", raytest.Workers("cpu", 3))
	head, worker := raytest.HeadPod(rc, "head"), raytest.WorkerPod(rc, "cpu", "w")
	other := raytest.WorkerPod(rc, "gpu", "v")
	for name, tc := range map[string]struct {
		got  *policyv1.PodDisruptionBudget
		name string
		stay int
		pods string
	}{
		"of the head":  {Head(rc), "demo-head", 1, "head"},
		"of a group":   {Group(rc, "cpu", 2), "demo-workers-cpu", 2, "w"},
		"of the other": {Group(rc, "gpu", 1), "demo-workers-gpu", 1, "v"},
	} {
		t.Run(name, func(t *testing.T) {
			selector, err := metav1.LabelSelectorAsSelector(tc.got.Spec.Selector)
			if err != nil {
				t.Fatal(err)
			}
			selected := ""
			for _, p := range []metav1.Object{head, worker, other} {
				if selector.Matches(labels.Set(p.GetLabels())) {
					selected += p.GetName()
				}
			}
			if tc.got.Name != tc.name || tc.got.Spec.MinAvailable.IntValue() != tc.stay || selected != tc.pods || !rc.Owns(tc.got) || tc.got.Labels[rayv1.LabelCluster] != "demo" {
				t.Errorf("selects %q: %+v", selected, tc.got)
			}
		})
	}
}
