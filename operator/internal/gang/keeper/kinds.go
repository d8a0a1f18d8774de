package keeper

import (
	"context"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/raygate/raygate/operator/internal/gang"
)

// kinds remembers which kinds the API server serves, and watches those that it does. A kind may be installed long after
// the operator has started, so nothing is decided at the start.
type kinds struct {
	mu    sync.Mutex
	known map[string]*kind
}

type kind struct {
	version  string // empty for not served
	checked  time.Time
	informer cache.Informer // nil without a cache
}

// version returns the version to use, empty if none is served. The first time that one is, a watch begins.
func (s *kinds) version(k *Keeper, want gang.Kind) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := want.Kind + "." + want.Group
	known, ok := s.known[id]
	now := k.config.Clock.Now()
	if ok && (known.version != "" || now.Sub(known.checked) < apiCheck) {
		return known.version, nil
	}
	version, err := served(k.config.Client.RESTMapper(), want)
	if err != nil {
		return "", err
	}
	known = &kind{version: version, checked: now}
	if version != "" && k.cache != nil {
		if known.informer, err = k.watch(want, version); err != nil {
			return "", err
		}
	}
	s.known[id] = known
	return version, nil
}

// served returns the first version that the API server serves.
func served(mapper meta.RESTMapper, want gang.Kind) (string, error) {
	for _, version := range want.Versions {
		_, err := mapper.RESTMapping(schema.GroupKind{Group: want.Group, Kind: want.Kind}, version)
		switch {
		case err == nil:
			return version, nil
		case meta.IsNoMatchError(err), apierrors.IsNotFound(err):
		default:
			return "", err
		}
	}
	return "", nil
}

// watch starts to watch a kind. It does not wait: until the cache is filled, which may be never if the right is missing,
// reads go to the API server.
func (k *Keeper) watch(want gang.Kind, version string) (cache.Informer, error) {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(schema.GroupVersionKind{Group: want.Group, Version: version, Kind: want.Kind})
	informer, err := k.cache.GetInformer(context.Background(), u, cache.BlockUntilSynced(false))
	if err != nil {
		return nil, fmt.Errorf("watching: %w", err)
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
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
	if err != nil {
		return nil, fmt.Errorf("watching: %w", err)
	}
	return informer, nil
}

// worthALook drops what the scheduler writes into the status, which it does often.
func worthALook(before, after any) bool {
	b, ok1 := before.(*unstructured.Unstructured)
	a, ok2 := after.(*unstructured.Unstructured)
	return !ok1 || !ok2 || a.GetGeneration() != b.GetGeneration() || a.GetUID() != b.GetUID() ||
		(a.GetDeletionTimestamp() == nil) != (b.GetDeletionTimestamp() == nil) ||
		len(a.GetOwnerReferences()) != len(b.GetOwnerReferences())
}

// Owner is a RayCluster or RayJob that owns an object.
type Owner struct{ Kind, Namespace, Name string }

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

// read returns the object, nil if there is none: from the cache if that is filled, else from the API server.
func (r *run) read(ctx context.Context, it *item) (*unstructured.Unstructured, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	u := empty(it, r.w.Owner.Namespace)
	reader := r.config.Live
	cached := r.kinds.synced(it.Kind)
	if cached {
		reader = r.cache
	}
	err := reader.Get(ctx, client.ObjectKeyFromObject(u), u)
	if apierrors.IsNotFound(err) {
		u, err = nil, nil
	}
	if err != nil || !cached {
		return u, err
	}
	return r.recent.view(empty(it, r.w.Owner.Namespace), u, r.config.Clock.Now()), nil
}

func (s *kinds) synced(k gang.Kind) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.known[k.Kind+"."+k.Group]
	return known != nil && known.informer != nil && known.informer.HasSynced()
}
