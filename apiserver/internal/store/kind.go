package store

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Object is what a Store can hold: a typed Kubernetes object, always a pointer.
type Object interface {
	comparable
	metav1.Object
	runtime.Object
}

// Kind describes one resource to a Store.
type Kind[T Object] struct {
	// GroupVersionKind of the objects; set on every object a Store returns, because the API server leaves it out of list items.
	GroupVersionKind schema.GroupVersionKind
	// Resource is the plural name in request paths, for example rayclusters.
	Resource string
	// New returns an empty object. Required.
	New func() T
	// State returns the text that order_by=state sorts by. Nil means that the kind has no state.
	State func(T) string
	// ClearStatus empties the status, which a client may send but never sets. Nil means that the kind has no status.
	ClearStatus func(T)
	// Encode returns the JSON that is written to the API server. Nil means encoding/json, which adds empty objects for fields that
	// hold structs: a write of what was read then counts as a change.
	Encode func(T) ([]byte, error)
	// MaxNameLength bounds names made from generateName. Zero means 63.
	MaxNameLength int
}

// GroupResource names the resource in errors and access reviews.
func (k *Kind[T]) GroupResource() schema.GroupResource {
	return schema.GroupResource{Group: k.GroupVersionKind.Group, Resource: k.Resource}
}

const lastAppliedAnnotation = "kubectl.kubernetes.io/last-applied-configuration"

// trim drops what no client of the gateway is shown, and what would only cost memory in the cache.
func (k *Kind[T]) trim(obj T) {
	obj.SetManagedFields(nil)
	if annotations := obj.GetAnnotations(); annotations[lastAppliedAnnotation] != "" {
		kept := make(map[string]string, len(annotations))
		for name, value := range annotations {
			if name != lastAppliedAnnotation {
				kept[name] = value
			}
		}
		obj.SetAnnotations(kept)
	}
	obj.GetObjectKind().SetGroupVersionKind(k.GroupVersionKind)
}

func keyOf(obj metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}
}
