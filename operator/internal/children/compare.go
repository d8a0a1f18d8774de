package children

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// track records the operator's annotations on the object, so that it can remove them later without touching others.
func track(o client.Object) {
	a := o.GetAnnotations()
	delete(a, rayv1.AnnotationAppliedAnnotations)
	if len(a) == 0 {
		return
	}
	a[rayv1.AnnotationAppliedAnnotations] = strings.Join(slices.Sorted(maps.Keys(a)), ",")
	o.SetAnnotations(a)
}

// mergePatch returns the patch that changes current to desired, or nil if nothing differs.
func mergePatch(desired, current client.Object, r rules) (client.Patch, error) {
	wanted, err := wantedOf(desired, current, r)
	if err != nil {
		return nil, err
	}
	found, err := bodyOf(current)
	if err != nil || satisfied(wanted, found, r) {
		return nil, err
	}
	return versioned(wanted, current)
}

// wantedOf returns the fields that a builder sets: labels, annotations and everything outside metadata and status. The value of an
// annotation to remove is nil.
func wantedOf(desired, current client.Object, r rules) (map[string]any, error) {
	body, err := bodyOf(desired)
	if err != nil {
		return nil, err
	}
	if _, partial := current.(*metav1.PartialObjectMetadata); partial {
		body = map[string]any{} // the other fields are unknown
	}
	meta := map[string]any{}
	if l := desired.GetLabels(); len(l) > 0 {
		meta["labels"] = mapOf(l)
	}
	if a := annotationsOf(desired, current); len(a) > 0 {
		meta["annotations"] = a
	}
	body["metadata"] = meta
	for _, path := range slices.Concat(r.once, [][]string{{"status"}, {"apiVersion"}, {"kind"}}) {
		unstructured.RemoveNestedField(body, path...)
	}
	return body, nil
}

func bodyOf(o client.Object) (map[string]any, error) {
	if u, ok := o.(*unstructured.Unstructured); ok {
		return runtime.DeepCopyJSON(u.Object), nil // the converter may return the map itself
	}
	return runtime.DefaultUnstructuredConverter.ToUnstructured(o)
}

func annotationsOf(desired, current client.Object) map[string]any {
	a := mapOf(desired.GetAnnotations())
	have := current.GetAnnotations()
	for key := range strings.SplitSeq(have[rayv1.AnnotationAppliedAnnotations], ",") {
		if _, still := a[key]; !still && key != "" {
			if _, there := have[key]; there {
				a[key] = nil
			}
		}
	}
	if _, tracked := have[rayv1.AnnotationAppliedAnnotations]; tracked && len(desired.GetAnnotations()) == 0 {
		a[rayv1.AnnotationAppliedAnnotations] = nil
	}
	return a
}

func mapOf(m map[string]string) map[string]any {
	out := make(map[string]any, len(m))
	for k, v := range m {
		out[k] = v
	}
	return out
}

// satisfied reports whether found contains wanted. For exact paths that differ, it adds nil values to wanted, so that the patch
// removes extra keys.
func satisfied(wanted, found map[string]any, r rules) bool {
	ok := true
	for _, path := range r.exact {
		w, _, _ := unstructured.NestedFieldNoCopy(wanted, path...)
		f, _, _ := unstructured.NestedFieldNoCopy(found, path...)
		if !equality.Semantic.DeepEqual(w, f) {
			ok = false
			_ = unstructured.SetNestedField(wanted, emptied(w, f), path...) // cannot fail: builders return objects at these paths
		}
	}
	annotations, _, _ := unstructured.NestedMap(wanted, "metadata", "annotations")
	have, _, _ := unstructured.NestedMap(found, "metadata", "annotations")
	for key, v := range annotations {
		if _, there := have[key]; v == nil && there {
			return false
		}
	}
	return ok && covers(wanted, found)
}

// emptied returns wanted plus nil for each extra key in found: a merge patch keeps keys that it does not mention.
func emptied(wanted, found any) any {
	w, ok1 := wanted.(map[string]any)
	f, ok2 := found.(map[string]any)
	if !ok1 || !ok2 {
		return wanted
	}
	out := maps.Clone(w)
	for key, v := range f {
		out[key] = emptied(w[key], v)
	}
	return out
}

// covers reports whether every field that wanted sets has the same value in found. Zero values count as unset. Lists must have the
// same length. equality.Semantic.DeepDerivative accepts a shorter list and treats an omitted number as different from its default.
func covers(wanted, found any) bool {
	switch w := wanted.(type) {
	case nil:
		return true
	case map[string]any:
		f, _ := found.(map[string]any)
		for k, v := range w {
			if !covers(v, f[k]) {
				return false
			}
		}
		return true
	case []any:
		f, _ := found.([]any)
		return len(w) == 0 || slices.EqualFunc(w, f, covers)
	default:
		return reflect.ValueOf(w).IsZero() || w == found
	}
}

// versioned returns a merge patch that conflicts if current has changed since it was read.
func versioned(wanted map[string]any, current client.Object) (client.Patch, error) {
	wanted["metadata"].(map[string]any)["resourceVersion"] = current.GetResourceVersion()
	raw, err := json.Marshal(wanted)
	if err != nil {
		return nil, err
	}
	return client.RawPatch(types.MergePatchType, raw), nil
}
