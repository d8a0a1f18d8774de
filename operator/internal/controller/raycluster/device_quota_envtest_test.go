package raycluster

import (
	"context"
	"encoding/base64"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/raytest"
	"github.com/raygate/raygate/operator/internal/devicequota"
	"github.com/raygate/raygate/operator/internal/webhook/deviceadmission"
	"github.com/raygate/raygate/pkg/devices/load"
	"github.com/raygate/raygate/pkg/devices/shipped"
	"github.com/raygate/raygate/test/controlplane"
)

// admitDevices has device admission look at the Pods of the namespace, as its component registers it.
func (w *world) admitDevices() *devicequota.Engine {
	w.T.Helper()
	p, err := load.Registry(shipped.HAMi)
	if err != nil {
		w.T.Fatal(err)
	}
	live := load.NewLive(p)
	known, err := cache.New(w.config, cache.Options{
		Scheme: controlplane.Scheme(w.T), DefaultNamespaces: w.Namespaces(), ByObject: map[client.Object]cache.ByObject{&corev1.Pod{}: {Transform: devicequota.Slim}},
	})
	if err != nil {
		w.T.Fatal(err)
	}
	engine := devicequota.New(devicequota.Options{Registry: live, Clock: clock.RealClock{}})
	ctx, cancel := context.WithCancel(context.Background())
	w.T.Cleanup(cancel)
	if err := engine.Watch(ctx, known); err != nil {
		w.T.Fatal(err)
	}
	go func() { _ = known.Start(ctx) }()
	w.Eventually("all Pods to be known", engine.Ready)
	mux := &hooks{ServeMux: http.NewServeMux()}
	deviceadmission.Register(mux, live, engine, deviceadmission.NewMetrics())
	server := httptest.NewTLSServer(mux)
	w.T.Cleanup(server.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	for _, kind := range []string{"Mutating", "Validating"} {
		data, err := os.ReadFile(filepath.Join("..", "..", "..", "config", "components", "device-admission", strings.ToLower(kind)+"_patch.yaml"))
		if err != nil {
			w.T.Fatal(err)
		}
		var patch []struct{ Value map[string]any }
		if err := yaml.Unmarshal(data, &patch); err != nil || len(patch) != 1 {
			w.T.Fatalf("%v, %d operations", err, len(patch))
		}
		hook := patch[0].Value
		path := hook["clientConfig"].(map[string]any)["service"].(map[string]any)["path"].(string)
		hook["clientConfig"] = map[string]any{"url": server.URL + path, "caBundle": base64.StdEncoding.EncodeToString(ca)}
		hook["namespaceSelector"] = map[string]any{"matchLabels": map[string]any{"kubernetes.io/metadata.name": w.Namespace}}
		u := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind + "WebhookConfiguration", "metadata": map[string]any{"name": "devices-" + w.Namespace}, "webhooks": []any{hook},
		}}
		w.Create(u)
		w.T.Cleanup(func() { _ = w.Client.Delete(context.Background(), u) })
	}
	probe := func() *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: w.At("probe"), Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i", Resources: gpuMemory("1")}}}}
		p.Labels = map[string]string{rayv1.LabelNodeType: "worker"}
		return p
	}
	w.Eventually("the API server to call both webhooks", func() bool {
		before := mux.calls.Load()
		_ = w.Client.Create(w.T.Context(), probe(), client.DryRunAll)
		return mux.calls.Load() >= before+2
	})
	return engine
}

func gpuMemory(mib string) corev1.ResourceRequirements {
	return corev1.ResourceRequirements{Limits: corev1.ResourceList{"cpu": resource.MustParse("1"), "nvidia.com/gpumem": resource.MustParse(mib)}}
}

// TestRefusalByDeviceQuota: a quota that has room for two of five workers is shown by a condition and one event, however often it is tried, holds up no other
// group, and the others come when it is raised.
func TestRefusalByDeviceQuota(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	engine := w.admitDevices()
	w.asOperator()
	quota := &corev1.ResourceQuota{ObjectMeta: w.At("team-a-gpu"), Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"limits.nvidia.com/gpumem": resource.MustParse("8192")}}}
	w.Create(quota)
	w.Eventually("the quota to be known", func() bool { return engine.Knows(quota) })
	written, _ := w.startOperator(withDeviceFacts(t))
	rc := w.cluster("demo",
		raytest.Workers("gpu", 5, raytest.GroupContainer(func(c *corev1.Container) { c.Resources = gpuMemory("4096") })),
		raytest.Workers("zcpu", 1))
	w.Create(rc)
	workers := func(group string) (n int) {
		for _, p := range w.pods("demo") {
			if p.Labels[rayv1.LabelGroup] == group {
				n++
			}
		}
		return n
	}
	w.Eventually("the condition", func() bool {
		c := meta.FindStatusCondition(w.get("demo").Status.Conditions, rayv1.RayClusterReplicaFailure)
		return c != nil && strings.Contains(c.Message, "team-a-gpu")
	})
	w.Eventually("the other group", func() bool { return workers("zcpu") == 1 })
	tried := named(written.seen(), "/pods")
	w.Eventually("more attempts", func() bool { return named(written.seen(), "/pods") >= tried+2 })
	now := w.get("demo")
	failure, stalled := meta.FindStatusCondition(now.Status.Conditions, rayv1.RayClusterReplicaFailure), meta.FindStatusCondition(now.Status.Conditions, rayv1.RayClusterStalled)
	for _, text := range []string{"creating workers of group gpu", `quota "team-a-gpu": nvidia.com/gpumem requested 4096 MiB`, "hard 8192 MiB"} {
		if failure == nil || !strings.Contains(failure.Message, text) {
			t.Errorf("condition %+v lacks %q", failure, text)
		}
	}
	if stalled == nil || stalled.Reason != rayv1.ReasonQuotaExceeded {
		t.Errorf("condition %+v", stalled)
	}
	if n := workers("gpu"); n != 2 {
		t.Errorf("%d workers, want 2", n)
	}
	if notes := w.Events("demo", "FailedToCreateWorkerPod"); len(notes) != 1 {
		t.Errorf("%d events, want one: %q", len(notes), notes)
	}
	before := quota.DeepCopy()
	quota.Spec.Hard["limits.nvidia.com/gpumem"] = resource.MustParse("20480")
	if err := w.Client.Patch(t.Context(), quota, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	w.Eventually("all workers", func() bool { return workers("gpu") == 5 })
	w.Eventually("the end of the condition", func() bool {
		return meta.FindStatusCondition(w.get("demo").Status.Conditions, rayv1.RayClusterReplicaFailure) == nil
	})
}
