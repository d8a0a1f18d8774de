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

// write is a child as the API server returned it after a write.
type write struct {
	object client.Object
	at     time.Time
}

// latest returns the newer of the cached object and the own write; nil if there is none. A write is used until the cache shows it,
// and for at most overlay.Timeout.
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

// Gone is called by a watch after a child was deleted.
func (w *Writer) Gone(owner, object types.UID) {
	for id, own := range w.written.All(owner) {
		if own.object.GetUID() == object {
			w.written.Delete(owner, id)
		}
	}
}

// read reads the object with the name of o from the cache; nil if there is none.
func (w *Writer) read(ctx context.Context, kind schema.GroupVersionKind, o client.Object) (found client.Object, err error) {
	read := func() error { return w.config.Client.Get(ctx, client.ObjectKeyFromObject(o), found) }
	switch o.(type) {
	case *unstructured.Unstructured:
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(kind)
		found = u
		read = func() error { return w.config.Optional.Get(ctx, client.ObjectKeyFromObject(o), u) }
	case *corev1.Secret, *corev1.ServiceAccount:
		// Only the metadata of these two kinds is cached, so that the operator's memory does not contain all Secrets of the
		// Kubernetes cluster.
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

// kept returns a copy for the overlay; of a Secret only the metadata, as in the cache.
func kept(o client.Object) client.Object {
	if s, ok := o.(*corev1.Secret); ok {
		m := metadata(corev1.SchemeGroupVersion.WithKind("Secret"), o)
		m.ObjectMeta = *s.ObjectMeta.DeepCopy()
		return m
	}
	return o.DeepCopyObject().(client.Object)
}
