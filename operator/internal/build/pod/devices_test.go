package pod

import (
	"maps"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/raytest"
	"github.com/raygate/raygate/pkg/devices/load"
	"github.com/raygate/raygate/pkg/devices/shipped"
)

func shippedDevices(t testing.TB) DeviceRegistry {
	t.Helper()
	p, err := load.Registry(shipped.HAMi)
	if err != nil {
		t.Fatal(err)
	}
	return load.NewLive(p)
}

// flags are those of the start command that say what a node has.
func flags(p *corev1.Pod) string {
	var found []string
	for word := range strings.FieldsSeq(strings.Join(p.Spec.Containers[0].Args, " ")) {
		if strings.HasPrefix(word, "--num-gpus") || strings.HasPrefix(word, "--resources") {
			found = append(found, word)
		}
	}
	return strings.Join(found, " ")
}

func deviceWorker(t *testing.T, o Options, asks string, edit func(*rayv1.WorkerGroupSpec)) *corev1.Pod {
	t.Helper()
	rc := raytest.RayCluster("ns/demo", raytest.Workers("gpu", 1))
	g := &rc.Spec.WorkerGroupSpecs[0]
	c := &g.Template.Spec.Containers[0]
	c.Resources.Limits, c.Resources.Requests = corev1.ResourceList{"cpu": resource.MustParse("1")}, nil
	for pair := range strings.FieldsSeq(asks) {
		name, n, _ := strings.Cut(pair, "=")
		c.Resources.Limits[corev1.ResourceName(name)] = resource.MustParse(n)
	}
	if edit != nil {
		edit(g)
	}
	before := rc.DeepCopy()
	p := Worker(rc, g, o)
	if again := Worker(before, &before.Spec.WorkerGroupSpecs[0], o); flags(again) != flags(p) || !maps.EqualFunc(rc.Spec.WorkerGroupSpecs[0].Template.Spec.Containers[0].Resources.Limits,
		before.Spec.WorkerGroupSpecs[0].Template.Spec.Containers[0].Resources.Limits, func(a, b resource.Quantity) bool { return a.Cmp(b) == 0 }) {
		t.Error("building changes the cluster, or differs the second time")
	}
	return p
}

// TestStartParametersOfDevices: the start parameters of Ray match the devices of the container.
func TestStartParametersOfDevices(t *testing.T) {
	o := Options{Devices: shippedDevices(t)}
	cases := map[string]struct{ asks, want string }{
		"slices":             {"nvidia.com/gpu=2 nvidia.com/gpumem=4096 nvidia.com/gpucores=30", "--num-gpus=2"},
		"whole card":         {"nvidia.com/gpu=1", "--num-gpus=1"},
		"memory only":        {"nvidia.com/gpumem=3000", "--num-gpus=1"},
		"cores only":         {"nvidia.com/gpucores=30", "--num-gpus=1"},
		"half a card":        {"nvidia.com/gpu=1 nvidia.com/gpumem-percentage=50", "--num-gpus=1"},
		"percentage only":    {"nvidia.com/gpumem-percentage=100", "--num-gpus=1"},
		"zero":               {"nvidia.com/gpu=0", "--num-gpus=0"},
		"nothing":            {"", "--num-gpus=0"},
		"refused later":      {"nvidia.com/gpu=1 nvidia.com/gpucores=150", "--num-gpus=1"},
		"two MIG profiles":   {"nvidia.com/mig-1g.10gb=2 nvidia.com/mig-2g.20gb=1", "--num-gpus=3"},
		"Ascend":             {"huawei.com/Ascend910B3=1 huawei.com/Ascend910B3-memory=5000", `--resources='{"NPU":1}'`},
		"a module of Ascend": {"huawei.com/Ascend910C=1", `--resources='{"NPU":2}'`},
		"MLU":                {"cambricon.com/vmlu=2", `--resources='{"MLU":2}'`},
		"neuron cores":       {"aws.amazon.com/neuroncore=4", `--resources='{"neuron_cores":4}'`},
		"TPU":                {"google.com/tpu=4", `--num-gpus=0 --resources='{"TPU":4}'`},
		"unknown family":     {"example.com/gpu=3", "--num-gpus=3"},
		"Moore Threads":      {"mthreads.com/vgpu=2", "--num-gpus=2"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := flags(deviceWorker(t, o, tc.asks, nil)); got != tc.want {
				t.Errorf("%s, want %s", got, tc.want)
			}
		})
	}
}

// TestStartParametersOfTheUserWin: what the user has set is Ray's, whatever the container asks for.
func TestStartParametersOfTheUserWin(t *testing.T) {
	o := Options{Devices: shippedDevices(t)}
	for name, tc := range map[string]struct {
		edit func(*rayv1.WorkerGroupSpec)
		asks string
		want string
	}{
		"num-gpus":        {func(g *rayv1.WorkerGroupSpec) { g.RayStartParams = map[string]string{"num-gpus": "8"} }, "nvidia.com/gpumem=3000", "--num-gpus=8"},
		"resources":       {func(g *rayv1.WorkerGroupSpec) { g.RayStartParams = map[string]string{"resources": `'{"NPU":5,"x":1}'`} }, "huawei.com/Ascend910B3=1", `--resources='{"NPU":5,"x":1}'`},
		"other resources": {func(g *rayv1.WorkerGroupSpec) { g.RayStartParams = map[string]string{"resources": `'{"x":1}'`} }, "huawei.com/Ascend910B3=1", `--resources='{"NPU":1,"x":1}'`},
		"of the group":    {func(g *rayv1.WorkerGroupSpec) { g.Resources = map[string]string{"GPU": "4"} }, "nvidia.com/gpumem=3000", "--num-gpus=4"},
		"not parsable":    {func(g *rayv1.WorkerGroupSpec) { g.RayStartParams = map[string]string{"resources": "$X"} }, "huawei.com/Ascend910B3=1", "--resources=$X"},
	} {
		if got := flags(deviceWorker(t, o, tc.asks, tc.edit)); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
	o.NoExplicitZeroGPU = true
	if got := flags(deviceWorker(t, o, "", nil)); got != "" {
		t.Errorf("without an explicit zero: %s", got)
	}
	if got := flags(deviceWorker(t, Options{}, "nvidia.com/gpumem=3000", nil)); got != "" {
		t.Errorf("without a registry: %s", got)
	}
}

// TestDevicesOfSidecars: Ray sees its own container only.
func TestDevicesOfSidecars(t *testing.T) {
	asks := corev1.ResourceRequirements{Limits: list("nvidia.com/gpumem", "100")}
	p := deviceWorker(t, Options{Devices: shippedDevices(t)}, "", func(g *rayv1.WorkerGroupSpec) {
		s := &g.Template.Spec
		s.Containers = append(s.Containers, corev1.Container{Name: "side", Resources: asks})
		s.InitContainers = append(s.InitContainers, corev1.Container{Name: "init", Resources: asks})
	})
	if got := flags(p); got != "--num-gpus=0" {
		t.Errorf("%s, want no GPU", got)
	}
	if q := p.Spec.Containers[1].Resources.Limits["nvidia.com/gpu"]; q.Value() != 1 {
		t.Error("the sidecar is not completed")
	}
}

// TestDevicesWithoutWebhook: the Pod has all that admission would give it.
func TestDevicesWithoutWebhook(t *testing.T) {
	p := deviceWorker(t, Options{Devices: shippedDevices(t)}, "nvidia.com/gpumem=3000", nil)
	r := p.Spec.Containers[0].Resources
	if limit, request := r.Limits["nvidia.com/gpu"], r.Requests["nvidia.com/gpu"]; limit.Value() != 1 || request.Value() != 1 || p.Spec.SchedulerName != "hami-scheduler" {
		t.Errorf("resources %+v, scheduler %s", r, p.Spec.SchedulerName)
	}
}

// TestConditionsSeeTheMetadataOfThePod: what the operator completes is what admission would, also where the registry asks for labels and annotations,
// whether they are of the template or of the operator.
func TestConditionsSeeTheMetadataOfThePod(t *testing.T) {
	for name, when := range map[string]string{
		"a label of the template":            `"small" in labels`,
		"a label of the operator":            `labels[?"ray.io/node-type"].orValue("") == "worker" && labels[?"ray.io/group"].orValue("") == "gpu"`,
		"a label of the configuration":       `labels[?"tier"].orValue("") == "one"`,
		"an annotation of the configuration": `annotations[?"shape"].orValue("") == "round"`,
	} {
		t.Run(name, func(t *testing.T) {
			program, err := load.Registry([]byte("apiVersion: devices.ray.io/v1alpha1\nkind: DeviceRegistry\nvendors:\n" +
				"- {name: a, resources: {count: a.io/x, cores: a.io/c}, rules: [{field: cores, absent: 7, when: '" + when + "'}]}\n"))
			if err != nil {
				t.Fatal(err)
			}
			o := Options{Devices: load.NewLive(program), Labels: map[string]string{"tier": "one"}, Annotations: map[string]string{"shape": "round"}}
			p := deviceWorker(t, o, "a.io/x=1", func(g *rayv1.WorkerGroupSpec) {
				g.Template.Labels = map[string]string{"small": ""}
			})
			if q := p.Spec.Containers[0].Resources.Limits["a.io/c"]; q.Value() != 7 {
				t.Errorf("resources %+v", p.Spec.Containers[0].Resources)
			}
		})
	}
}

// TestRayLabelsOfDevices: the size of the devices is a label of the Ray node, for releases of Ray that have labels; those of the user win.
func TestRayLabelsOfDevices(t *testing.T) {
	const slices = "--labels=devices.ray.io/shared=true,devices.ray.io/slice-memory-mib=3000,devices.ray.io/vendor=nvidia"
	for name, tc := range map[string]struct {
		asks, version string
		off           bool
		edit          func(*rayv1.WorkerGroupSpec)
		want          string
	}{
		"slices":           {asks: "nvidia.com/gpumem=3000", version: "2.49.0", want: slices},
		"an older release": {asks: "nvidia.com/gpumem=3000", version: "2.48.1"},
		"no release":       {asks: "nvidia.com/gpumem=3000", version: ""},
		"nightly":          {asks: "nvidia.com/gpumem=3000", version: "nightly"},
		"off":              {asks: "nvidia.com/gpumem=3000", version: "2.60.0", off: true},
		"no device":        {asks: "cpu=1", version: "2.60.0"},
		"two families":     {asks: "nvidia.com/gpumem=3000 amd.com/gpu=1", version: "2.60.0"},
		"refused":          {asks: "nvidia.com/gpumem=8Gi", version: "2.60.0"},
		"labels of the user": {asks: "nvidia.com/gpumem=3000", version: "2.60.0", edit: func(g *rayv1.WorkerGroupSpec) {
			g.Labels = map[string]string{"zone": "a", "devices.ray.io/vendor": "mine"}
		}, want: "--labels=devices.ray.io/shared=true,devices.ray.io/slice-memory-mib=3000,devices.ray.io/vendor=mine,zone=a"},
		"the user's parameter": {asks: "nvidia.com/gpumem=3000", version: "2.60.0", edit: func(g *rayv1.WorkerGroupSpec) { g.RayStartParams = map[string]string{"labels": "a=b"} }, want: "--labels=a=b"},
		"a sidecar": {asks: "cpu=1", version: "2.60.0", edit: func(g *rayv1.WorkerGroupSpec) {
			g.Template.Spec.Containers = append(g.Template.Spec.Containers, corev1.Container{Name: "side", Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("1")}}})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			rc := raytest.RayCluster("ns/demo", raytest.Workers("gpu", 1))
			rc.Spec.RayVersion = tc.version
			g := &rc.Spec.WorkerGroupSpecs[0]
			limits := corev1.ResourceList{}
			for pair := range strings.FieldsSeq(tc.asks) {
				name, n, _ := strings.Cut(pair, "=")
				limits[corev1.ResourceName(name)] = resource.MustParse(n)
			}
			g.Template.Spec.Containers[0].Resources = corev1.ResourceRequirements{Limits: limits}
			if tc.edit != nil {
				tc.edit(g)
			}
			p := Worker(rc, g, Options{Devices: shippedDevices(t), DeviceLabels: !tc.off})
			got := ""
			for word := range strings.FieldsSeq(strings.Join(p.Spec.Containers[0].Args, " ")) {
				if strings.HasPrefix(word, "--labels") {
					got = word
				}
			}
			if got != tc.want {
				t.Errorf("%s, want %s", got, tc.want)
			}
			if len(g.Labels) > 2 {
				t.Errorf("the group was changed: %v", g.Labels)
			}
		})
	}
}

// TestOptOutOfTemplates: a Pod that is left as it is by its label, for instance for HAMi's webhook, is not completed here either, and is counted for Ray.
func TestOptOutOfTemplates(t *testing.T) {
	p := deviceWorker(t, Options{Devices: shippedDevices(t)}, "nvidia.com/gpumem=3000", func(g *rayv1.WorkerGroupSpec) {
		g.Template.Labels = map[string]string{"devices.ray.io/webhook": "ignore"}
	})
	if _, completed := p.Spec.Containers[0].Resources.Limits["nvidia.com/gpu"]; completed || p.Spec.SchedulerName != "" || flags(p) != "--num-gpus=1" {
		t.Errorf("limits %v, scheduler %q, %s", p.Spec.Containers[0].Resources.Limits, p.Spec.SchedulerName, flags(p))
	}
}
