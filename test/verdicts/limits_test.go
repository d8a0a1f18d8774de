package verdicts

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// The bounds that CEL needs stand where KubeRay has none. They refuse nothing that etcd would take.

// manyGroups is a cluster of n groups of the smallest form that KubeRay acts on.
func manyGroups(name string, n int) *unstructured.Unstructured {
	pod := map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"name": "a"}}}}
	groups := make([]any, n)
	for i := range groups {
		groups[i] = map[string]any{"groupName": fmt.Sprintf("%x", i), "maxReplicas": int64(0), "template": pod}
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": map[string]any{"name": name},
		"spec": map[string]any{"headGroupSpec": map[string]any{"template": pod}, "workerGroupSpecs": groups},
	}}
}

// TestManyGroupsAndLabels stores a cluster with more than a thousand groups and scales it.
func TestManyGroupsAndLabels(t *testing.T) {
	needLab(t)
	clusters := resourceOf("rayclusters")
	u := manyGroups("many-groups", 1500)
	labels := map[string]any{}
	for i := range 2000 {
		labels[fmt.Sprintf("l%d", i)] = "x"
	}
	if err := unstructured.SetNestedMap(u.Object, labels, "spec", "headGroupSpec", "labels"); err != nil {
		t.Fatal(err)
	}
	u.Object["spec"].(map[string]any)["workerGroupSpecs"].([]any)[7].(map[string]any)["labels"] = labels
	if err := createLarge(t, u); err != nil {
		t.Fatalf("1500 groups and 2000 labels are refused: %v", err)
	}
	scale := `[{"op":"replace","path":"/spec/workerGroupSpecs/1499/replicas","value":4}]`
	if _, err := clusters.Patch(t.Context(), "many-groups", "application/json-patch+json", []byte(scale), metav1.PatchOptions{}); err != nil {
		t.Errorf("scaling one of many groups is refused: %v", err)
	}
	bad := `[{"op":"replace","path":"/spec/workerGroupSpecs/1499/minReplicas","value":-4}]`
	_, err := clusters.Patch(t.Context(), "many-groups", "application/json-patch+json", []byte(bad), metav1.PatchOptions{})
	wantRefusal(t, "a wrong one of many groups", err, "RC-040")
	// A repeated request may find that the first one has deleted the cluster, as in createLarge.
	if err := clusters.Delete(t.Context(), "many-groups", metav1.DeleteOptions{}); client.IgnoreNotFound(err) != nil {
		t.Error(err)
	}
}

// createLarge stores a new cluster. The client repeats a request that timed out, which a large object does under load; that the first one has stored it is no error.
func createLarge(t *testing.T, u *unstructured.Unstructured) error {
	t.Helper()
	_, err := resourceOf("rayclusters").Create(t.Context(), u, metav1.CreateOptions{})
	return client.IgnoreAlreadyExists(err)
}

// ray is a RayCluster with the given spec around a valid head.
func ray(t *testing.T, name, more string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	text := fmt.Sprintf("{apiVersion: ray.io/v1, kind: RayCluster, metadata: {name: %s}, spec: {headGroupSpec: {template: {spec: {containers: [{name: ray}]}}}%s}}", name, more)
	if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return u
}

// TestLargestObject writes the largest cluster that anybody has, and asks for all rules.
func TestLargestObject(t *testing.T) {
	needLab(t)
	var groups []string
	for i := range 128 {
		var labels []string
		for l := range 32 {
			labels = append(labels, fmt.Sprintf("example.com/label-number-%d: value-%d", l, l))
		}
		groups = append(groups, fmt.Sprintf("{groupName: group-%d, idleTimeoutSeconds: 60, priority: 1, labels: {%s}, template: {spec: {containers: [{name: ray}]}}}", i, strings.Join(labels, ", ")))
	}
	more := ", rayVersion: 2.60.0, enableInTreeAutoscaling: true, autoscalerOptions: {version: v2}, networkPolicy: {}, workerGroupSpecs: [" + strings.Join(groups, ", ") + "]"
	wantRefusal(t, "the largest cluster", createLarge(t, ray(t, "largest", more)), "")
	_, err := resourceOf("rayclusters").Patch(t.Context(), "largest", types.JSONPatchType, []byte(`[{"op":"replace","path":"/spec/workerGroupSpecs/100/replicas","value":3}]`), metav1.PatchOptions{})
	wantRefusal(t, "scaling it", err, "")
}
