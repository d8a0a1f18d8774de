package store

import (
	"context"
	"fmt"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// ReadOptions of Get, List and Watch.
type ReadOptions struct {
	// MinVersion is a resourceVersion that the answer must not be older than. Empty means that any will do, but for what
	// was written through this gateway.
	MinVersion string
}

// Get returns one object, never older than the last write through this Store. The caller has been authorized already.
// An object that is not there is a Kubernetes NotFound error.
func (s *Store[T]) Get(ctx context.Context, key types.NamespacedName, o ReadOptions) (*Item[T], error) {
	if !s.awaitFresh(ctx, key, o) {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return s.getDirect(ctx, key)
	}
	if item := s.cache.get(key); item != nil {
		return item, nil
	}
	return nil, apierrors.NewNotFound(s.kind.GroupResource(), key.Name)
}

// getDirect asks the API server with the gateway's credentials; the caller's right to read was checked before.
func (s *Store[T]) getDirect(ctx context.Context, key types.NamespacedName) (*Item[T], error) {
	obj := s.kind.New()
	err := s.opts.Reader.Get().Namespace(key.Namespace).Resource(s.kind.Resource).Name(key.Name).Do(ctx).Into(obj)
	if err != nil {
		return nil, err
	}
	s.kind.trim(obj)
	return newItem(obj), nil
}

// awaitFresh waits, for a bounded time, until the cache holds at least the last write to key. False means that the caller should
// read past the cache.
func (s *Store[T]) awaitFresh(ctx context.Context, key types.NamespacedName, o ReadOptions) bool {
	w, pending := s.pending.get(key)
	least := parseVersion(o.MinVersion)
	ok := s.await(ctx, func() bool {
		return s.cache.synced && s.cache.version >= least && (!pending || s.seen(key, w))
	})
	if ok && pending {
		s.pending.done(key, w)
	}
	return ok
}

// await is waitUntil with the bound of this Store.
func (s *Store[T]) await(ctx context.Context, ok func() bool) bool {
	s.cache.mu.RLock()
	now := ok()
	s.cache.mu.RUnlock()
	if now {
		return true // the usual case, without a timer
	}
	ctx, cancel := context.WithTimeout(ctx, s.opts.FreshWait)
	defer cancel()
	return s.cache.waitUntil(ctx, ok)
}

// seen tells whether the cache, whose lock is held, has the effect of a write.
func (s *Store[T]) seen(key types.NamespacedName, w pendingWrite) bool {
	if w.version != 0 {
		return s.cache.version >= w.version
	}
	item := s.cache.find(key)
	return item == nil || item.Object.GetUID() != w.gone
}

// snapshot returns the objects of a namespace, or of all when it is empty, sorted by namespace and name, with the same promise as Get.
func (s *Store[T]) snapshot(ctx context.Context, namespace string, o ReadOptions) ([]*Item[T], string, error) {
	pending := s.pending.inNamespace(namespace)
	least := parseVersion(o.MinVersion)
	fresh := s.await(ctx, func() bool {
		if !s.cache.synced || s.cache.version < least {
			return false
		}
		for key, w := range pending {
			if !s.seen(key, w) {
				return false
			}
		}
		return true
	})
	if !fresh {
		if ctx.Err() != nil {
			return nil, "", ctx.Err()
		}
		return s.listDirect(ctx, namespace)
	}
	for key, w := range pending {
		s.pending.done(key, w)
	}
	items, version := s.cache.list(namespace)
	return items, strconv.FormatUint(version, 10), nil
}

// listDirect is the way past a cache that is late.
func (s *Store[T]) listDirect(ctx context.Context, namespace string) ([]*Item[T], string, error) {
	list, err := s.opts.Reader.Get().Namespace(namespace).Resource(s.kind.Resource).VersionedParams(&metav1.ListOptions{}, metav1.ParameterCodec).Do(ctx).Get()
	if err != nil {
		return nil, "", err
	}
	var version string
	if l, ok := list.(metav1.ListInterface); ok {
		version = l.GetResourceVersion()
	} else if l, ok := list.(metav1.ListMetaAccessor); ok {
		version = l.GetListMeta().GetResourceVersion()
	}
	objs, err := meta.ExtractList(list)
	if err != nil {
		return nil, "", fmt.Errorf("reading list of %s: %w", s.kind.Resource, err)
	}
	items := make([]*Item[T], 0, len(objs))
	for _, obj := range objs {
		t, err := s.cache.cast(obj)
		if err != nil {
			return nil, "", err
		}
		items = append(items, newItem(t))
	}
	sortByKey(items)
	return items, version, nil
}
