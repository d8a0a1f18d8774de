package conversion

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	rayv1alpha1 "github.com/raygate/raygate/api/ray/v1alpha1"
)

// versions is the registry: each served version of a kind with two of them.
var versions = map[schema.GroupVersion]side{
	rayv1.GroupVersion:       hub,
	rayv1alpha1.GroupVersion: old,
}

// extra is the annotation that a version carries what it cannot say in.
var extra = [2]string{hub: AnnotationOldExtra, old: AnnotationHubExtra}

// Known reports whether objects of the kind can be converted to and from the version. A kind that v1alpha1 does not have is known in v1.
func Known(gvk schema.GroupVersionKind) bool {
	side, version := versions[gvk.GroupVersion()]
	return version && (plans[gvk.Kind] != nil || side == hub && hubOnly[gvk.Kind])
}

// Converts reports whether the kind has more than one version.
func Converts(kind string) bool { return plans[kind] != nil }

// Convert changes obj, a decoded JSON object, into the version wanted. Only apiVersion, the fields that the two versions
// do not share and the annotation with preserved fields change. An object that is in that version already stays as it is.
//
// It fails for a kind or version that it does not know, and for the one object that it would otherwise destroy: one in
// v1alpha1 whose preserved fields were too large to be carried. It never fails because a field has a wrong value.
func Convert(obj map[string]any, wanted schema.GroupVersion) error {
	apiVersion, _ := obj["apiVersion"].(string)
	kind, _ := obj["kind"].(string)
	have, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return fmt.Errorf("reading apiVersion: %w", err)
	}
	for _, gv := range []schema.GroupVersion{have, wanted} {
		if !Known(gv.WithKind(kind)) {
			return fmt.Errorf("%s of %q is not known here; the known versions are %s and %s, the kinds that have both %v",
				kind, gv, rayv1.GroupVersion, rayv1alpha1.GroupVersion, slices.Sorted(maps.Keys(plans)))
		}
	}
	if have == wanted {
		return nil
	}
	from, to := versions[have], versions[wanted]
	preserved, err := decodePreserved(removeAnnotation(obj, extra[from]))
	if err != nil {
		return err
	}
	// On this side nobody but a client can have written the annotation of the other.
	removeAnnotation(obj, extra[to])
	keep := split(plans[kind], obj, from)
	if preserved != nil {
		merger{to: to}.merge(plans[kind], obj, nil, preserved)
	}
	obj["apiVersion"] = wanted.String()
	return putPreserved(obj, extra[to], keep)
}

// Common takes out of a v1 object, as decoded JSON, what only v1 has.
func Common(obj map[string]any) {
	kind, _ := obj["kind"].(string)
	if plan := plans[kind]; plan != nil {
		split(plan, obj, hub)
	}
}

// Restore puts into after what only v1 has, stands in before and is missing in after: what an old client that dropped the preserved
// fields annotation is about to destroy. Both are v1 objects as decoded JSON; before is used up. What after says itself stays,
// and so does what was removed together with a field that the old client could see. The status comes back as a whole,
// because the API server takes no other than the stored one from this kind of write, and takes what only v1 has of it
// from the annotation.
//
// defaults is after as it would be with nothing but defaults in the fields that only v1 has. Such a value in after is taken
// for no value: the API server fills defaults in as soon as another webhook has changed the object, and an old client has no
// way to mean one. Nil means that no defaults were filled in.
func Restore(after, before, defaults map[string]any) {
	kind, _ := after["kind"].(string)
	plan := plans[kind]
	if plan == nil {
		return
	}
	if below := plan.fields["status"].node; below != nil {
		status := runtime.DeepCopyJSONValue(before["status"])
		kept := splitValue(below, before["status"], hub)
		if kept != nil && !reflect.DeepEqual(kept, splitValue(below, runtime.DeepCopyJSONValue(after["status"]), hub)) {
			after["status"] = status
		}
	}
	specBefore, _ := before["spec"].(map[string]any)
	spec, _ := after["spec"].(map[string]any)
	if below := plan.fields["spec"].node; below != nil && spec != nil && specBefore != nil {
		specDefaults, _ := defaults["spec"].(map[string]any)
		merger{to: hub, restoring: true}.merge(below, spec, specDefaults, split(below, specBefore, hub))
	}
}
