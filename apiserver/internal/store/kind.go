package store

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Object is what is written: the JSON tree of an object, which the Store owns from then on.
type Object = unstructured.Unstructured

// Kind describes one resource to a Store.
type Kind struct {
	// GroupVersionKind of the objects.
	GroupVersionKind schema.GroupVersionKind
	// Resource is the plural name in request paths, for example rayclusters.
	Resource string
	// State is the path of the text that order_by=state sorts by and that filters know as state, in gjson's syntax. Empty means that the kind
	// has no state.
	State string
	// MaxNameLength bounds names made from generateName. Zero means 63.
	MaxNameLength int
}

// GroupResource names the resource in errors and access reviews.
func (k *Kind) GroupResource() schema.GroupResource {
	return schema.GroupResource{Group: k.GroupVersionKind.Group, Resource: k.Resource}
}
