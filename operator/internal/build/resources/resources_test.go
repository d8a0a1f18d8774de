package resources

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

func TestIsGPU(t *testing.T) {
	for name, want := range map[string]bool{
		"nvidia.com/gpu": true, "amd.com/gpu": true, "gpu": true, "nvidia.com/mig-1g.5gb": true,
		"cpu": false, "GPU": false, "nvidia.com/gpus": false, "nvidia.com/mig-1g.5gb.shared": false, "google.com/tpu": false, "": false,
	} {
		if got := IsGPU(name); got != want {
			t.Errorf("IsGPU(%q): want %t, got %t", name, want, got)
		}
	}
}

func TestOfContainers(t *testing.T) {
	q := resource.MustParse
	containers := []corev1.Container{
		{Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{"cpu": q("1"), "memory": q("1Gi")},
			Limits:   corev1.ResourceList{"cpu": q("1500m"), "nvidia.com/gpu": q("2")},
		}},
		{Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{"cpu": q("500m"), "amd.com/gpu": q("1")}}},
		{},
	}
	before := containers[0].Resources.Limits.DeepCopy()
	got := OfContainers(containers)
	want := corev1.ResourceList{"cpu": q("1500m"), "memory": q("1Gi"), "nvidia.com/gpu": q("2"), "amd.com/gpu": q("1")}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("sum of request, else limit (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(q("3"), GPUs(got)); diff != "" {
		t.Errorf("GPUs (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, containers[0].Resources.Limits); diff != "" {
		t.Errorf("the input was changed (-want +got):\n%s", diff)
	}
}
