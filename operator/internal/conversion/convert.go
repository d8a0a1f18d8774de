// Package conversion converts ray.io objects between v1 and v1alpha1 without loss.
//
// v1 is the hub: it is stored, and every other version converts to and from it. Fields that the wanted version lacks are preserved
// in one annotation and restored by the reverse conversion. So an old client that reads and writes an object keeps fields that it
// does not know.
//
// The package works on JSON trees instead of the Go types of controller-runtime's interfaces (Hub, Convertible). A Go type writes
// fields that were absent (status: {}, replicas: null), rewrites quantities, and drops fields of a newer CRD. The difference of
// the versions is computed from both sets of Go types at start, so that new fields of v1 are converted without further code.
//
// The package is pure: it uses no client, clock, defaults or rules. An object that breaks rules must still be readable.
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

// versions contains the served versions of kinds with two versions.
var versions = map[schema.GroupVersion]side{
	rayv1.GroupVersion:       hub,
	rayv1alpha1.GroupVersion: old,
}

// extra is the annotation in which an object of a version carries the fields that this version lacks.
var extra = [2]string{hub: AnnotationOldExtra, old: AnnotationHubExtra}

// Known reports whether objects of the kind can be converted to and from the version. Kinds that v1alpha1 lacks are known in v1.
func Known(gvk schema.GroupVersionKind) bool {
	side, version := versions[gvk.GroupVersion()]
	return version && (plans[gvk.Kind] != nil || side == hub && hubOnly[gvk.Kind])
}

// Converts reports whether the kind has more than one version.
func Converts(kind string) bool { return plans[kind] != nil }

// Convert changes obj, a decoded JSON object, into the wanted version. It changes only apiVersion, fields that the versions do not
// share, and the annotation with preserved fields. An object in the wanted version stays as it is.
//
// It fails for an unknown kind or version, and for a v1alpha1 object whose preserved fields did not fit into the annotation,
// because the conversion would lose them. It never fails because of a wrong field value.
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
	// In this version, only a client can have written the annotation of the other one.
	removeAnnotation(obj, extra[to])
	keep := split(plans[kind], obj, from)
	if preserved != nil {
		merger{to: to}.merge(plans[kind], obj, nil, preserved)
	}
	obj["apiVersion"] = wanted.String()
	return putPreserved(obj, extra[to], keep)
}

// Common removes the fields that only v1 has from a v1 object in decoded JSON.
func Common(obj map[string]any) {
	kind, _ := obj["kind"].(string)
	if plan := plans[kind]; plan != nil {
		split(plan, obj, hub)
	}
}

// Restore copies fields that only v1 has from before to after if after lacks them. An old client that dropped the annotation with
// preserved fields would otherwise delete them. Both are v1 objects in decoded JSON; before is modified. Values in after stay, and
// fields below a field that the old client removed stay removed. The whole status is restored, because the API server accepts only
// the stored status in this kind of write, and takes its v1-only fields from the annotation.
//
// defaults is after with only defaults in the v1-only fields. Such a default in after counts as no value: the API server sets
// defaults after another webhook has changed the object, and an old client cannot set v1-only fields. Nil means that no defaults
// were set.
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
