package podplan_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/raygate/raygate/internal/testing/raytest"
	"github.com/raygate/raygate/operator/internal/podplan"
)

func TestUnscheduled(t *testing.T) {
	fresh := func(p *corev1.Pod) {
		p.CreationTimestamp = raytest.Epoch
		p.Spec.NodeName, p.Status.Conditions = "", nil
	}
	cases := map[string]struct {
		change func(*corev1.Pod)
		want   int
	}{
		"one that was just created": {func(*corev1.Pod) {}, 1},
		"one with a node":           {func(p *corev1.Pod) { p.Spec.NodeName = "n" }, 0},
		"one that no node can take": {func(p *corev1.Pod) {
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse}}
		}, 0},
		"one of the default scheduler, by name": {func(p *corev1.Pod) { p.Spec.SchedulerName = corev1.DefaultSchedulerName }, 1},
		"one of another scheduler":              {func(p *corev1.Pod) { p.Spec.SchedulerName = "volcano" }, 0},
		"one on its way out":                    {raytest.Terminating(), 0},
		"one that waits for long":               {func(p *corev1.Pod) { p.CreationTimestamp = metav1.NewTime(raytest.Epoch.Add(-time.Minute)) }, 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := raytest.WorkerPod(raytest.RayCluster("ns/demo"), "cpu", "w", fresh, tc.change)
			if got := podplan.Unscheduled([]*corev1.Pod{p}, raytest.Epoch.Add(time.Second)); got != tc.want {
				t.Errorf("want %d, got %d", tc.want, got)
			}
		})
	}
}
