package deviceadmission_test

import (
	"errors"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/raygate/raygate/operator/internal/webhook/deviceadmission"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

func code(err error) int32 {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return status.Status().Code
	}
	return 0
}

// TestSelector: only Pods of Ray that ask for something reach the handler.
func TestSelector(t *testing.T) {
	w := newWorld(t, settings{})
	calls := func() int64 {
		return w.replicas[0].count(deviceadmission.MutatePath) + w.replicas[0].count(deviceadmission.ValidatePath)
	}
	cases := map[string]struct {
		pod  *corev1.Pod
		want int64
	}{
		"of Ray, device":    {w.pod("a", "nvidia.com/gpu=1"), 2},
		"of Ray, no device": {w.pod("b", "cpu=1"), 0},
		"device, not Ray":   {w.pod("c", "nvidia.com/gpu=1"), 0},
	}
	cases["device, not Ray"].pod.Labels = nil
	for name, tc := range cases {
		before := calls()
		w.Create(tc.pod)
		if got := calls() - before; got != tc.want {
			t.Errorf("%s: %d calls, want %d", name, got, tc.want)
		}
	}
	wide := newWorld(t, settings{edit: func(hook map[string]any) { delete(hook, "objectSelector") }})
	other := wide.pod("c", "nvidia.com/gpu=1")
	other.Labels = nil
	wide.Create(other)
	if got := other.Spec.SchedulerName; got != "hami-scheduler" {
		t.Errorf("a wider registration leaves the scheduler %s", got)
	}
}

// TestOptOut: the label of a Pod leaves it as it is, and does not lead past the quota.
func TestOptOut(t *testing.T) {
	w := newWorld(t, settings{})
	w.quota("q", "limits.nvidia.com/gpu=1")
	pod := w.pod("a", "nvidia.com/gpu=1")
	pod.Labels["devices.ray.io/webhook"] = "ignore"
	w.Create(pod)
	if got := asked(t, pod); len(got) != 1 || pod.Spec.SchedulerName != "default-scheduler" {
		t.Errorf("asks for %v, scheduler %s", got, pod.Spec.SchedulerName)
	}
	pod = w.pod("b", "nvidia.com/gpu=1")
	pod.Labels["devices.ray.io/webhook"] = "ignore"
	if err := w.Client.Create(t.Context(), pod); code(err) != http.StatusForbidden || !strings.Contains(err.Error(), `quota "q"`) {
		t.Errorf("past the quota: %v", err)
	}
}

// TestFamiliesLive: the worked examples of NVIDIA, and a case of every other family, on a real API server.
func TestFamiliesLive(t *testing.T) {
	w := newWorld(t, settings{})
	cases := []struct {
		asks, more string // more is what is added
		code       int32
		says       string
	}{
		{asks: "nvidia.com/gpu=2 nvidia.com/gpumem=4096 nvidia.com/gpucores=30"},
		{asks: "nvidia.com/gpu=1", more: "nvidia.com/gpucores=100"},
		{asks: "nvidia.com/gpumem=3000", more: "nvidia.com/gpu=1"},
		{asks: "nvidia.com/gpucores=30", more: "nvidia.com/gpu=1"},
		{asks: "nvidia.com/gpu=1 nvidia.com/gpumem-percentage=50"},
		{asks: "nvidia.com/gpumem-percentage=100", more: "nvidia.com/gpu=1 nvidia.com/gpucores=100"},
		{asks: "nvidia.com/gpu=1 nvidia.com/gpucores=150", code: 422, says: "container ray-worker: nvidia.com/gpucores: 150 must be from 0 to 100"},
		{asks: "nvidia.com/gpumem=8Gi", code: 422, says: "for 8Gi write 8192"},
		{asks: "mthreads.com/vgpu=2", more: "mthreads.com/sgpu-core=32 mthreads.com/sgpu-memory=192"},
		{asks: "mthreads.com/vgpu=2 mthreads.com/sgpu-memory=32", code: 422, says: "32 contradicts mthreads.com/vgpu 2, for which it is 192"},
		{asks: "iluvatar.ai/BI-V150-vgpu=2", more: "iluvatar.ai/BI-V150.vCore=200"},
		{asks: "kunlunxin.com/vxpu=1 kunlunxin.com/vxpu-memory=1000", more: "kunlunxin.com/vxpu-memory=24576"},
		{asks: "metax-tech.com/sgpu=1 metax-tech.com/vmemory=4000"},
		{asks: "enflame.com/drs-gcu=1"},
		{asks: "aws.amazon.com/neuroncore=3", code: 422, says: "must be a multiple of 2, or 1"},
		{asks: "amd.com/gpu=1 amd.com/gpucores=50"},
		{asks: "huawei.com/Ascend910B3=1 huawei.com/Ascend910B3-memory=5000", more: "huawei.com/Ascend910B3-memory=16384"},
		{asks: "cambricon.com/vmlu=1"}, {asks: "hygon.com/dcunum=1"}, {asks: "kunlunxin.com/xpu=1"}, {asks: "metax-tech.com/gpu=1"},
		{asks: "enflame.com/gcu=1"}, {asks: "vastaitech.com/va=1"}, {asks: "birentech.com/gpu=1"},
	}
	for _, tc := range cases {
		pod := w.pod("", tc.asks)
		pod.GenerateName = "a-"
		want := asked(t, &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{both(container("", tc.asks))}}})
		err := w.Client.Create(t.Context(), pod)
		if tc.code != 0 {
			if code(err) != tc.code || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("%s: %v", tc.asks, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", tc.asks, err)
			continue
		}
		maps.Copy(want, asked(t, &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{both(container("", tc.more))}}}))
		if got := asked(t, pod); !maps.Equal(got, want) || pod.Spec.SchedulerName != "hami-scheduler" {
			t.Errorf("%s: asks for %v, scheduler %s; want %v", tc.asks, got, pod.Spec.SchedulerName, want)
		}
	}
	// Zero is nothing, also when the API server has looked at it.
	zero := w.pod("zero", "nvidia.com/gpu=0")
	w.Create(zero)
	if zero.Spec.SchedulerName != "default-scheduler" || len(zero.Spec.Containers[0].Resources.Limits) != 1 {
		t.Errorf("gpu: 0 became %+v", zero.Spec.Containers[0].Resources)
	}
}

func both(c corev1.Container) corev1.Container {
	c.Resources.Requests = c.Resources.Limits
	return c
}

const head = "apiVersion: devices.ray.io/v1alpha1\nkind: DeviceRegistry\n"

// TestReinvocation: a webhook after ours changes the Pod, so that we are asked again.
func TestReinvocation(t *testing.T) {
	w := newWorld(t, settings{})
	w.neighbour("zzz-"+w.Namespace, neighbour(t))
	before := w.replicas[0].count(deviceadmission.MutatePath)
	pod := w.pod("a", "nvidia.com/gpu=1 nvidia.com/priority=1")
	w.Create(pod)
	if got := w.replicas[0].count(deviceadmission.MutatePath) - before; got != 2 {
		t.Errorf("asked %d times, want 2", got)
	}
	if env := pod.Spec.Containers[0].Env; pod.Labels["neighbour"] != "was-here" || len(env) != 1 || env[0].Value != "1" {
		t.Errorf("labels %v, variables %v", pod.Labels, env)
	}
}
