package deviceadmission_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/raygate/raygate/operator/internal/webhook/deviceadmission"
)

// dryRun creates a Pod without storing it, and fills in what would be stored.
func (w *world) dryRun(pod *corev1.Pod) error {
	w.T.Helper()
	return w.Client.Create(w.T.Context(), pod, client.DryRunAll)
}

// TestNothingElseChanges: a Pod with all kinds of fields, and one with next to none, differ from what they are without the webhooks in what is
// ours to add, and a Pod without devices in nothing.
func TestNothingElseChanges(t *testing.T) {
	w := newWorld(t, settings{edit: func(hook map[string]any) { delete(hook, "matchConditions") }, registry: head + `
vendors:
- name: a
  resources: {count: nvidia.com/gpu, cores: nvidia.com/gpucores}
  exclusive: {cores: 100}
  env: [{name: NUMBER, value: "${count}"}]
  annotations: [{key: a.io/n, default: "${count}"}]
  scheduler: {name: s}
`})
	full := func(asks string) *corev1.Pod {
		pod := w.pod("a", asks)
		pod.Annotations = map[string]string{"x": "y"}
		c := &pod.Spec.Containers[0]
		c.Env = []corev1.EnvVar{{Name: "A", Value: "b"}, {Name: "NODE", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "spec.nodeName"}}}}
		c.ResizePolicy = []corev1.ContainerResizePolicy{{ResourceName: "cpu", RestartPolicy: "NotRequired"}}
		pod.Spec.HostUsers, pod.Spec.SetHostnameAsFQDN = new(false), new(true)
		pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "example.com/wait"}}
		pod.Spec.Resources = &corev1.ResourceRequirements{Limits: container("", "cpu=2").Resources.Limits}
		return pod
	}
	for name, build := range map[string]func(string) *corev1.Pod{"full": full, "empty": func(asks string) *corev1.Pod { return w.pod("a", asks) }} {
		for _, asks := range []string{"nvidia.com/gpu=1 cpu=1", "cpu=1"} {
			with, without := build(asks), build(asks)
			without.Labels["ray.io/node-type-not"] = without.Labels["ray.io/node-type"]
			delete(without.Labels, "ray.io/node-type")
			calls := w.replicas[0].count(deviceadmission.MutatePath)
			for _, pod := range []*corev1.Pod{with, without} {
				if err := w.dryRun(pod); err != nil {
					t.Fatal(err)
				}
			}
			if w.replicas[0].count(deviceadmission.MutatePath) != calls+1 {
				t.Errorf("%s, %s: the webhook was not called once", name, asks)
			}
			if asks != "cpu=1" {
				c := &without.Spec.Containers[0]
				c.Resources.Limits["nvidia.com/gpucores"] = container("", "x=100").Resources.Limits["x"]
				c.Resources.Requests["nvidia.com/gpucores"] = c.Resources.Limits["nvidia.com/gpucores"]
				c.Env = append(c.Env, corev1.EnvVar{Name: "NUMBER", Value: "1"})
				metav1.SetMetaDataAnnotation(&without.ObjectMeta, "a.io/n", "1")
				without.Spec.SchedulerName = "s"
			}
			if diff := cmp.Diff(without.Spec, with.Spec, cmp.FilterPath(func(p cmp.Path) bool {
				return strings.HasSuffix(p.GoString(), ".Volumes") || strings.Contains(p.GoString(), ".VolumeMounts")
			}, cmp.Ignore())); diff != "" {
				t.Errorf("%s, %s (-want +got):\n%s", name, asks, diff)
			}
			if diff := cmp.Diff(without.Annotations, with.Annotations); diff != "" {
				t.Errorf("%s, %s, annotations (-want +got):\n%s", name, asks, diff)
			}
		}
	}
}
