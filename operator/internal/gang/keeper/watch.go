package keeper

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/raygate/raygate/operator/internal/overlay"
)

// Owner is a RayCluster or RayJob that owns an object.
type Owner struct{ Kind, Namespace, Name string }

// watch follows the objects of a kind.
func (k *Keeper) watch(_ schema.GroupVersionKind, informer cache.Informer) error {
	_, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: func(o any) { k.changed(o, nil) },
		UpdateFunc: func(before, after any) {
			if worthALook(before, after) {
				k.changed(after, nil)
			}
		},
		DeleteFunc: func(o any) {
			if gone, ok := o.(toolscache.DeletedFinalStateUnknown); ok {
				o = gone.Obj
			}
			k.changed(o, k.written.Gone)
		},
	})
	return err
}

// worthALook drops what the scheduler writes into the status, which it does often.
func worthALook(before, after any) bool {
	b, ok1 := before.(*unstructured.Unstructured)
	a, ok2 := after.(*unstructured.Unstructured)
	return !ok1 || !ok2 || a.GetGeneration() != b.GetGeneration() || a.GetUID() != b.GetUID() ||
		(a.GetDeletionTimestamp() == nil) != (b.GetDeletionTimestamp() == nil) ||
		len(a.GetOwnerReferences()) != len(b.GetOwnerReferences())
}

// changed has the owners looked at, each of which is passed to gone if the object is gone.
func (k *Keeper) changed(o any, gone func(owner, object types.UID)) {
	u, ok := o.(*unstructured.Unstructured)
	if !ok {
		return
	}
	for _, ref := range u.GetOwnerReferences() {
		if gone != nil {
			gone(ref.UID, u.GetUID())
		}
		if isRay(ref.APIVersion) && k.onChange != nil {
			k.onChange(Owner{Kind: ref.Kind, Namespace: u.GetNamespace(), Name: ref.Name})
		}
	}
}

// read returns the object, nil if there is none.
func (r *run) read(ctx context.Context, it *item) (*unstructured.Unstructured, error) {
	u := empty(it, r.w.Owner.Namespace)
	kind := u.GroupVersionKind()
	it.watched = r.watches.Synced(kind) // asked first, so that what was read by the cache is not taken for the server's word
	if again := r.watches.Recheck(kind); again > 0 && !it.Absent {
		r.again(again)
	}
	cached := &u
	err := r.watches.Get(ctx, client.ObjectKeyFromObject(u), u)
	if apierrors.IsNotFound(err) {
		cached, err = nil, nil
	}
	if err != nil {
		return nil, err
	}
	if it.watched {
		cached = r.written.Find(r.w.Owner.UID, title(it.Object), cached)
	}
	if cached == nil {
		return nil, nil
	}
	if *cached != u {
		r.again(overlay.Timeout) // no event comes if the watch, interrupted, never shows it
	}
	return *cached, nil
}
