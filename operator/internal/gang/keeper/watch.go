package keeper

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Owner is a RayCluster or RayJob that owns an object.
type Owner struct{ Kind, Namespace, Name string }

// watch follows the objects of a kind.
func (k *Keeper) watch(_ schema.GroupVersionKind, informer cache.Informer) error {
	_, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: func(o any) { k.changed(o) },
		UpdateFunc: func(before, after any) {
			if worthALook(before, after) {
				k.changed(after)
			} else if u, ok := after.(*unstructured.Unstructured); ok {
				k.recent.observed(u)
			}
		},
		DeleteFunc: func(o any) {
			if gone, ok := o.(toolscache.DeletedFinalStateUnknown); ok {
				o = gone.Obj
			}
			k.changed(o)
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

func (k *Keeper) changed(o any) {
	u, ok := o.(*unstructured.Unstructured)
	if !ok {
		return
	}
	k.recent.observed(u)
	if k.onChange == nil {
		return
	}
	for _, ref := range u.GetOwnerReferences() {
		if isRay(ref.APIVersion) {
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
	err := r.watches.Get(ctx, client.ObjectKeyFromObject(u), u)
	if apierrors.IsNotFound(err) {
		u, err = nil, nil
	}
	if err != nil || !it.watched {
		return u, err
	}
	seen := r.recent.view(empty(it, r.w.Owner.Namespace), u, r.config.Clock.Now())
	if seen != u {
		r.again(recentLimit) // no event comes if the watch, interrupted, never shows it
	}
	return seen, nil
}
