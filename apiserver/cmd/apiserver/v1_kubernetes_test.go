package main

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/raygate/raygate/proto/gen/go/kuberay"
)

// TestV1KubernetesPaths has a client of Kubernetes use the gateway as if it were the API server, for Ray's objects.
func TestV1KubernetesPaths(t *testing.T) {
	w := newV1World(t)
	k, err := dynamic.NewForConfig(&rest.Config{Host: "http://" + w.base, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	clusters := k.Resource(schema.GroupVersionResource{Group: "ray.io", Version: "v1", Resource: "rayclusters"}).Namespace(w.namespace)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	watch, err := clusters.Watch(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Stop()
	path := "/apis/ray.io/v1/namespaces/" + w.namespace + "/rayclusters"
	yaml := func(template string) string {
		return `
apiVersion: ray.io/v1
kind: RayCluster
metadata: {name: shaped}
spec:
  rayVersion: 2.46.0
  headGroupSpec:
    computeTemplate: ` + template + `
    rayStartParams: {}
    template:
      spec:
        containers:
        - {name: sidecar, image: "sidecar:1"}
        - {name: ray-head, image: "rayproject/ray:2.46.0"}
`
	}
	post := func(body string) (int, string) {
		r, err := http.NewRequestWithContext(ctx, "POST", "http://"+w.base+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/yaml")
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := bufio.NewReader(resp.Body).ReadString(0)
		_ = err // the end of the body
		return resp.StatusCode, text
	}
	code, text := post(yaml("bogus"))
	var st metav1.Status
	if err := json.Unmarshal([]byte(text), &st); code != 422 || err != nil || !strings.Contains(st.Message, "bogus") {
		t.Errorf("a template that there is not: %d %s", code, text)
	}
	if code, text := post(yaml("default-template")); code != 201 {
		t.Fatalf("%d %s", code, text)
	}
	select {
	case event := <-watch.ResultChan():
		if event.Object.(*unstructured.Unstructured).GetName() != "shaped" {
			t.Errorf("watched %v", event)
		}
	case <-ctx.Done():
		t.Error("the watch shows nothing")
	}
	got, err := clusters.Get(ctx, "shaped", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	containers, _, _ := unstructured.NestedSlice(got.Object, "spec", "headGroupSpec", "template", "spec", "containers")
	cpu, _, _ := unstructured.NestedString(containers[1].(map[string]any), "resources", "limits", "cpu")
	_, spoilt, _ := unstructured.NestedMap(containers[0].(map[string]any), "resources", "limits")
	annotation, _, _ := unstructured.NestedString(got.Object, "spec", "headGroupSpec", "template", "metadata", "annotations", "ray.io/compute-template")
	if cpu != "1" || spoilt || annotation != "default-template" {
		t.Errorf("the template is expanded to %v, annotation %q", containers, annotation)
	}
	list, err := clusters.List(ctx, metav1.ListOptions{LabelSelector: "a=b"})
	if err != nil || len(list.Items) != 0 {
		t.Errorf("listed %v, %v", list, err)
	}
	// The same object by V1 and v2.
	eventually(t, "the object is there", func() bool {
		code, _, _ := w.send(t, "GET", "/apis/v2/namespaces/"+w.namespace+"/clusters/shaped", "")
		return code == 200
	})
	byV1 := &kuberay.Cluster{}
	w.want(t, 200, "GET", w.path("clusters", "shaped"), nil, byV1)
	if head := byV1.GetClusterSpec().GetHeadGroupSpec(); head.GetComputeTemplate() != "default-template" || head.GetImage() != "rayproject/ray:2.46.0" {
		t.Errorf("V1 shows %v", byV1)
	}
	if err := clusters.Delete(ctx, "shaped", metav1.DeleteOptions{}); err != nil {
		t.Error(err)
	}
}
