package deviceadmission_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/raygate/raygate/operator/internal/webhook/deviceadmission"
)

// dryRun creates a Pod without storing it, and fills in what would be stored.
func (w *world) dryRun(pod *corev1.Pod) error {
	w.T.Helper()
	return w.Client.Create(w.T.Context(), pod, client.DryRunAll)
}

// TestContradictionLive: the refusal is ours, and names both values.
func TestContradictionLive(t *testing.T) {
	w := newWorld(t, settings{})
	err := w.admits("mthreads.com/vgpu=2 mthreads.com/sgpu-memory=32")
	if code(err) != http.StatusUnprocessableEntity {
		t.Fatalf("admitted: %v", err)
	}
	for _, text := range []string{"devices.pod.ray.io", "container ray-worker: mthreads.com/sgpu-memory: 32 contradicts mthreads.com/vgpu 2, for which it is 192"} {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("refusal %v\nwants %s", err, text)
		}
	}
}

// TestZeroIsNothingLive: zero of a device is none, in a privileged container, too.
func TestZeroIsNothingLive(t *testing.T) {
	w := newWorld(t, settings{registry: head + "defaults: {privileged: Deny}\nvendors:\n- {name: a, resources: {count: nvidia.com/gpu, cores: nvidia.com/gpucores}, exclusive: {cores: 100}, scheduler: {name: s}}\n"})
	pod := w.pod("zero", "nvidia.com/gpu=0")
	pod.Spec.Containers[0].SecurityContext = &corev1.SecurityContext{Privileged: new(true)}
	w.Create(pod)
	if limits := pod.Spec.Containers[0].Resources.Limits; pod.Spec.SchedulerName != "default-scheduler" || len(limits) != 1 || w.warned() != "" {
		t.Errorf("scheduler %s, limits %v", pod.Spec.SchedulerName, limits)
	}
}

// TestSchedulerLive: another scheduler is kept, and has nothing to do with resources.
func TestSchedulerLive(t *testing.T) {
	w := newWorld(t, settings{})
	for has, want := range map[string]string{"": "hami-scheduler", "default-scheduler": "hami-scheduler", "hami-scheduler": "hami-scheduler", "volcano": "volcano"} {
		pod := w.pod("a", "nvidia.com/gpumem=3000")
		pod.Spec.SchedulerName = has
		w.warned()
		if err := w.dryRun(pod); err != nil {
			t.Fatal(err)
		}
		if got := asked(t, pod); pod.Spec.SchedulerName != want || got["nvidia.com/gpu"] != "1" {
			t.Errorf("%q: scheduler %s, asks for %v", has, pod.Spec.SchedulerName, got)
		}
		if got := w.warned(); strings.Contains(got, "volcano and was kept, but nvidia needs hami-scheduler") != (has == "volcano") {
			t.Errorf("%q: warnings %s", has, got)
		}
	}
	w.use(head + "vendors:\n- {name: a, resources: {count: a.io/x}, scheduler: {name: s}}\n- {name: b, resources: {count: b.io/x}, scheduler: {name: t}}\n")
	if err := w.admits("a.io/x=1 b.io/x=1"); code(err) != http.StatusUnprocessableEntity || !strings.Contains(err.Error(), "a needs s, and b needs t") {
		t.Errorf("two schedulers: %v", err)
	}
	w.use(head + "defaults: {scheduler: {name: s, when: Never}}\nvendors:\n- {name: a, resources: {count: a.io/x}}\n")
	pod := w.pod("never", "a.io/x=1")
	if err := w.dryRun(pod); err != nil || pod.Spec.SchedulerName != "default-scheduler" {
		t.Errorf("when: Never gives %s, %v", pod.Spec.SchedulerName, err)
	}
}

// TestRuntimeClassLive: of the user before that of the family, and one at most.
func TestRuntimeClassLive(t *testing.T) {
	w := newWorld(t, settings{})
	class := func(suffix string) string {
		c := &nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: w.Namespace + suffix}, Handler: "runc"}
		w.Create(c)
		t.Cleanup(func() { _ = w.Client.Delete(context.Background(), c) })
		return c.Name
	}
	fast, other := class("-fast"), class("-other")
	w.use(head + "vendors:\n- {name: a, resources: {count: a.io/x}, runtimeClass: " + fast + "}\n- {name: b, resources: {count: b.io/x}, runtimeClass: " + other + "}\n- {name: c, resources: {count: c.io/x}}\n")
	for name, tc := range map[string]struct{ asks, has, want, refused string }{
		"unset":         {asks: "a.io/x=1", want: fast},
		"set":           {asks: "a.io/x=1", has: other, want: other},
		"one of two":    {asks: "a.io/x=1 c.io/x=1", want: fast},
		"none":          {asks: "c.io/x=1"},
		"two, conflict": {asks: "a.io/x=1 b.io/x=1", refused: "a needs " + fast + ", and b needs " + other},
		"two, set":      {asks: "a.io/x=1 b.io/x=1", has: other, want: other},
	} {
		pod := w.pod("a", tc.asks)
		if tc.has != "" {
			pod.Spec.RuntimeClassName = &tc.has
		}
		err := w.dryRun(pod)
		if tc.refused != "" {
			if code(err) != http.StatusUnprocessableEntity || !strings.Contains(err.Error(), tc.refused) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		got := ""
		if c := pod.Spec.RuntimeClassName; c != nil {
			got = *c
		}
		if err != nil || got != tc.want {
			t.Errorf("%s: class %q, want %q; %v", name, got, tc.want, err)
		}
	}
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

// TestAmountsLive: amounts that cannot be meant are refused, and never free.
func TestAmountsLive(t *testing.T) {
	w := newWorld(t, settings{})
	w.quota("q", "limits.nvidia.com/gpumem=1")
	for _, amount := range []string{"8Gi", "1e30", "-1", "500m", "1e-3", "9223372036854775807"} {
		for _, name := range []string{"nvidia.com/gpu", "nvidia.com/gpumem", "nvidia.com/gpucores", "huawei.com/Ascend910B3-memory", "metax-tech.com/sgpu"} {
			if err := w.admits(name + "=" + amount); code(err) != http.StatusUnprocessableEntity {
				t.Errorf("%s=%s: %v", name, amount, err)
			}
		}
	}
	if err := w.admits("nvidia.com/gpumem=2"); code(err) != http.StatusForbidden {
		t.Errorf("the least amount above the quota: %v", err)
	}
}

// TestNoContainersLive: the API server refuses such a Pod in its own words.
func TestNoContainersLive(t *testing.T) {
	w := newWorld(t, settings{edit: func(hook map[string]any) { delete(hook, "matchConditions") }})
	pod := w.pod("a", "")
	pod.Spec.Containers = []corev1.Container{}
	if err := w.dryRun(pod); code(err) != http.StatusUnprocessableEntity || !strings.Contains(err.Error(), "spec.containers: Required value") {
		t.Errorf("without containers: %v", err)
	}
}

// TestWarningsLive: devices that Ray does not count are pointed out.
func TestWarningsLive(t *testing.T) {
	w := newWorld(t, settings{})
	pod := w.pod("a", "nvidia.com/gpu=1 nvidia.com/gpumem=1 amd.com/gpu=1")
	pod.Spec.Containers = append(pod.Spec.Containers, container("sidecar", "nvidia.com/gpumem=1"))
	if err := w.dryRun(pod); err != nil {
		t.Fatal(err)
	}
	got := w.warned()
	for _, want := range []string{"the Ray container asks for GPUs of amd and nvidia", "container sidecar is not that of Ray: what it asks for of nvidia counts against quotas"} {
		if !strings.Contains(got, want) {
			t.Errorf("warnings %s\nwant %s", got, want)
		}
	}
}
