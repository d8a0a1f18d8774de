package chart

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func documents(t *testing.T, file string) []*unstructured.Unstructured {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out []*unstructured.Unstructured
	for text := range strings.SplitSeq(string(data), "\n---\n") {
		out = append(out, decode(t, []byte(text)))
	}
	return out
}

// The samples for Argo CD and Flux name charts that exist, with values that these take.
func TestSamplesForGitOps(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, "samples/gitops/*/*.yaml"))
	if err != nil || len(files) != 4 {
		t.Fatalf("samples %v, %v", files, err)
	}
	rendered := 0
	for _, file := range files {
		for _, o := range documents(t, file) {
			name, values := "", map[string]any{}
			switch o.GetKind() {
			case "Application":
				name, _, _ = unstructured.NestedString(o.Object, "spec", "source", "chart")
				values, _, _ = unstructured.NestedMap(o.Object, "spec", "source", "helm", "valuesObject")
			case "HelmRelease":
				name, _, _ = unstructured.NestedString(o.Object, "spec", "chart", "spec", "chart")
				values, _, _ = unstructured.NestedMap(o.Object, "spec", "values")
			}
			if name == "" {
				continue
			}
			text, err := yaml.Marshal(values)
			if err != nil {
				t.Fatal(err)
			}
			objects := renderChart(t, loadFrom(t, filepath.Join(root, "charts", name)), namespace, string(text))
			if crds := has(objects, "CustomResourceDefinition", "rayclusters.ray.io"); crds != (name == "raygate-crds") {
				t.Errorf("%s: %s has CRDs: %t", file, key(o), crds)
			}
			rendered++
		}
	}
	if rendered != 4 {
		t.Errorf("%d charts were rendered, want two of each tool", rendered)
	}
}

// The claim of the sample for dynamic resource allocation has the fields of the API, and the RayJob names it.
func TestSampleForDRA(t *testing.T) {
	claim := find[resourcev1.ResourceClaimTemplate](t, documents(t, filepath.Join(root, "samples/dra/claim.yaml")), "ResourceClaimTemplate", "one-gpu")
	if claim.Spec.Spec.Devices.Requests[0].Exactly == nil {
		t.Errorf("the claim asks for %+v", claim.Spec.Spec.Devices)
	}
	job, err := os.ReadFile(filepath.Join(root, "samples/rayjob.dra.yaml"))
	if err != nil || !strings.Contains(string(job), "resourceClaimTemplateName: one-gpu") {
		t.Errorf("the RayJob does not name the claim: %v", err)
	}
}

// The queue of the samples for Kueue is the one that these name.
func TestSamplesForKueue(t *testing.T) {
	if !has(documents(t, filepath.Join(root, "samples/kueue/queues.yaml")), "LocalQueue", "team-a") {
		t.Error("there is no LocalQueue team-a")
	}
	files, err := filepath.Glob(filepath.Join(root, "samples/*.kueue.yaml"))
	if err != nil || len(files) < 3 {
		t.Fatalf("samples %v, %v", files, err)
	}
	for _, file := range files {
		if o := documents(t, file)[0]; o.GetLabels()["kueue.x-k8s.io/queue-name"] != "team-a" {
			t.Errorf("%s is in the queue %q", file, o.GetLabels()["kueue.x-k8s.io/queue-name"])
		}
	}
}
