package pod

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/raytest"
	"github.com/raygate/raygate/operator/internal/build/devicefacts"
	"github.com/raygate/raygate/pkg/devices/claims"
)

func claimed(d claims.Devices) Options {
	return Options{Claims: map[string]*claims.Devices{"gpu": &d}}
}

// TestStartParametersOfClaims: Ray is started with the devices of the claims and of the limits; values of the user stay.
func TestStartParametersOfClaims(t *testing.T) {
	two := claims.Devices{Ray: claims.Amounts{"GPU": 2}}
	params := func(key, value string) func(*rayv1.WorkerGroupSpec) {
		return func(g *rayv1.WorkerGroupSpec) { g.RayStartParams = map[string]string{key: value} }
	}
	for name, tc := range map[string]struct {
		devices claims.Devices
		limits  string
		edit    func(*rayv1.WorkerGroupSpec)
		want    string
	}{
		"GPUs":                         {devices: two, want: "--num-gpus=2"},
		"none for Ray":                 {devices: claims.Devices{Pod: claims.Amounts{"GPU": 2}}},
		"beside those of limits":       {devices: two, limits: "nvidia.com/gpu=1", want: "--num-gpus=3"},
		"the user's number":            {devices: two, edit: params("num-gpus", "8"), want: "--num-gpus=8"},
		"the user's zero":              {devices: two, edit: params("num-gpus", "0"), want: "--num-gpus=0"},
		"the group's resources":        {devices: two, edit: func(g *rayv1.WorkerGroupSpec) { g.Resources = map[string]string{"GPU": "5"} }, want: "--num-gpus=5"},
		"unknown before an allocation": {devices: claims.Devices{Ray: claims.Amounts{"GPU": 1}, Varies: map[string]bool{"GPU": true}}},
		"TPUs":                         {devices: claims.Devices{Ray: claims.Amounts{"TPU": 4}}, want: `--resources='{"TPU":4}'`},
		"TPUs beside those of limits":  {devices: claims.Devices{Ray: claims.Amounts{"TPU": 4}}, limits: "google.com/tpu=2", want: `--resources='{"TPU":6}'`},
		"the user's TPUs":              {devices: claims.Devices{Ray: claims.Amounts{"TPU": 4}}, edit: params("resources", `'{"TPU":1}'`), want: `--resources='{"TPU":1}'`},
		"beside the user's resources":  {devices: claims.Devices{Ray: claims.Amounts{"NPU": 4}}, edit: params("resources", `'{"x":1}'`), want: `--resources='{"NPU":4,"x":1}'`},
		"a text of the user's":         {devices: claims.Devices{Ray: claims.Amounts{"NPU": 4}}, edit: params("resources", `{`), want: `--resources={`},
		"both":                         {devices: claims.Devices{Ray: claims.Amounts{"GPU": 1, "HPU": 2}}, want: `--num-gpus=1 --resources='{"HPU":2}'`},
	} {
		t.Run(name, func(t *testing.T) {
			if got := flags(deviceWorker(t, claimed(tc.devices), tc.limits, tc.edit)); got != tc.want {
				t.Errorf("flags %s, want %s", got, tc.want)
			}
		})
	}
}

// TestClaimsBesideTheRegistry: the zero of Pods without devices is for Pods that claim none, either.
func TestClaimsBesideTheRegistry(t *testing.T) {
	for name, tc := range map[string]struct {
		devices claims.Devices
		want    string
	}{
		"claimed":      {claims.Devices{Ray: claims.Amounts{"GPU": 2}}, "--num-gpus=2"},
		"of a sidecar": {claims.Devices{Pod: claims.Amounts{"GPU": 2}}, "--num-gpus=0"},
		"varying":      {claims.Devices{Ray: claims.Amounts{"GPU": 1}, Varies: map[string]bool{"GPU": true}}, ""},
		"opaque":       {claims.Devices{Opaque: true}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			o := claimed(tc.devices)
			o.Devices = shippedDevices(t)
			if got := flags(deviceWorker(t, o, "", nil)); got != tc.want {
				t.Errorf("flags %q, want %q", got, tc.want)
			}
		})
	}
}

func TestAnnotationOfClaims(t *testing.T) {
	if got := deviceWorker(t, claimed(claims.Devices{Pod: claims.Amounts{"TPU": 4, "GPU": 2}}), "", nil).Annotations[rayv1.AnnotationClaimedDevices]; got != "GPU=2,TPU=4" {
		t.Errorf("annotation %q", got)
	}
	if _, there := deviceWorker(t, Options{}, "", nil).Annotations[rayv1.AnnotationClaimedDevices]; there {
		t.Error("a Pod without claims has the annotation")
	}
}

// TestAutoscalerFactsOfClaims: the autoscaler learns of claims; groups without claims have no facts if there is no registry.
func TestAutoscalerFactsOfClaims(t *testing.T) {
	key := func(field devicefacts.Field, name string) devicefacts.Key {
		return devicefacts.Key{Group: "gpu", Field: field, Name: name}
	}
	for name, tc := range map[string]struct {
		devices claims.Devices
		edit    func(*rayv1.WorkerGroupSpec)
		want    devicefacts.Facts
	}{
		"GPUs":               {claims.Devices{Ray: claims.Amounts{"GPU": 2}}, nil, devicefacts.Facts{key(devicefacts.StartParams, "num-gpus"): "2"}},
		"at least one":       {claims.Devices{Ray: claims.Amounts{"GPU": 1}, Varies: map[string]bool{"GPU": true}}, nil, devicefacts.Facts{key(devicefacts.StartParams, "num-gpus"): "1"}},
		"TPUs":               {claims.Devices{Ray: claims.Amounts{"TPU": 4}}, nil, devicefacts.Facts{key(devicefacts.StartParams, "resources"): `'{"TPU":4}'`}},
		"the user's number":  {claims.Devices{Ray: claims.Amounts{"GPU": 2}}, func(g *rayv1.WorkerGroupSpec) { g.RayStartParams = map[string]string{"num-gpus": "1"} }, devicefacts.Facts{}},
		"a group of amounts": {claims.Devices{Ray: claims.Amounts{"GPU": 2, "TPU": 1}}, func(g *rayv1.WorkerGroupSpec) { g.Resources = map[string]string{"CPU": "1"} }, devicefacts.Facts{key(devicefacts.Resources, "GPU"): "2", key(devicefacts.Resources, "TPU"): "1"}},
	} {
		t.Run(name, func(t *testing.T) {
			rc := raytest.RayCluster("ns/demo", raytest.Workers("gpu", 1), raytest.Workers("other", 1))
			rc.Spec.EnableInTreeAutoscaling = new(true)
			rc.Spec.WorkerGroupSpecs[1].Template.Spec.Containers[0].Resources.Limits = corev1.ResourceList{"nvidia.com/mig-1g.5gb": resource.MustParse("1")}
			if tc.edit != nil {
				tc.edit(&rc.Spec.WorkerGroupSpecs[0])
			}
			if diff := cmp.Diff(tc.want, AutoscalerFacts(rc, claimed(tc.devices))); diff != "" {
				t.Errorf("facts (-want +got):\n%s", diff)
			}
		})
	}
}
