package resources

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

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

func TestOfPod(t *testing.T) {
	q := resource.MustParse
	asks := func(cpu string) corev1.Container {
		return corev1.Container{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": q(cpu)}}}
	}
	sidecar := asks("2")
	sidecar.RestartPolicy = new(corev1.ContainerRestartPolicyAlways)
	cases := map[string]struct {
		spec corev1.PodSpec
		want string
	}{
		"nothing":                           {want: "0"},
		"all containers":                    {corev1.PodSpec{Containers: []corev1.Container{asks("1"), asks("500m")}}, "1500m"},
		"a small init container":            {corev1.PodSpec{Containers: []corev1.Container{asks("1")}, InitContainers: []corev1.Container{asks("200m")}}, "1"},
		"the largest init container":        {corev1.PodSpec{Containers: []corev1.Container{asks("1")}, InitContainers: []corev1.Container{asks("3"), asks("2")}}, "3"},
		"a sidecar":                         {corev1.PodSpec{Containers: []corev1.Container{asks("1")}, InitContainers: []corev1.Container{sidecar}}, "3"},
		"an init container beside it":       {corev1.PodSpec{Containers: []corev1.Container{asks("1")}, InitContainers: []corev1.Container{sidecar, asks("3")}}, "5"},
		"an init container before it":       {corev1.PodSpec{Containers: []corev1.Container{asks("1")}, InitContainers: []corev1.Container{asks("4"), sidecar}}, "4"},
		"the overhead of the runtime class": {corev1.PodSpec{Containers: []corev1.Container{asks("1")}, Overhead: corev1.ResourceList{"cpu": q("100m")}}, "1100m"},
		"the Pod as a whole": {corev1.PodSpec{Containers: []corev1.Container{asks("1")}, Resources: &corev1.ResourceRequirements{
			Requests: corev1.ResourceList{"cpu": q("7")}, Limits: corev1.ResourceList{"cpu": q("8")},
		}}, "7"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			before := tc.spec.DeepCopy()
			if got := OfPod(&tc.spec)["cpu"]; got.Cmp(q(tc.want)) != 0 {
				t.Errorf("want %s CPUs, got %s", tc.want, got.String())
			}
			if diff := cmp.Diff(before, &tc.spec); diff != "" {
				t.Errorf("the Pod was changed (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAccelerators(t *testing.T) {
	with := func(annotation string, limits corev1.ResourceList) *corev1.Pod {
		p := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Limits: limits}}}}}
		p.Annotations = map[string]string{rayv1.AnnotationClaimedDevices: annotation}
		return p
	}
	for name, tc := range map[string]struct {
		pod  *corev1.Pod
		want map[string]float64
	}{
		"none":               {with("", corev1.ResourceList{"cpu": resource.MustParse("1")}), nil},
		"limits":             {with("", corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("2"), "google.com/tpu": resource.MustParse("4")}), map[string]float64{"GPU": 2, "TPU": 4}},
		"claims":             {with("GPU=2,HPU=1,TPU=4", nil), map[string]float64{"GPU": 2, "TPU": 4}},
		"both":               {with("GPU=2", corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("1")}), map[string]float64{"GPU": 3}},
		"a text of somebody": {with("GPU=-2,TPU=x,GPU", nil), nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Accelerators(tc.pod)); diff != "" {
				t.Errorf("accelerators (-want +got):\n%s", diff)
			}
		})
	}
}
