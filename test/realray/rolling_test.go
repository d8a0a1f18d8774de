package realray

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// Three workers are replaced one after the other, while a job runs tasks on them. The job finishes, and the head stays.
func TestRollingUpgrade(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	rc := w.cluster("demo", 3, func(rc *rayv1.RayCluster) {
		rc.Annotations = map[string]string{rayv1.AnnotationUpgradeStrategy: rayv1.UpgradeRollingUpdate}
	})
	w.ready(rc)
	w.joined("demo", 3)
	head, old := w.head("demo").UID, w.pods("demo", rayv1.WorkerNode)
	w.gateway("POST", "/clusters/demo/submissions", map[string]any{"submissionId": "roll", "entrypoint": "python " + scripts + "/roll.py"})
	w.update(rc, func() {
		c := &rc.Spec.WorkerGroupSpecs[0].Template.Spec.Containers[0]
		c.Env = append(c.Env, corev1.EnvVar{Name: "RELEASE", Value: "two"})
	})
	began, fewest := false, 3
	w.eventually("all workers have the new template", func(ctx context.Context) error {
		ready, updated := 0, 0
		for _, p := range w.pods("demo", rayv1.WorkerNode) {
			if !slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue }) {
				continue
			}
			ready++
			if slices.ContainsFunc(p.Spec.Containers[0].Env, func(e corev1.EnvVar) bool { return e.Name == "RELEASE" }) {
				updated++
			}
		}
		fewest = min(fewest, ready)
		if err := product.client.Get(ctx, client.ObjectKeyFromObject(rc), rc); err != nil {
			return err
		}
		runs := meta.IsStatusConditionTrue(rc.Status.Conditions, rayv1.RayClusterUpgradeInProgress)
		began = began || runs
		if updated != 3 || runs {
			return fmt.Errorf("%d of %d ready workers have the new template, in progress: %t", updated, ready, runs)
		}
		return nil
	})
	if !began || fewest < 2 {
		t.Errorf("the condition was seen: %t; %d workers were ready at least, want 2", began, fewest)
	}
	for _, p := range w.pods("demo", rayv1.WorkerNode) {
		if slices.ContainsFunc(old, func(was corev1.Pod) bool { return was.UID == p.UID }) {
			t.Errorf("worker %s was not replaced", p.Name)
		}
	}
	if w.head("demo").UID != head {
		t.Error("the head was replaced")
	}
	if _, err := w.exec(w.head("demo").Name, "touch", "/tmp/rolled"); err != nil {
		t.Fatal(err)
	}
	w.submissionEnds("demo", "roll", "SUCCEEDED")
	if log := string(w.gateway("GET", "/clusters/demo/submissions/roll/logs", nil).body); !strings.Contains(log, "tasks ") {
		t.Errorf("the log is %q", log)
	}
}
