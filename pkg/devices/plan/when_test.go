package plan_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/raygate/raygate/pkg/devices"
	"github.com/raygate/raygate/pkg/devices/plan"
)

const conditional = head + `
vendors:
- name: a
  resources: {count: a.io/x, memory: a.io/m, cores: a.io/c}
  rules:
  - {field: memory, range: [1, 10], when: 'labels[?"tier"].orValue("") == "small"'}
  - {field: cores, absent: 5, when: 'request.memory > 4 && request.cores == 0'}
  - {field: cores, absent: 9, when: 'container.sidecar && container.limits[?"cpu"].orValue("") == "1"'}
  env:
  - {name: BIG, value: "1", when: "request.memory > 4"}
  absentEnv:
  - {name: NONE, value: "1", when: '!container.init && container.name.startsWith("ray")'}
  annotations:
  - {key: a.io/big, default: "yes", when: 'request.memory > 4 && !("a.io/small" in annotations)'}
`

// TestWhen: what expressions decide about, with what each of them may name.
func TestWhen(t *testing.T) {
	p := registry(t, conditional)
	out := apply(t, p, pod(limits("a", "a.io/x=1 a.io/m=5"), limits("ray-log", ""), limits("log", "")))
	if got := asked(t, out); got != "a.io/c=5 a.io/m=5 a.io/x=1" {
		t.Errorf("asks for %s", got)
	}
	if got := env(out, "0") + "|" + env(out, "1") + "|" + env(out, "2"); got != "BIG=1|NONE=1|" {
		t.Errorf("variables %s", got)
	}
	if got := at(out, "metadata", "annotations", "a.io/big"); got != "yes" {
		t.Errorf("annotation %v", got)
	}
	out = apply(t, p, with(pod(limits("a", "a.io/x=1 a.io/m=5")), "metadata.annotations", m{"a.io/small": ""}))
	if got := at(out, "metadata", "annotations", "a.io/big"); got != nil {
		t.Errorf("annotation %v", got)
	}
	out = apply(t, p, pod(limits("a", "a.io/x=1 a.io/m=4")))
	if got := asked(t, out) + env(out, "0"); got != "a.io/m=4 a.io/x=1" {
		t.Errorf("asks for %s", got)
	}
	if got := problems(planOf(t, p, with(pod(limits("a", "a.io/m=11")), "metadata.labels", m{"tier": "small"}))); got != "container a: a.io/m: 11 must be from 1 to 10" {
		t.Errorf("problems %s", got)
	}
	sidecar := limits("s", "a.io/x=1 cpu=1")
	sidecar["restartPolicy"] = "Always"
	in := pod(limits("log", ""))
	in["spec"].(m)["initContainers"] = []any{sidecar}
	if got := at(apply(t, p, in), "spec", "initContainers", "0", "resources", "limits", "a.io/c"); got != "9" {
		t.Errorf("cores %v, want 9", got)
	}
}

// TestWhenThatCannotBeEvaluated: neither verdict is right, so that the Pod is refused, with what is at fault. Load refuses what is so for any Pod.
func TestWhenThatCannotBeEvaluated(t *testing.T) {
	text := head + "vendors:\n- {name: a, resources: {count: a.io/x}, rules: [{field: count, range: [1, 2], when: 'request.count / (request.count - 977) > 0'}]}\n"
	r := planOf(t, registry(t, text), pod(limits("c", "a.io/x=977")))
	if got := problems(r); !r.RegistryFault || !r.Empty() || !strings.Contains(got, "condition of a for container c: request.count / (request.count - 977) > 0: division by zero") {
		t.Errorf("problems %s", got)
	}
	// A registry that was not validated.
	reg, mistakes := devices.Decode([]byte(strings.Replace(text, "request.count /", "request.none /", 1)))
	if reg == nil {
		t.Fatal(mistakes)
	}
	r = planOf(t, plan.Compile(reg, ""), pod(limits("c", "a.io/x=1")))
	if got := problems(r); !r.RegistryFault || !strings.Contains(got, "condition of a cannot be compiled") {
		t.Errorf("problems %s", got)
	}
}

// TestZeroCountIsNotFilledIn: HAMi adds cores to a container that asks for zero devices, of which no device may become.
func TestZeroCountIsNotFilledIn(t *testing.T) {
	r := planOf(t, hami(t), with(pod(limits("ray", "nvidia.com/gpu=0 nvidia.com/gpucores=100")), "spec.schedulerName", "hami-scheduler"))
	if r.Refused() || len(r.Operations()) > 0 || nvidia(r) != "0 / 0 / 100" {
		t.Errorf("problems %v, operations %v, demand %s", r.Problems, r.Operations(), nvidia(r))
	}
}

// TestRayLabels: how large the devices of a node are, as far as it is known.
func TestRayLabels(t *testing.T) {
	const prefix = "devices.ray.io/"
	p := hami(t)
	for asks, want := range map[string]string{
		"nvidia.com/gpu=2 nvidia.com/gpumem=4096 nvidia.com/gpucores=30": `{"shared":"true","slice-cores":"30","slice-memory-mib":"4096","vendor":"nvidia"}`,
		"nvidia.com/gpu=1":                                            `{"shared":"false","slice-cores":"100","vendor":"nvidia"}`,
		"nvidia.com/gpumem=3000":                                      `{"shared":"true","slice-memory-mib":"3000","vendor":"nvidia"}`,
		"nvidia.com/gpu=1 nvidia.com/gpumem-percentage=50":            `{"shared":"true","slice-memory-percent":"50","vendor":"nvidia"}`,
		"nvidia.com/gpumem-percentage=100":                            `{"shared":"false","slice-cores":"100","slice-memory-percent":"100","vendor":"nvidia"}`,
		"huawei.com/Ascend910B3=1 huawei.com/Ascend910B3-memory=5000": `{"shared":"true","slice-memory-mib":"16384","vendor":"ascend-910b3"}`,
		"mthreads.com/vgpu=2":                                         `{"shared":"true","slice-cores":"16","slice-memory-mib":"49152","vendor":"mthreads"}`,
		"amd.com/gpumem=100":                                          `null`,
	} {
		r := planOf(t, p, pod(limits("ray", asks)))
		if len(r.Devices) != 1 {
			t.Fatalf("%s: devices %v", asks, r.Devices)
		}
		data, err := json.Marshal(r.Devices[0].RayLabels())
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.ReplaceAll(string(data), prefix, ""); got != want {
			t.Errorf("%s: %s, want %s", asks, got, want)
		}
	}
}

// TestTotals: sums over the devices of a node are resources of Ray where the registry says so, and never by default.
func TestTotals(t *testing.T) {
	text := strings.Replace(string(mustRead(t)), "ray: {numGPUs: Count}", "ray: {numGPUs: Count, totals: {gpu_memory_mib: MemoryMiB, gpu_core_percent: CorePercent}}", 1)
	p := registry(t, text)
	for asks, want := range map[string]string{
		"nvidia.com/gpu=2 nvidia.com/gpumem=4096 nvidia.com/gpucores=30": `{"gpu_core_percent":60,"gpu_memory_mib":8192}`,
		"nvidia.com/gpu=1 nvidia.com/gpumem-percentage=50":               `null`, // A10
		"amd.com/gpu=1 amd.com/gpumem=5":                                 `null`,
	} {
		r := planOf(t, p, pod(limits("ray", asks)))
		data, err := json.Marshal(p.Ray(&r.Devices[0]).Custom)
		if err != nil || string(data) != want {
			t.Errorf("%s: %s %v, want %s", asks, data, err, want)
		}
	}
	r := planOf(t, hami(t), pod(limits("ray", "nvidia.com/gpu=1 nvidia.com/gpumem=1")))
	if got := hami(t).Ray(&r.Devices[0]).Custom; got != nil {
		t.Errorf("totals by default: %v", got)
	}
}

// TestRayWarnings: devices that Ray does not see, and GPUs that it cannot count.
func TestRayWarnings(t *testing.T) {
	p := hami(t)
	r := planOf(t, p, pod(limits("ray", "nvidia.com/gpu=1 nvidia.com/gpumem=1 amd.com/gpu=1 enflame.com/gcu=1"), limits("log", "nvidia.com/gpumem=1")))
	got := strings.Join(p.RayWarnings(r.Devices), "\n")
	want := "container log is not that of Ray: what it asks for of nvidia counts against quotas, and is no resource of Ray\n" +
		"the Ray container asks for GPUs of amd and nvidia: a Ray node has those of one vendor, so that they are not counted"
	if got != want {
		t.Errorf("warnings %s", got)
	}
	if got := p.RayWarnings(planOf(t, p, pod(limits("ray", "nvidia.com/gpu=1 enflame.com/gcu=1"))).Devices); got != nil {
		t.Errorf("warnings %v", got)
	}
}
