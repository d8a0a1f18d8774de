package pod

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/raytest"
)

func list(kv ...string) corev1.ResourceList {
	list := corev1.ResourceList{}
	for i := 0; i < len(kv); i += 2 {
		list[corev1.ResourceName(kv[i])] = resource.MustParse(kv[i+1])
	}
	return list
}

// TestHeadStartCommand holds start commands that KubeRay 1.7 was seen to make.
func TestHeadStartCommand(t *testing.T) {
	const (
		begin  = "ray start --head  --block  --dashboard-agent-listen-port=52365  --dashboard-host=0.0.0.0 "
		export = " --metrics-export-port=8080 "
	)
	type m = map[string]string
	cases := map[string]struct {
		limits, requests          corev1.ResourceList
		params, resources, labels m
		want                      string
	}{
		"nothing known": {want: begin + export},
		"CPU is rounded up": {
			limits: list("cpu", "1500m", "memory", "2Gi"),
			want:   begin + " --memory=2147483648 " + export + " --num-cpus=2 ",
		},
		"limits go before requests": {
			limits: list("cpu", "3"), requests: list("cpu", "1"),
			want: begin + export + " --num-cpus=3 ",
		},
		"a zero limit leaves the request": {
			limits: list("cpu", "0", "memory", "0"), requests: list("cpu", "1", "memory", "1Gi"),
			want: begin + export + " --num-cpus=1 ",
		},
		"booleans, and CPU by request but never memory": {
			requests: list("cpu", "500m", "memory", "3Gi"),
			params:   m{"include-dashboard": "false", "no-monitor": "FALSE", "foo": "True", "port": "6380"},
			want:     begin + " --foo  --include-dashboard=false " + export + " --num-cpus=1  --port=6380 ",
		},
		"the user's numbers win, block never": {
			limits: list("cpu", "4", "memory", "1Gi", "nvidia.com/gpu", "2"),
			params: m{"num-cpus": "0", "num-gpus": "1", "memory": "5", "block": "false"},
			want:   begin + " --memory=5 " + export + " --num-cpus=0  --num-gpus=1 ",
		},
		"the group's resources and labels": {
			limits:    list("cpu", "1", "aws.amazon.com/neuroncore", "4"),
			resources: m{"CPU": "3500m", "memory": "1Gi", "GPU": "1", "custom": "2.5", "broken": "many"},
			labels:    m{"zone": "z1", "a": "b"},
			want:      begin + ` --labels=a=b,zone=z1  --memory=1073741824 ` + export + ` --num-cpus=4  --num-gpus=1  --resources='{"custom":2.5,"neuron_cores":4}' `,
		},
		"of names that differ in case only the first in byte order counts": {
			resources: m{"CPU": "3", "cpu": "1", "Memory": "2Gi", "memory": "1Gi"},
			want:      begin + " --memory=2147483648 " + export + " --num-cpus=3 ",
		},
		"the group's resources and labels win over the user's parameters": {
			params: m{"resources": `'{"a":1}'`, "labels": "a=b", "num-cpus": "7"}, resources: m{"cpu": "100m", "b": "2"}, labels: m{"zone": "z1"},
			want: begin + " --labels=zone=z1 " + export + ` --num-cpus=1  --resources='{"b":2}' `,
		},
		"flags that want true or false spelt out": {
			params: m{"log-color": "TRUE", "include-dashboard": "true", "include-log-monitor": "False"},
			want:   begin + " --include-dashboard=true  --include-log-monitor=False  --log-color=TRUE " + export,
		},
		"the defaults are the user's to change": {
			params: m{"dashboard-host": "::", "metrics-export-port": "1", "dashboard-agent-listen-port": "2"},
			want:   "ray start --head  --block  --dashboard-agent-listen-port=2  --dashboard-host=::  --metrics-export-port=1 ",
		},
		"an empty value is a value": {
			limits: list("cpu", "4"), params: m{"num-cpus": ""},
			want: begin + export + " --num-cpus= ",
		},
		"a zero GPU is passed over": {
			limits: list("amd.com/gpu", "0", "nvidia.com/gpu", "3", "aws.amazon.com/neuroncore", "0", "google.com/tpu", "4"),
			want:   begin + export + ` --num-gpus=3  --resources='{"TPU":4}' `,
		},
		"GPUs are not taken from requests": {requests: list("nvidia.com/gpu", "3", "google.com/tpu", "4"), want: begin + export},
		"resources in backticks and blanks": {
			limits: list("google.com/tpu", "4"), params: m{"resources": " `{\"a\": 1}` "},
			want: begin + export + ` --resources='{"TPU":4,"a":1}' `,
		},
		"a quote in a resource name cannot leave the quotes": {
			resources: m{"a'; rm -rf": "1"},
			want:      begin + export + ` --resources='{"a\u0027; rm -rf":1}' `,
		},
		"of several GPUs the first kind counts": {
			limits: list("nvidia.com/gpu", "1", "amd.com/gpu", "2", "nvidia.com/mig-1g.5gb", "3"),
			want:   begin + export + " --num-gpus=2 ",
		},
		"MIG profiles are GPUs": {limits: list("nvidia.com/mig-1g.5gb", "3"), want: begin + export + " --num-gpus=3 "},
		"of several accelerators the first kind counts": {
			limits: list("aws.amazon.com/neuroncore", "4", "google.com/tpu", "8", "nvidia.com/gpu", "1"),
			want:   begin + export + ` --num-gpus=1  --resources='{"neuron_cores":4}' `,
		},
		"an accelerator of the user stays": {
			limits: list("google.com/tpu", "8"), params: m{"resources": `'{"custom_resource":2,"TPU":4}'`},
			want: begin + export + ` --resources='{"custom_resource":2,"TPU":4}' `,
		},
		"an accelerator joins the resources of the user": {
			limits: list("google.com/tpu", "8"), params: m{"resources": `'{"b":2,"a":0.5}'`},
			want: begin + export + ` --resources='{"TPU":8,"a":0.5,"b":2}' `,
		},
		"resources with escaped quotes are understood": {
			limits: list("google.com/tpu", "8", "nvidia.com/gpu", "1"), params: m{"resources": `"{\"A\": 1}"`},
			want: begin + export + ` --num-gpus=1  --resources='{"A":1,"TPU":8}' `,
		},
		"resources that cannot be read stay, and do not hide the GPU": {
			limits: list("aws.amazon.com/neuroncore", "4", "nvidia.com/gpu", "1"), params: m{"resources": "{"},
			want: begin + export + " --num-gpus=1  --resources={ ",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			rc := raytest.RayCluster("ns1/demo", raytest.HeadParams(tc.params), raytest.Head(func(h *rayv1.HeadGroupSpec) {
				h.Resources, h.Labels = tc.resources, tc.labels
				h.Template.Spec.Containers[0].Resources = corev1.ResourceRequirements{Limits: tc.limits, Requests: tc.requests}
			}))
			if diff := cmp.Diff(tc.want, valueOf(t, Head(rc, Options{}), "KUBERAY_GEN_RAY_START_CMD")); diff != "" {
				t.Errorf("start command (-want +got):\n%s", diff)
			}
		})
	}
}

func valueOf(t *testing.T, p *corev1.Pod, name string) string {
	t.Helper()
	for _, v := range p.Spec.Containers[0].Env {
		if v.Name == name {
			return v.Value
		}
	}
	t.Fatalf("the Ray container has no variable %s", name)
	return ""
}
