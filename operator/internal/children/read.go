package children

import (
	"context"
	"fmt"
	"reflect"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/raygate/raygate/operator/internal/overlay"
)

// write is a child as the API server answered a write.
type write struct {
	object client.Object
	at     time.Time
}

// latest is the newer one of what the cache shows and what was written; nil for nothing. A write counts until the cache shows it, and for
// overlay.Timeout at most.
func (w *Writer) latest(a attempt, cached client.Object) client.Object {
	own, ok := w.written.Get(a.key.Owner, a.key.Attempt)
	if !ok {
		return cached
	}
	if w.config.Clock.Since(own.at) >= overlay.Timeout || cached != nil && !overlay.Newer(own.object, cached) {
		w.written.Delete(a.key.Owner, a.key.Attempt)
		return cached
	}
	return own.object
}

// Gone is called by a watch when a child is gone.
func (w *Writer) Gone(owner, object types.UID) {
	for id, own := range w.written.All(owner) {
		if own.object.GetUID() == object {
			w.written.Delete(owner, id)
		}
	}
}

// read reads from the cache what has the name of o; nil if there is nothing.
func (w *Writer) read(ctx context.Context, kind schema.GroupVersionKind, o client.Object) (found client.Object, err error) {
	read := func() error { return w.config.Client.Get(ctx, client.ObjectKeyFromObject(o), found) }
	switch o.(type) {
	case *unstructured.Unstructured:
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(kind)
		found = u
		read = func() error { return w.config.Optional.Get(ctx, client.ObjectKeyFromObject(o), u) }
	case *corev1.Secret, *corev1.ServiceAccount:
		// Of these two only the metadata is cached: nobody should find the Secrets of a whole Kubernetes cluster in the memory of the
		// operator.
		found = metadata(kind, o)
	default:
		found = reflect.New(reflect.TypeOf(o).Elem()).Interface().(client.Object)
	}
	err = read()
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s %s: %w", kind.Kind, o.GetName(), err)
	}
	return found, nil
}

func (w *Writer) kindOf(o client.Object) (schema.GroupVersionKind, error) {
	kind, err := apiutil.GVKForObject(o, w.config.Client.Scheme())
	if err != nil {
		return kind, fmt.Errorf("finding the kind of %T: %w", o, err)
	}
	return kind, nil
}

func metadata(kind schema.GroupVersionKind, o client.Object) *metav1.PartialObjectMetadata {
	m := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: o.GetNamespace(), Name: o.GetName()}}
	m.SetGroupVersionKind(kind)
	return m
}

// kept is a copy to remember: of a Secret no more than of the cached ones.
func kept(o client.Object) client.Object {
	if s, ok := o.(*corev1.Secret); ok {
		m := metadata(corev1.SchemeGroupVersion.WithKind("Secret"), o)
		m.ObjectMeta = *s.ObjectMeta.DeepCopy()
		return m
	}
	return o.DeepCopyObject().(client.Object)
}
