package pod

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/raytest"
	"github.com/raygate/raygate/operator/internal/build/devicefacts"
	"github.com/raygate/raygate/pkg/devices/raycount"
)

// TestFactsOfTheAutoscaler: what Ray is started with because of devices and the autoscaler cannot see, and nothing else. With the facts it sees it.
func TestFactsOfTheAutoscaler(t *testing.T) {
	params := func(name, value string) devicefacts.Facts {
		return devicefacts.Facts{{Group: "gpu", Field: devicefacts.StartParams, Name: name}: value}
	}
	resources := func(name, value string) devicefacts.Facts {
		return devicefacts.Facts{{Group: "gpu", Field: devicefacts.Resources, Name: name}: value}
	}
	cases := map[string]struct {
		asks      map[string]string
		params    map[string]string
		resources map[string]string
		want      devicefacts.Facts
	}{
		"a number of GPUs, which it sees":      {asks: map[string]string{"nvidia.com/gpu": "2", "nvidia.com/gpumem": "4096"}},
		"memory only":                          {asks: map[string]string{"nvidia.com/gpumem": "3000"}, want: params("num-gpus", "1")},
		"cores only":                           {asks: map[string]string{"nvidia.com/gpucores": "30"}, want: params("num-gpus", "1")},
		"MIG":                                  {asks: map[string]string{"nvidia.com/mig-1g.10gb": "2"}, want: params("num-gpus", "2")},
		"Ascend":                               {asks: map[string]string{"huawei.com/Ascend910B3": "1"}, want: params("resources", `'{"NPU":1}'`)},
		"a module of Ascend":                   {asks: map[string]string{"huawei.com/Ascend910C": "1"}, want: params("resources", `'{"NPU":2}'`)},
		"no device":                            {},
		"none of a device":                     {asks: map[string]string{"nvidia.com/gpu": "0"}},
		"refused":                              {asks: map[string]string{"nvidia.com/gpumem": "8Gi"}},
		"GPUs of the user":                     {asks: map[string]string{"nvidia.com/gpumem": "3000"}, params: map[string]string{"num-gpus": "4"}},
		"a text of the user":                   {asks: map[string]string{"nvidia.com/gpumem": "3000"}, params: map[string]string{"num-gpus": "$N"}},
		"resources of the user":                {asks: map[string]string{"huawei.com/Ascend910B3": "1"}, params: map[string]string{"resources": `'{"x":1}'`}},
		"the same of the user":                 {asks: map[string]string{"huawei.com/Ascend910B3": "1"}, params: map[string]string{"resources": `'{"NPU":3}'`}},
		"memory, and resources of the group":   {asks: map[string]string{"nvidia.com/gpumem": "3000"}, resources: map[string]string{"CPU": "1"}, want: resources("GPU", "1")},
		"Ascend, and resources of the group":   {asks: map[string]string{"huawei.com/Ascend910B3": "1"}, resources: map[string]string{"CPU": "1"}, want: resources("NPU", "1")},
		"memory, and GPUs of the group":        {asks: map[string]string{"nvidia.com/gpumem": "3000"}, resources: map[string]string{"GPU": "2"}},
		"Moore Threads, which end in gpu":      {asks: map[string]string{"mthreads.com/vgpu": "2"}},
		"two kinds of GPU, of which none is":   {asks: map[string]string{"nvidia.com/gpu": "1", "amd.com/gpu": "1"}},
		"an unknown family, as KubeRay has it": {asks: map[string]string{"example.com/gpu": "3"}},
	}
	o := Options{Devices: shippedDevices(t)}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			rc := raytest.RayCluster("ns/demo", raytest.Autoscaling(), raytest.Workers("gpu", 1))
			g := &rc.Spec.WorkerGroupSpecs[0]
			g.RayStartParams, g.Resources = tc.params, tc.resources
			limits := corev1.ResourceList{"cpu": resource.MustParse("1")}
			for asked, n := range tc.asks {
				limits[corev1.ResourceName(asked)] = resource.MustParse(n)
			}
			g.Template.Spec.Containers[0].Resources = corev1.ResourceRequirements{Limits: limits}
			before := rc.DeepCopy()
			got := AutoscalerFacts(rc, o)
			if tc.want == nil {
				tc.want = devicefacts.Facts{}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("facts (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, rc); diff != "" {
				t.Errorf("the cluster was changed:\n%s", diff)
			}
			// With the facts the autoscaler sees what Ray is started with, and Ray is started in the same way.
			command := flags(Worker(rc, g, o))
			for k, value := range got {
				store(g, k, value)
			}
			if again := flags(Worker(rc, g, o)); again != command {
				t.Errorf("with facts Ray is started with %s, before with %s", again, command)
			}
			seen := raycount.Group{StartParams: g.RayStartParams, Resources: g.Resources, Container: g.Template.Spec.Containers[0].Resources}
			for k, value := range tc.want {
				switch k.Name {
				case "num-gpus", "GPU":
					if fmt.Sprint(seen.SeenGPUs()) != value {
						t.Errorf("the autoscaler sees %d GPUs, want %s", seen.SeenGPUs(), value)
					}
				default:
					if !seen.Sees("NPU") {
						t.Error("the autoscaler does not see NPU")
					}
				}
			}
			if more := AutoscalerFacts(rc, o); len(more) > 0 && len(got) > 0 {
				t.Errorf("facts besides the facts: %v", more)
			}
		})
	}
	rc := raytest.RayCluster("ns/demo", raytest.Workers("gpu", 1, raytest.GroupContainer(func(c *corev1.Container) {
		c.Resources.Limits = corev1.ResourceList{"nvidia.com/gpumem": resource.MustParse("3000")}
	})))
	if facts := AutoscalerFacts(rc, o); len(facts) > 0 {
		t.Errorf("facts without autoscaling: %v", facts)
	}
	rc.Spec.EnableInTreeAutoscaling = new(true)
	if facts := AutoscalerFacts(rc, Options{}); len(facts) > 0 {
		t.Errorf("facts without a registry: %v", facts)
	}
}

func store(g *rayv1.WorkerGroupSpec, k devicefacts.Key, value string) {
	m := &g.RayStartParams
	if k.Field == devicefacts.Resources {
		m = &g.Resources
	}
	if *m == nil {
		*m = map[string]string{}
	}
	(*m)[k.Name] = value
}
