package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const deviceCluster = `apiVersion: ray.io/v1
kind: RayCluster
metadata: {name: demo, namespace: team}
spec:
  headGroupSpec:
    rayStartParams: {}
    template: {spec: {containers: [{name: ray-head, image: "rayproject/ray:2.52.0"}]}}
  workerGroupSpecs:
  - groupName: gpu
    minReplicas: 2
    maxReplicas: 2
    replicas: 2
    rayStartParams: {}
    template:
      spec:
        containers:
        - name: ray-worker
          image: rayproject/ray:2.52.0
          resources: {limits: {cpu: "1", memory: 2Gi, ASKED}, requests: {cpu: "1", memory: 2Gi}}
`

func asking(asks string) string { return strings.Replace(deviceCluster, "ASKED", asks, 1) }

func run(stdin string, args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = Run(args, strings.NewReader(stdin), &out, &errs)
	return code, out.String(), errs.String()
}

// TestValidateDevices: Pods that device admission would refuse are named with field and remedy. It is an error where device admission is known to be.
func TestValidateDevices(t *testing.T) {
	registry := filepath.Join(t.TempDir(), "registry.yaml")
	const own = "apiVersion: devices.ray.io/v1alpha1\nkind: DeviceRegistry\nvendors:\n- {name: a, resources: {count: a.io/x}, rules: [{field: count, oneOf: [1, 2]}]}\n"
	if err := os.WriteFile(registry, []byte(own), 0o600); err != nil {
		t.Fatal(err)
	}
	const wrongUnit = "spec.workerGroupSpecs[0].template.spec.containers[0].resources.limits[nvidia.com/gpumem]: device admission"
	for name, tc := range map[string]struct {
		asks string
		args []string
		code int
		want []string
		not  string
	}{
		"unknown whether it is installed":      {asks: "nvidia.com/gpumem: 8Gi", want: []string{"warning: " + wrongUnit + ", where it is installed, refuses the Pods of gpu", "8192"}},
		"as warnings, then":                    {asks: "nvidia.com/gpumem: 8Gi", args: []string{"--warnings-as-errors"}, code: 1},
		"installed":                            {asks: "nvidia.com/gpumem: 8Gi", args: []string{"--device-registry", "shipped"}, code: 1, want: []string{"error: " + wrongUnit + " refuses the Pods of gpu", "8192"}},
		"no warnings where nobody knows":       {asks: `nvidia.com/gpumem: "3000"`, want: []string{"0 errors, 0 warnings"}},
		"its warnings":                         {asks: `nvidia.com/gpumem: "3000"`, args: []string{"--device-registry=shipped"}, want: []string{"warning: spec.workerGroupSpecs[0].template: container ray-worker: nvidia.com/gpu was set to 1"}},
		"none":                                 {asks: "nvidia.com/gpumem: 8Gi", args: []string{"--device-registry=none"}, want: []string{"0 errors, 0 warnings"}},
		"a file":                               {asks: `a.io/x: "3"`, args: []string{"--device-registry", registry}, code: 1, want: []string{"limits[a.io/x]", "1, 2"}},
		"a file that knows no other resources": {asks: "nvidia.com/gpumem: 8Gi", args: []string{"--device-registry", registry}, want: []string{"0 errors"}},
		"a file that is not there":             {asks: `a.io/x: "3"`, args: []string{"--device-registry", registry + "x"}, code: 2},
		"a file that is none":                  {asks: `a.io/x: "3"`, args: []string{"--device-registry", "testdata/valid.in.yaml"}, code: 2},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, errs := run(asking(tc.asks), append([]string{"validate", "-f", "-"}, tc.args...)...)
			if code != tc.code {
				t.Errorf("exit code %d, want %d: %s%s", code, tc.code, out, errs)
			}
			if tc.code == 2 && !strings.Contains(errs, "--device-registry") {
				t.Errorf("standard error: %s", errs)
			}
			for _, text := range tc.want {
				if !strings.Contains(out, text) {
					t.Errorf("output lacks %q:\n%s", text, out)
				}
			}
		})
	}
}

func TestExplain(t *testing.T) {
	const pod = `apiVersion: v1
kind: Pod
metadata: {name: p, namespace: team}
spec:
  containers:
  - {name: main, image: i, resources: {limits: {nvidia.com/gpu: "2", nvidia.com/gpumem: "4096", nvidia.com/gpucores: "30"}}}
`
	const quota = `---
apiVersion: v1
kind: ResourceQuota
metadata: {name: team-a, namespace: team}
spec: {hard: {limits.nvidia.com/gpumem: "8191"}}
`
	const claimed = `---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: two, namespace: team}
spec: {spec: {devices: {requests: [{name: a, exactly: {deviceClassName: gpu.nvidia.com, count: 2}}, {name: b, exactly: {deviceClassName: mine}}]}}}
---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: mine, annotations: {devices.ray.io/ray-resource: NPU}}
spec: {}
`
	claims := strings.NewReplacer(", ASKED}", "}, claims: [{name: c}]", "template:\n      spec:\n", "template:\n      spec:\n        resourceClaims: [{name: c, resourceClaimTemplateName: two}]\n").
		Replace(deviceCluster)
	for name, tc := range map[string]struct {
		stdin string
		args  []string
		code  int
		want  []string
	}{
		"a Pod":                     {stdin: pod, want: []string{"-:1 Pod team/p", "container main: nvidia × 2, 4096 MiB, 30 cores, shared", "takes of quotas: nvidia.com/gpumem 8192 MiB", `add /spec/schedulerName: "hami-scheduler"`}},
		"a quota that is too small": {stdin: pod + quota, code: 1, want: []string{`exceeds: quota "team-a": nvidia.com/gpumem requested 8192 MiB, hard 8191 MiB`}},
		"a cluster": {stdin: asking(`nvidia.com/gpumem: "3000"`), want: []string{
			"RayCluster team/demo, gpu (spec.workerGroupSpecs[0].template)", `add /spec/containers/0/resources/limits/nvidia.com~1gpu: "1"`, "Ray: num-gpus 1", "warning: spec.workerGroupSpecs[0].template: container ray-worker: nvidia.com/gpu was set to 1, because"}},
		"a family that is no GPU": {stdin: asking(`huawei.com/Ascend910C: "1"`), want: []string{"Ray: NPU 2"}},
		"the user's number":       {stdin: strings.Replace(asking(`nvidia.com/gpu: "1"`), "replicas: 2\n    rayStartParams: {}", "replicas: 2\n    rayStartParams: {num-gpus: '4'}", 1), want: []string{"Ray: num-gpus 4 (the user's)"}},
		"claims":                  {stdin: claims + claimed, want: []string{"claims: GPU=2,NPU=1", "Ray: num-gpus 2, NPU 1"}},
		"claims of a class that is not there": {stdin: claims + strings.Replace(claimed, "name: mine, ", "name: other, ", 1), want: []string{
			"claims: GPU=2\n", "warning: the files lack the DeviceClass mine"}},
		"claims without their template": {stdin: claims, want: []string{"warning: the files lack the ResourceClaimTemplate two"}},
		"the user's number of claims": {stdin: strings.Replace(claims, "replicas: 2\n    rayStartParams: {}", "replicas: 2\n    rayStartParams: {num-gpus: '4'}", 1) + claimed, want: []string{
			"Ray: num-gpus 4 (the user's), NPU 1"}},
		"refused":           {stdin: asking("nvidia.com/gpumem: 8Gi"), code: 1, want: []string{"refused: container ray-worker: nvidia.com/gpumem:", "8192"}},
		"nothing":           {stdin: asking(`cpu: "1"`), code: 1, want: []string{"the key is there twice"}},
		"no devices":        {stdin: strings.Replace(asking("X"), ", X", "", 1), want: []string{"no Pods that request shared accelerators"}},
		"a Pod without any": {stdin: "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: c, image: i}]}", want: []string{"stays as it is"}},
		"a mistake":         {stdin: strings.Replace(pod, "name: main", "nane: main", 1), code: 1, want: []string{"nane"}},
		"no YAML":           {stdin: "a: [", code: 2},
		"no registry":       {stdin: pod, args: []string{"--device-registry=none"}, code: 2},
		"an unknown form":   {stdin: pod, args: []string{"-o", "xml"}, code: 2},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, errs := run(tc.stdin, append([]string{"explain", "-f", "-"}, tc.args...)...)
			if code != tc.code {
				t.Errorf("exit code %d, want %d: %s%s", code, tc.code, out, errs)
			}
			for _, text := range tc.want {
				if !strings.Contains(out, text) {
					t.Errorf("output lacks %q:\n%s", text, out)
				}
			}
		})
	}
	_, out, _ := run(pod, "explain", "-f", "-", "-o", "json")
	var report struct {
		Pods []struct {
			Changes []struct{ Op, Path string }
			Demand  map[string]string
		}
	}
	if err := json.Unmarshal([]byte(out), &report); err != nil || len(report.Pods) != 1 || report.Pods[0].Demand["nvidia.com/gpu"] != "2" || len(report.Pods[0].Changes) == 0 {
		t.Errorf("JSON: %v\n%s", err, out)
	}
}

// FuzzExplain holds that no bytes in a file end the program in another way than by an exit code.
func FuzzExplain(f *testing.F) {
	f.Add([]byte(asking("nvidia.com/gpumem: 8Gi")))
	f.Add([]byte("apiVersion: v1\nkind: Pod\nspec: {containers: [null, {resources: {limits: {nvidia.com/gpu: 1e-999999999}}}]}"))
	f.Add([]byte("apiVersion: v1\nkind: ResourceQuota\nspec: {hard: {limits.nvidia.com/gpumem: -1}}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var stdout, stderr bytes.Buffer
		if code := Run([]string{"explain", "-f", "-"}, bytes.NewReader(data), &stdout, &stderr); code < 0 || code > 2 || strings.Contains(stderr.String(), "panic") {
			t.Errorf("exit code %d: %s", code, stderr.String())
		}
	})
}

// TestExplainConditions: conditions see the labels of the template and of the operator.
func TestExplainConditions(t *testing.T) {
	registry := filepath.Join(t.TempDir(), "registry.yaml")
	const own = "apiVersion: devices.ray.io/v1alpha1\nkind: DeviceRegistry\nvendors:\n" +
		"- {name: a, resources: {count: a.io/x, cores: a.io/c}, rules: [{field: cores, absent: 7, when: 'labels[?\"tier\"].orValue(\"\") == \"gpu\" && labels[?\"ray.io/group\"].orValue(\"\") == \"gpu\"'}]}\n"
	if err := os.WriteFile(registry, []byte(own), 0o600); err != nil {
		t.Fatal(err)
	}
	in := strings.Replace(asking(`a.io/x: "1"`), "template:\n      spec:\n", "template:\n      metadata: {labels: {tier: gpu}}\n      spec:\n", 1)
	if code, out, errs := run(in, "explain", "-f", "-", "--device-registry", registry); code != 0 || !strings.Contains(out, "a.io~1c: \"7\"") {
		t.Errorf("exit code %d: %s%s", code, out, errs)
	}
}

// TestOptOut: what a label leaves out is said, and refused where the registry does not permit it.
func TestOptOut(t *testing.T) {
	registry := filepath.Join(t.TempDir(), "registry.yaml")
	const own = "apiVersion: devices.ray.io/v1alpha1\nkind: DeviceRegistry\ndefaults: {optOut: {policy: Deny, namespaces: [free]}}\nvendors:\n" +
		"- {name: a, resources: {count: a.io/x, memory: a.io/m}, defaults: {count: 1}, rules: [{field: memory, range: [1, 10]}]}\n"
	if err := os.WriteFile(registry, []byte(own), 0o600); err != nil {
		t.Fatal(err)
	}
	labelled := strings.Replace(asking(`a.io/m: "3"`), "template:\n      spec:\n", "template:\n      metadata: {labels: {devices.ray.io/webhook: ignore}}\n      spec:\n", 1)
	ofGroup := strings.Replace(asking(`a.io/m: "3"`), "groupName: gpu\n", "groupName: gpu\n    labels: {devices.ray.io/webhook: ignore}\n", 1)
	in := func(namespace, text string) string {
		return strings.Replace(text, "namespace: team", "namespace: "+namespace, 1)
	}
	const pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: team, labels: {devices.ray.io/webhook: ignore}}\n" +
		"spec: {containers: [{name: c, image: i, resources: {limits: {a.io/m: \"3\"}}}]}\n"
	const ignored = "apiVersion: v1\nkind: Namespace\nmetadata: {name: team, labels: {devices.ray.io/webhook: ignore}}\n---\n"
	const at = "spec.workerGroupSpecs[0].template.metadata.labels[devices.ray.io/webhook]: device admission refuses the Pods of gpu"
	for name, tc := range map[string]struct {
		command, stdin string
		code           int
		want           []string
		not            string
	}{
		"validate, not permitted":         {"validate", labelled, 1, []string{"error: " + at, "namespace team", "defaults.optOut"}, "was set to 1"},
		"validate, label of the group":    {"validate", ofGroup, 1, []string{"spec.workerGroupSpecs[0].labels[devices.ray.io/webhook]: device admission refuses"}, ""},
		"validate, permitted":             {"validate", in("free", labelled), 0, []string{"0 errors, 0 warnings"}, ""},
		"validate, no namespace":          {"validate", strings.Replace(labelled, ", namespace: team", "", 1), 0, []string{"0 errors, 0 warnings"}, ""},
		"validate, without devices":       {"validate", strings.Replace(labelled, `, a.io/m: "3"`, "", 1), 0, []string{"0 errors, 0 warnings"}, ""},
		"explain, not permitted":          {"explain", labelled, 1, []string{"is left as it is", "refused: metadata.labels[devices.ray.io/webhook]"}, "add /"},
		"explain, permitted":              {"explain", in("free", labelled), 0, []string{"is left as it is", "a × 1, 3 MiB", "takes of quotas: a.io/m 3"}, "add /"},
		"explain, a Pod":                  {"explain", pod, 1, []string{"is left as it is", "refused: metadata.labels"}, "add /"},
		"explain, a permitted Pod":        {"explain", in("free", pod), 0, []string{"is left as it is"}, "refused"},
		"explain, a mistake all the same": {"explain", in("free", strings.Replace(pod, `"3"`, `"30"`, 1)), 1, []string{"refused: container c: a.io/m"}, ""},
		"explain, the Namespace":          {"explain", ignored + asking(`a.io/m: "30"`), 0, []string{"is left as it is"}, "refused"},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, errs := run(tc.stdin, tc.command, "-f", "-", "--device-registry", registry)
			if code != tc.code {
				t.Errorf("exit code %d, want %d: %s%s", code, tc.code, out, errs)
			}
			for _, text := range tc.want {
				if !strings.Contains(out, text) {
					t.Errorf("output lacks %q:\n%s", text, out)
				}
			}
			if tc.not != "" && strings.Contains(out, tc.not) {
				t.Errorf("output has %q:\n%s", tc.not, out)
			}
		})
	}
}
