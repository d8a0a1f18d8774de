package v1

import (
	"context"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/await"
	"github.com/raygate/raygate/proto/gen/go/kuberay"
)

// kindPath is where objects of a kind are on the Kubernetes-shaped paths.
func (w *world) kindPath(resource string, name ...string) string {
	return strings.Join(append([]string{"/apis/ray.io/v1/namespaces", w.namespace, resource}, name...), "/")
}

const group = `
headGroupSpec:
  computeTemplate: full
  rayStartParams: {}
  template: {spec: {containers: [{name: ray-head, image: i:1}], tolerations: [{key: own, operator: Exists}]}}
workerGroupSpecs:
- groupName: w
  computeTemplate: full
  replicas: 1
  minReplicas: 1
  maxReplicas: 1
  rayStartParams: {}
  template: {spec: {containers: [{name: ray-worker, image: i:1}, {name: sidecar, image: s:1}]}}
`

// kinds are the custom resources with the place of their cluster's spec, which stands in the YAML as CLUSTER.
var kinds = map[string]struct{ kind, spec, path string }{
	"rayclusters": {"RayCluster", "spec:CLUSTER", "spec"},
	"rayjobs":     {"RayJob", "spec:\n  entrypoint: \"true\"\n  rayClusterSpec:CLUSTER", "rayClusterSpec"},
	"rayservices": {"RayService", "spec:\n  serveConfigV2: |\n    applications: []\n  rayClusterConfig:CLUSTER", "rayClusterConfig"},
}

func TestKubernetesPaths(t *testing.T) {
	t.Run("create with computeTemplate, get, list, update, delete of every kind", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.ok("POST", w.path("compute_templates"), &kuberay.ComputeTemplate{
			Name: "full", Namespace: w.namespace, Cpu: 2, Memory: 4, Gpu: 1, ExtendedResources: map[string]uint32{"vendor.example/dev": 2}, Tolerations: []*kuberay.PodToleration{{Key: "k", Operator: "Exists", Effect: "NoSchedule"}},
		}, &kuberay.ComputeTemplate{})
		for resource, kind := range kinds {
			t.Run(resource, func(t *testing.T) { testKind(w.in(t), resource, kind.kind, kind.spec, kind.path) })
		}
	})
	t.Run("Service proxy", func(t *testing.T) {
		t.Parallel()
		testServiceProxy(newWorld(t))
	})
}

func testKind(w *world, resource, kind, spec, below string) {
	indent := "\n  "
	if below != "spec" {
		indent = "\n    "
	}
	body := "apiVersion: ray.io/v1\nkind: " + kind + "\nmetadata: {name: demo}\n" + strings.ReplaceAll(spec, "CLUSTER", strings.TrimRight(strings.ReplaceAll(group, "\n", indent), " \n")) + "\n"
	code, answer, err := w.send(w.Context(), "POST", w.kindPath(resource), []byte(strings.ReplaceAll(body, "full", "missing")), "Content-Type", "application/yaml")
	if err != nil || code != 422 || !strings.Contains(string(answer), `"kind":"Status"`) || !strings.Contains(string(answer), "missing") {
		w.Errorf("a template that is missing: %d %s %v", code, answer, err)
	}
	if code, answer, err = w.send(w.Context(), "POST", w.kindPath(resource), []byte(body), "Content-Type", "application/yaml"); err != nil || code != 201 {
		w.Fatalf("create: %d %s %v", code, answer, err)
	}
	stored := &unstructured.Unstructured{}
	stored.SetAPIVersion("ray.io/v1")
	stored.SetKind(kind)
	w.stored("demo", stored)
	tree, _ := stored.Object["spec"].(map[string]any)
	if below != "spec" {
		tree, _ = tree[below].(map[string]any)
	}
	head, _ := tree["headGroupSpec"].(map[string]any)
	worker, _ := tree["workerGroupSpecs"].([]any)[0].(map[string]any)
	for name, g := range map[string]map[string]any{"ray-head": head, "ray-worker": worker} {
		wantTemplate(w, name, g)
	}
	if _, there := head["computeTemplate"]; there {
		w.Error("the name of the template is stored")
	}
	if code, answer, err = w.send(w.Context(), "GET", w.kindPath(resource, "demo"), nil); err != nil || code != 200 {
		w.Errorf("get: %d %s %v", code, answer, err)
	}
	if code, _, err := w.send(w.Context(), "PUT", w.kindPath(resource, "demo"), answer, "Content-Type", "application/json"); err != nil || code != 200 && code != 409 {
		w.Errorf("update: %d %v", code, err) // 409 when the operator was faster
	}
	code, answer, err = w.send(w.Context(), "GET", w.kindPath(resource), nil)
	if err != nil || code != 200 || !strings.Contains(string(answer), `"name":"demo"`) {
		w.Errorf("list: %d %s %v", code, answer, err)
	}
	if code, answer, err = w.send(w.Context(), "DELETE", w.kindPath(resource, "demo"), nil); err != nil || code != 200 {
		w.Errorf("delete: %d %s %v", code, answer, err)
	}
	if code, _, err = w.send(w.Context(), "GET", w.kindPath(resource, "none"), nil); err != nil || code != 404 {
		w.Errorf("get of nothing: %d %v", code, err)
	}
}

// wantTemplate demands the size of the template on the Ray container and no other, its tolerations beside the group's own, and the annotation.
func wantTemplate(w *world, name string, g map[string]any) {
	containers, _, _ := unstructured.NestedSlice(g, "template", "spec", "containers")
	tolerations, _, _ := unstructured.NestedSlice(g, "template", "spec", "tolerations")
	annotation, _, _ := unstructured.NestedString(g, "template", "metadata", "annotations", "ray.io/compute-template")
	size := map[string]any{"cpu": "2", "memory": "4Gi", "nvidia.com/gpu": "1", "vendor.example/dev": "2"}
	for _, item := range containers {
		c := item.(map[string]any)
		var want any
		if c["name"] == name {
			want = map[string]any{"limits": size, "requests": size}
		}
		if diff := cmp.Diff(want, c["resources"]); diff != "" {
			w.Errorf("resources of %v of %s (-want +got):\n%s", c["name"], name, diff)
		}
	}
	own := map[string]any{"key": "own", "operator": "Exists"}
	want := []any{map[string]any{"key": "k", "operator": "Exists", "effect": "NoSchedule"}}
	if name == "ray-head" {
		want = append([]any{own}, want...)
	}
	if diff := cmp.Diff(want, tolerations); diff != "" || annotation != "full" {
		w.Errorf("%s: annotation %q, tolerations (-want +got):\n%s", name, annotation, diff)
	}
}

// testServiceProxy reaches the dashboard of a cluster, and follows a log over a WebSocket.
func testServiceProxy(w *world) {
	w.ok("POST", w.path("clusters"), w.cluster("demo"), &kuberay.Cluster{})
	w.provisioned("demo")
	ctx, cancel := context.WithTimeout(w.Context(), await.Limit)
	defer cancel()
	rc := &rayv1.RayCluster{}
	w.stored("demo", rc)
	service := "/api/v1/namespaces/" + w.namespace + "/services/" + rc.Status.Head.ServiceName
	for _, port := range []string{":8265", ":dashboard"} {
		for _, end := range []string{"/proxy/api/version", "/proxy/api/jobs/"} {
			if code, answer, err := w.send(ctx, "GET", service+port+end, nil); err != nil || code != 200 {
				w.Errorf("%s%s: %d %s %v", port, end, code, answer, err)
			}
		}
	}
	other := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "other", Namespace: w.namespace}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}
	if err := product.kube.Create(ctx, other); err != nil {
		w.Fatal(err)
	}
	for _, name := range []string{"other", "other:80", "http:other:80", "none"} {
		code, answer, err := w.send(ctx, "GET", "/api/v1/namespaces/"+w.namespace+"/services/"+name+"/proxy/", nil)
		if err != nil || code != 404 || !strings.Contains(string(answer), "kuberay service not found") {
			w.Errorf("%s: %d %s %v", name, code, answer, err)
		}
	}
	code, answer, err := w.send(ctx, "POST", service+":8265/proxy/api/jobs/", []byte(`{"entrypoint":"echo one; sleep 1; echo two","submission_id":"tailed"}`))
	if err != nil || code != 200 {
		w.Fatalf("submit: %d %s %v", code, answer, err)
	}
	conn, _, err := websocket.Dial(ctx, strings.Replace(w.base, "http", "ws", 1)+service+":8265/proxy/api/jobs/tailed/logs/tail", nil)
	if err != nil {
		w.Fatalf("the upgrade to WebSocket: %v", err)
	}
	defer conn.CloseNow()
	var log strings.Builder
	for !strings.Contains(log.String(), "two\n") {
		_, data, err := conn.Read(ctx)
		if err != nil {
			w.Fatalf("after %q: %v", log.String(), err)
		}
		log.Write(data)
	}
	if log.String() != "one\ntwo\n" {
		w.Errorf("the log is %q", log.String())
	}
}
