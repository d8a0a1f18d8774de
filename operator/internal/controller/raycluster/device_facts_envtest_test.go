package raycluster

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/devicefacts"
	"github.com/raygate/raygate/operator/internal/webhook"
	"github.com/raygate/raygate/pkg/devices/load"
	"github.com/raygate/raygate/pkg/devices/raycount"
	"github.com/raygate/raygate/pkg/devices/shipped"
	"github.com/raygate/raygate/pkg/validation"
)

// withDeviceFacts turns --device-registry and --device-autoscaler-facts on.
func withDeviceFacts(t *testing.T) func(*Config) {
	t.Helper()
	p, err := load.Registry(shipped.HAMi)
	if err != nil {
		t.Fatal(err)
	}
	return func(c *Config) { c.Pod.Devices, c.DeviceFacts = load.NewLive(p), true }
}

// deviceManifest is what a user applies: two groups, of which the first asks for asks.
func deviceManifest(asks, params string) string {
	return `apiVersion: ray.io/v1
kind: RayCluster
metadata: {name: demo}
spec:
  enableInTreeAutoscaling: true
  headGroupSpec:
    template: {spec: {containers: [{name: ray-head, image: "rayproject/ray:2.52.0", resources: {limits: {cpu: "1", memory: 2Gi}}}]}}
  workerGroupSpecs:
  - groupName: cpu
    minReplicas: 1
    maxReplicas: 3
    template: {spec: {containers: [{name: ray-worker, image: "rayproject/ray:2.52.0", resources: {limits: {cpu: "1", memory: 2Gi}}}]}}
  - groupName: gpu
    minReplicas: 1
    maxReplicas: 3
    rayStartParams: {` + params + `}
    template: {spec: {containers: [{name: ray-worker, image: "rayproject/ray:2.52.0", resources: {limits: {cpu: "1", memory: 2Gi, ` + asks + `}}}]}}
`
}

// kubectl runs the real one in the namespace of the world. It returns what it printed, and whether it ended with 0.
func (w *world) kubectl(stdin string, args ...string) (string, bool) {
	w.T.Helper()
	program, err := filepath.Abs(filepath.Join("..", "..", "..", "..", "bin", "k8s", "kubectl"))
	if err != nil {
		w.T.Fatal(err)
	}
	cmd := exec.CommandContext(w.T.Context(), program, append([]string{"--kubeconfig", controlPlane.Env(w.T).Kubeconfig, "--namespace", w.Namespace}, args...)...)
	cmd.Stdin = strings.NewReader(stdin)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		w.T.Fatalf("running kubectl: %v", err)
	}
	return out.String(), err == nil
}

func (w *world) mustApply(manifest string, args ...string) string {
	w.T.Helper()
	out, ok := w.kubectl(manifest, append([]string{"apply", "-f", "-"}, args...)...)
	if !ok {
		w.T.Fatalf("kubectl apply: %s", out)
	}
	return out
}

// params are the start parameters of the group, and facts those that are the operator's.
func (w *world) facts(group string) (params map[string]string, facts devicefacts.Facts) {
	w.T.Helper()
	rc := w.get("demo")
	for i := range rc.Spec.WorkerGroupSpecs {
		if g := &rc.Spec.WorkerGroupSpecs[i]; g.GroupName == group {
			params = g.RayStartParams
		}
	}
	return params, devicefacts.Stored(rc)
}

func gpus(group, n string) devicefacts.Facts {
	return devicefacts.Facts{{Group: group, Field: devicefacts.StartParams, Name: "num-gpus"}: n}
}

func (w *world) eventuallyFacts(want devicefacts.Facts) {
	w.T.Helper()
	w.Eventually("the facts", func() bool {
		_, got := w.facts("gpu")
		return cmp.Equal(want, got)
	})
}

// settled waits until the operator has seen the cluster as it is.
func (w *world) settled() *rayv1.RayCluster {
	w.T.Helper()
	var rc *rayv1.RayCluster
	w.Eventually("the operator to have seen the spec", func() bool {
		rc = w.get("demo")
		return rc.Status.ObservedGeneration == rc.Generation
	})
	return rc
}

// keepFacts registers the mutating webhook of RayClusters for the namespace.
func (w *world) keepFacts() {
	w.T.Helper()
	mux := &hooks{ServeMux: http.NewServeMux()}
	webhook.Register(mux.Register, validation.Options{}, webhook.StageEnforce, webhook.NewMetrics(), nil)
	server := httptest.NewTLSServer(mux)
	w.T.Cleanup(server.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration", "metadata": map[string]any{"name": w.Namespace},
		"webhooks": []any{map[string]any{
			"name": "raycluster.ray.io", "admissionReviewVersions": []any{"v1"}, "sideEffects": "None", "failurePolicy": "Fail",
			"clientConfig":      map[string]any{"url": server.URL + webhook.MutatePath("RayCluster"), "caBundle": base64.StdEncoding.EncodeToString(ca)},
			"namespaceSelector": map[string]any{"matchLabels": map[string]any{"kubernetes.io/metadata.name": w.Namespace}},
			"rules":             []any{map[string]any{"apiGroups": []any{"ray.io"}, "apiVersions": []any{"v1"}, "operations": []any{"CREATE", "UPDATE"}, "resources": []any{"rayclusters"}}},
		}},
	}}
	w.Create(u)
	w.T.Cleanup(func() { _ = w.Client.Delete(context.Background(), u) })
	w.Eventually("the API server to call the webhook", func() bool {
		before := mux.calls.Load()
		_ = w.Client.Create(w.T.Context(), w.cluster("probe"), client.DryRunAll)
		return mux.calls.Load() > before
	})
}

// hooks serves webhooks and counts calls.
type hooks struct {
	*http.ServeMux
	calls atomic.Int64
}

func (h *hooks) Register(path string, hook http.Handler) {
	h.Handle(path, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.calls.Add(1)
		hook.ServeHTTP(w, r)
	}))
}

// TestFactsAreApplied: what a memory-only group has is stored for the autoscaler, owned key by key. A user who applies
// the same manifest again changes nothing and is shown no difference, by server-side apply also after the autoscaler has scaled.
func TestFactsAreApplied(t *testing.T) {
	t.Parallel()
	for name, flags := range map[string][]string{"server-side": {"--server-side"}, "client-side": nil} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.asOperator()
			if flags == nil {
				w.keepFacts() // it sends whole lists
			}
			w.startOperator(withDeviceFacts(t))
			manifest := deviceManifest(`nvidia.com/gpumem: "3000"`, "")
			w.mustApply(manifest, flags...)
			w.eventuallyFacts(gpus("gpu", "1"))
			if flags != nil { // a client-side apply resets replicas
				patch := `[{"op": "add", "path": "/spec/workerGroupSpecs/1/replicas", "value": 2}]`
				if out, ok := w.kubectl("", "patch", "raycluster/demo", "--field-manager=ray-autoscaler", "--type=json", "-p", patch); !ok {
					t.Fatalf("scaling as the autoscaler does: %s", out)
				}
			}
			rc := w.settled()
			g := rc.Spec.WorkerGroupSpecs[1]
			seen := raycount.Group{StartParams: g.RayStartParams, Resources: g.Resources, Container: g.Template.Spec.Containers[0].Resources}
			if seen.SeenGPUs() != 1 {
				t.Errorf("the autoscaler sees %d GPUs", seen.SeenGPUs())
			}
			for i := range rc.ManagedFields {
				if m := rc.ManagedFields[i]; m.Manager == devicefacts.Manager {
					want := `{"f:spec":{"f:workerGroupSpecs":{"k:{\"groupName\":\"gpu\"}":{"f:rayStartParams":{"f:num-gpus":{}}}}}}`
					if got := m.FieldsV1.GetRawString(); got != want && got != strings.Replace(want, `{"f:num-gpus"`, `{".":{},"f:num-gpus"`, 1) {
						t.Errorf("the operator owns %s", got)
					}
				}
			}
			if out, same := w.kubectl(manifest, append([]string{"diff", "-f", "-"}, flags...)...); !same {
				t.Errorf("kubectl diff:\n%s", out)
			}
			for range 2 {
				w.mustApply(manifest, flags...)
				if now := w.settled(); now.Generation != rc.Generation {
					t.Errorf("generation %d after the same manifest, before %d", now.Generation, rc.Generation)
				}
				if params, facts := w.facts("gpu"); !cmp.Equal(facts, gpus("gpu", "1")) || params["num-gpus"] != "1" {
					t.Errorf("after apply: parameters %v, facts %v", params, facts)
				}
			}
			// Another part of the group changes: what was stored stays.
			changed := strings.Replace(manifest, "maxReplicas: 3\n    rayStartParams", "maxReplicas: 5\n    rayStartParams", 1)
			w.mustApply(changed, flags...)
			if params, facts := w.facts("gpu"); !cmp.Equal(facts, gpus("gpu", "1")) || params["num-gpus"] != "1" {
				t.Errorf("after a change of bounds: parameters %v, facts %v", params, facts)
			}
			if out, same := w.kubectl(changed, append([]string{"diff", "-f", "-"}, flags...)...); !same {
				t.Errorf("kubectl diff:\n%s", out)
			}
		})
	}
}

// TestFactsFollowTheRegistry: facts follow the devices; what the user writes stays, and is the user's alone; a group goes with its facts.
func TestFactsFollowTheRegistry(t *testing.T) {
	t.Parallel()
	const serverSide = "--server-side"
	deviceManifest := func(asks, params string) string {
		return deviceManifest(asks, strings.TrimSuffix(`num-cpus: "1", `+params, ", "))
	}
	w := newWorld(t)
	w.asOperator()
	_, stop := w.startOperator(withDeviceFacts(t))
	w.mustApply(deviceManifest(`nvidia.com/mig-1g.10gb: "2"`, ""), serverSide)
	w.eventuallyFacts(gpus("gpu", "2"))
	w.mustApply(deviceManifest(`nvidia.com/mig-1g.10gb: "3"`, ""), serverSide)
	w.eventuallyFacts(gpus("gpu", "3"))
	w.mustApply(deviceManifest(`huawei.com/Ascend910B3: "1"`, ""), serverSide)
	w.eventuallyFacts(devicefacts.Facts{{Group: "gpu", Field: devicefacts.StartParams, Name: "resources"}: `'{"NPU":1}'`})
	w.mustApply(deviceManifest(`nvidia.com/gpu: "2"`, ""), serverSide) // which the autoscaler sees by itself
	w.eventuallyFacts(devicefacts.Facts{})
	if params, _ := w.facts("gpu"); len(params) != 1 {
		t.Errorf("parameters %v are left", params)
	}

	// Another number than the operator's is a conflict that says whose the field is, and the user's when it is forced.
	w.mustApply(deviceManifest(`nvidia.com/mig-1g.10gb: "2"`, ""), serverSide)
	w.eventuallyFacts(gpus("gpu", "2"))
	eight := deviceManifest(`nvidia.com/mig-1g.10gb: "2"`, `num-gpus: "8"`)
	if out, ok := w.kubectl(eight, "apply", "-f", "-", serverSide); ok || !strings.Contains(out, devicefacts.Manager) || !strings.Contains(out, "num-gpus") {
		t.Errorf("apply of another number: %s", out)
	}
	w.mustApply(eight, serverSide, "--force-conflicts")
	w.eventuallyFacts(devicefacts.Facts{})
	w.mustApply(strings.Replace(eight, `mig-1g.10gb: "2"`, `mig-1g.10gb: "3"`, 1), serverSide)
	w.settled()
	if params, facts := w.facts("gpu"); params["num-gpus"] != "8" || len(facts) > 0 {
		t.Errorf("the user's number: parameters %v, facts %v", params, facts)
	}

	// The same number as the operator's makes it the user's, who can change it without force from then on.
	w.mustApply(deviceManifest(`nvidia.com/mig-1g.10gb: "3"`, ""), serverSide)
	w.eventuallyFacts(gpus("gpu", "3"))
	w.mustApply(deviceManifest(`nvidia.com/mig-1g.10gb: "3"`, `num-gpus: "3"`), serverSide)
	w.Eventually("the operator to let go", func() bool {
		for _, m := range w.get("demo").ManagedFields {
			if m.Manager == devicefacts.Manager {
				return false
			}
		}
		return true
	})
	w.mustApply(deviceManifest(`nvidia.com/mig-1g.10gb: "3"`, `num-gpus: "5"`), serverSide)
	w.settled()
	if params, facts := w.facts("gpu"); params["num-gpus"] != "5" || len(facts) > 0 {
		t.Errorf("the user's number: parameters %v, facts %v", params, facts)
	}

	// An operator without the flag takes back what it stored.
	w.mustApply(deviceManifest(`nvidia.com/gpumem: "3000"`, ""), serverSide)
	w.eventuallyFacts(gpus("gpu", "1"))
	stop()
	_, stop = w.startOperator(func(c *Config) { withDeviceFacts(t)(c); c.DeviceFacts = false })
	w.eventuallyFacts(devicefacts.Facts{})
	stop()
	w.startOperator(withDeviceFacts(t))
	w.eventuallyFacts(gpus("gpu", "1"))

	// A group that leaves the manifest goes.
	manifest := deviceManifest(`nvidia.com/gpumem: "3000"`, "")
	gone := manifest[:strings.Index(manifest, "  - groupName: gpu")]
	w.mustApply(gone, serverSide)
	if rc := w.settled(); len(rc.Spec.WorkerGroupSpecs) != 1 || len(devicefacts.Stored(rc)) > 0 {
		t.Errorf("groups %+v", rc.Spec.WorkerGroupSpecs)
	}
	// It would not if the operator had applied its keys: that is why it patches.
	w.mustApply(manifest, serverSide)
	const applied = `{"apiVersion":"ray.io/v1","kind":"RayCluster","metadata":{"name":"demo"},"spec":{"workerGroupSpecs":[{"groupName":"gpu","rayStartParams":{"num-cpus":"1"}}]}}`
	rc := w.get("demo")
	if err := w.Client.Patch(t.Context(), rc, client.RawPatch(types.ApplyPatchType, []byte(applied)), client.FieldOwner("somebody")); err != nil {
		t.Fatal(err)
	}
	if out, ok := w.kubectl(gone, "apply", "-f", "-", serverSide); ok {
		t.Errorf("a group of which another manager has applied a key can be removed: %s; the operator could apply too", out)
	}
}

// TestResourcesOfTheGroup: a user who goes over to resources of the group is not kept from it by what the operator had stored.
func TestResourcesOfTheGroup(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.asOperator()
	w.keepFacts()
	w.startOperator(withDeviceFacts(t))
	manifest := deviceManifest(`nvidia.com/gpumem: "3000"`, "")
	w.mustApply(manifest, "--server-side")
	w.eventuallyFacts(gpus("gpu", "1"))
	w.mustApply(strings.Replace(manifest, "groupName: gpu", `groupName: gpu
    resources: {CPU: "2"}`, 1), "--server-side")
	w.eventuallyFacts(devicefacts.Facts{{Group: "gpu", Field: devicefacts.Resources, Name: "GPU"}: "1"})
	if params, _ := w.facts("gpu"); len(params) > 0 {
		t.Errorf("parameters %v besides resources", params)
	}
}

// TestFactsReplaceNoPod: neither what the operator stores nor what admission adds to Pods counts as another spec.
func TestFactsReplaceNoPod(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.asOperator()
	_, stop := w.startOperator(func(c *Config) { withDeviceFacts(t)(c); c.DeviceFacts = false })
	manifest := strings.Replace(deviceManifest(`nvidia.com/gpumem: "3000"`, ""), "spec:\n  enable", "spec:\n  upgradeStrategy: {type: Recreate}\n  enable", 1)
	w.mustApply(manifest, "--server-side")
	w.Eventually("all Pods", func() bool { return len(w.pods("demo")) == 3 })
	names := func() map[types.UID]string {
		out := map[types.UID]string{}
		for _, p := range w.pods("demo") {
			out[p.UID] = p.Name
		}
		return out
	}
	before := names()
	for _, p := range w.pods("demo") { // as admission may
		patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"devices.example.com/placed":"yes"},"labels":{"neighbour":"was-here"}}}`))
		if err := w.Client.Patch(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name}}, patch); err != nil {
			t.Fatal(err)
		}
	}
	stop()
	written, _ := w.startOperator(withDeviceFacts(t))
	w.eventuallyFacts(gpus("gpu", "1"))
	for _, touch := range []string{"one", "two", "three"} {
		w.ChangeCluster("demo", func(rc *rayv1.RayCluster) { rc.Labels = map[string]string{"touched": touch} })
		w.settled()
	}
	w.ChangeCluster("demo", func(rc *rayv1.RayCluster) { rc.Spec.WorkerGroupSpecs[0].MaxReplicas = new(int32(4)) })
	w.settled()
	if diff := cmp.Diff(before, names()); diff != "" {
		t.Errorf("Pods (-before +after):\n%s", diff)
	}
	if n := named(written.seen(), "/pods"); n != 0 {
		t.Errorf("%d writes to Pods: %v", n, written.seen())
	}
}
