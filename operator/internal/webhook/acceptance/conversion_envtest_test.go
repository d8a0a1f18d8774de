package acceptance

import (
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
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

// TestEditThroughOldVersion: an edit through v1alpha1 merges with what it cannot see.
func TestEditThroughOldVersion(t *testing.T) {
	c := connect(t)
	ns := newNamespace(t)
	create(t, c, "rayclusters", ns, cluster("a"))
	seen := get(t, c, "rayclusters", old, ns, "a")
	groups := field(t, seen.Object, "spec", "workerGroupSpecs").([]any)
	a := groups[0].(map[string]any)
	a["replicas"] = int64(4)
	added := map[string]any{"groupName": "new", "replicas": int64(0), "minReplicas": int64(0), "maxReplicas": int64(1), "rayStartParams": map[string]any{}, "template": a["template"]}
	seen.Object["spec"].(map[string]any)["workerGroupSpecs"] = []any{added, a} // b goes
	if _, err := c.clusters(old, ns).Update(t.Context(), seen, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	got := get(t, c, "rayclusters", hub, ns, "a").Object
	if g := group(t, got, "a"); g["replicas"] != int64(4) || g["numOfHosts"] != int64(2) {
		t.Errorf("group a: %v", g)
	}
	if g := group(t, got, "new"); g == nil || g["numOfHosts"] != int64(1) || g["labels"] != nil {
		t.Errorf("group new: %v", g)
	}
	if g := group(t, got, "b"); g != nil {
		t.Errorf("group b is back: %v", g)
	}
	if field(t, got, "spec", "managedBy") != "ray.io/kuberay-operator" {
		t.Error("managedBy is gone")
	}
}

// TestStrippedAnnotationOfPreservedFields: a client that strips the stash destroys nothing, and is told.
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

// TestStatusThroughOldVersion: a status written through v1alpha1 keeps the conditions, which only v1 has.
func TestStatusThroughOldVersion(t *testing.T) {
	c := connect(t)
	ns := newNamespace(t)
	create(t, c, "rayclusters", ns, cluster("a"))
	obj := get(t, c, "rayclusters", hub, ns, "a")
	obj.Object["status"] = map[string]any{"head": map[string]any{"podIP": "10.0.0.1", "podName": "a-head"}, "conditions": []any{map[string]any{"type": "HeadPodReady", "status": "True", "reason": "X", "message": "", "lastTransitionTime": "2024-01-01T00:00:00Z"}}}
	if _, err := c.clusters(hub, ns).UpdateStatus(t.Context(), obj, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	seen := get(t, c, "rayclusters", old, ns, "a")
	if err := unstructured.SetNestedField(seen.Object, "suspended", "status", "state"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.clusters(old, ns).UpdateStatus(t.Context(), seen, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	got := stored(t, "rayclusters", ns, "a")
	if field(t, got, "status", "state") != "suspended" || field(t, got, "status", "head", "podName") != "a-head" || field(t, got, "status", "conditions") == nil {
		t.Errorf("status %v", got["status"])
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

// TestForgedAnnotationOfPreservedFields: a forged stash gets nothing into v1 that v1 would refuse.
func TestForgedAnnotationOfPreservedFields(t *testing.T) {
	c := connect(t)
	ns := newNamespace(t)
	create(t, c, "rayclusters", ns, cluster("a"))
	before := stored(t, "rayclusters", ns, "a")
	forge := func(stash string) error {
		seen := get(t, c, "rayclusters", old, ns, "a")
		seen.SetAnnotations(map[string]string{extra: stash})
		_, err := c.clusters(old, ns).Update(t.Context(), seen, metav1.UpdateOptions{})
		return err
	}
	if err := forge(`{"$format":1,"spec":{"rayVersion":"1.0.0","managedBy":7,"headGroupSpec":{"template":{"spec":{"hostPID":true}}},"suspend":true}}`); err != nil {
		t.Errorf("what is ignored is refused: %v", err)
	}
	after := stored(t, "rayclusters", ns, "a")
	for _, path := range [][]string{{"spec", "rayVersion"}, {"spec", "managedBy"}, {"spec", "suspend"}, {"spec", "headGroupSpec", "template"}} {
		if !reflect.DeepEqual(field(t, before, path...), field(t, after, path...)) {
			t.Errorf("a forged stash changed %v to %v", path, field(t, after, path...))
		}
	}
	// An immutable field, and a value that v1 refuses: the schema of v1 is not asked, the webhook is.
	if err := forge(`{"$format":1,"spec":{"managedBy":"kueue.x-k8s.io/multikueue"}}`); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "spec.managedBy") {
		t.Errorf("managedBy changed through the stash: %v", err)
	}
	if err := forge(`{"$format":1,"spec":{"upgradeStrategy":{"type":"Sideways"}}}`); !apierrors.IsInvalid(err) {
		t.Errorf("a value outside of the enum through the stash: %v", err)
	}
}
