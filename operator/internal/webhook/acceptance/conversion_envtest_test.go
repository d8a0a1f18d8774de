package acceptance

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// TestStoredForm: whatever version a client writes, v1 is stored, without the stash.
func TestStoredForm(t *testing.T) {
	c := connect(t)
	ns := newNamespace(t)
	text := oldCluster("a")
	made := create(t, c, "rayclusters", ns, text)
	if _, has := made.GetAnnotations()[extra]; !has {
		t.Error("the answer as v1alpha1 has no stash, although defaults of v1 were filled in")
	}
	got := stored(t, "rayclusters", ns, "a")
	if got["apiVersion"] != "ray.io/v1" {
		t.Errorf("stored as %v", got["apiVersion"])
	}
	if field(t, got, "metadata", "annotations") != nil {
		t.Errorf("stored with annotations %v", field(t, got, "metadata", "annotations"))
	}
	// The same defaults whatever version wrote.
	if g := group(t, got, "b"); g["numOfHosts"] != float64(1) || g["priority"] != float64(0) {
		t.Errorf("written through v1alpha1, group b is stored without the defaults of v1: %v", g)
	}
}

// TestReadModifyWriteLosesNothing: an old client that reads and writes back, or patches a label, changes nothing else.
func TestReadModifyWriteLosesNothing(t *testing.T) {
	c := connect(t)
	ns := newNamespace(t)
	create(t, c, "rayclusters", ns, cluster("a"))
	before := stored(t, "rayclusters", ns, "a")

	seen := get(t, c, "rayclusters", old, ns, "a")
	if field(t, seen.Object, "spec", "managedBy") != nil || group(t, seen.Object, "a")["numOfHosts"] != nil {
		t.Error("v1alpha1 shows a field of v1")
	}
	if _, err := c.clusters(old, ns).Update(t.Context(), seen, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before["spec"], stored(t, "rayclusters", ns, "a")["spec"]); diff != "" {
		t.Errorf("GET and PUT through v1alpha1 (-before +after):\n%s", diff)
	}
	if _, err := c.clusters(old, ns).Patch(t.Context(), "a", types.MergePatchType, []byte(`{"metadata":{"labels":{"team":"x"}}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	after := stored(t, "rayclusters", ns, "a")
	if diff := cmp.Diff(before["spec"], after["spec"]); diff != "" {
		t.Errorf("a label through v1alpha1 (-before +after):\n%s", diff)
	}
	if field(t, after, "metadata", "labels", "team") != "x" || field(t, after, "metadata", "generation") != float64(1) {
		t.Errorf("metadata %v", after["metadata"])
	}
}

// TestStrippedAnnotationOfPreservedFields: a client that removes the annotation loses no fields, and gets a warning.
func TestStrippedAnnotationOfPreservedFields(t *testing.T) {
	c := connect(t)
	ns := newNamespace(t)
	create(t, c, "rayclusters", ns, cluster("a"))
	status := get(t, c, "rayclusters", hub, ns, "a")
	status.Object["status"] = map[string]any{"state": "ready", "conditions": []any{map[string]any{"type": "HeadPodReady", "status": "True", "reason": "X", "message": "", "lastTransitionTime": "2024-01-01T00:00:00Z"}}}
	if _, err := c.clusters(hub, ns).UpdateStatus(t.Context(), status, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	before := stored(t, "rayclusters", ns, "a")
	for name, strip := range map[string]func(*unstructured.Unstructured){
		"annotation":                func(obj *unstructured.Unstructured) { obj.SetAnnotations(nil) },
		"annotation and the status": func(obj *unstructured.Unstructured) { obj.SetAnnotations(nil); delete(obj.Object, "status") },
	} {
		seen := get(t, c, "rayclusters", old, ns, "a")
		strip(seen)
		c.taken()
		if _, err := c.clusters(old, ns).Update(t.Context(), seen, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		if got := c.taken(); !strings.Contains(got, "spec.managedBy") || !strings.Contains(got, "were kept") {
			t.Errorf("without %s: warnings %q", name, got)
		}
		after := stored(t, "rayclusters", ns, "a")
		delete(group(t, after, "a"), "rayStartParams")
		delete(group(t, after, "b"), "rayStartParams")
		delete(field(t, after, "spec", "headGroupSpec").(map[string]any), "rayStartParams") // {} instead of nothing is all that remains
		if diff := cmp.Diff(before["spec"], after["spec"]); diff != "" {
			t.Errorf("without %s: spec (-before +after):\n%s", name, diff)
		}
		if diff := cmp.Diff(before["status"], after["status"]); diff != "" {
			t.Errorf("without %s: status (-before +after):\n%s", name, diff)
		}
	}
}

// TestApplyThroughBothVersions: server-side apply through both versions, by two managers.
func TestApplyThroughBothVersions(t *testing.T) {
	c := connect(t)
	ns := newNamespace(t)
	text := oldCluster("a")
	apply := func(version, manager, text string) {
		t.Helper()
		obj := decode(text)
		if _, err := c.clusters(version, ns).Apply(t.Context(), "a", obj, metav1.ApplyOptions{FieldManager: manager}); err != nil {
			t.Errorf("%s applies %s: %v", manager, version, err)
		}
	}
	apply(old, "first", text)
	apply(hub, "second", "{apiVersion: ray.io/v1, kind: RayCluster, metadata: {name: a}, spec: {upgradeStrategy: {type: None}, headGroupSpec: {labels: {zone: south}}}}")
	apply(old, "first", strings.Replace(text, "suspend: false", "suspend: true", 1))
	apply(old, "first", strings.Replace(text, "suspend: false", "suspend: true", 1))
	got := stored(t, "rayclusters", ns, "a")
	if field(t, got, "spec", "headGroupSpec", "labels", "zone") != "south" || field(t, got, "spec", "upgradeStrategy", "type") != "None" || field(t, got, "spec", "suspend") != true {
		t.Errorf("stored spec %v", got["spec"])
	}
}
