package rayjob

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/raytest"
)

// TestStopTime gives programs the time of the annotation, where the user has not set another.
func TestStopTime(t *testing.T) {
	spec := raytest.RayCluster("ns/x", raytest.Workers("cpu", 1), raytest.Workers("own", 1)).Spec
	spec.WorkerGroupSpecs[1].Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: envStopTime, Value: "7"}}
	for text, want := range map[string]string{"": "", "soon": "", "90s": "90", "1500ms": "2"} {
		j := &rayv1.RayJob{Spec: rayv1.RayJobSpec{RayClusterSpec: &spec}}
		if text != "" {
			j.Annotations = map[string]string{rayv1.AnnotationSuspendGrace: text}
		}
		rc, err := Cluster(j, Options{})
		if err != nil {
			t.Fatal(err)
		}
		timeOf := func(c corev1.Container) (value string) {
			for _, e := range c.Env {
				if e.Name == envStopTime {
					value = e.Value
				}
			}
			return value
		}
		workers := rc.Spec.WorkerGroupSpecs
		head, worker, own := timeOf(rc.Spec.HeadGroupSpec.Template.Spec.Containers[0]), timeOf(workers[0].Template.Spec.Containers[0]), timeOf(workers[1].Template.Spec.Containers[0])
		if head != want || worker != want || own != "7" {
			t.Errorf("%q: %q, %q and %q", text, head, worker, own)
		}
	}
}
