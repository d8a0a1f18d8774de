package store

import (
	"context"
	"slices"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
)

// ReadOptions of Get, List and Watch.
type ReadOptions struct {
	// MinVersion is the resourceVersion that the answer must have at least reached. Empty means any, but at least that of writes through
	// this gateway.
	MinVersion string
}

// Get returns one object, never older than the last write through this Store. The caller has been authorized already.
// An object that is not there is a Kubernetes NotFound error.
func (s *Store) Get(ctx context.Context, key types.NamespacedName, o ReadOptions) (*Item, error) {
	w, floor := s.pending.get(key)
	if err := s.waitForVersion(ctx, max(floor, parseVersion(o.MinVersion))); err != nil {
		return nil, err
	}
	s.cache.mu.RLock()
	item := s.cache.find(key)
	if w != nil {
		item = s.shown(w, item)
	}
	s.cache.mu.RUnlock()
	if item == nil {
		return nil, apierrors.NewNotFound(s.kind.GroupResource(), key.Name)
	}
	return item, nil
}

// shown returns the object that readers see after a write, or nil if there is none. cached is the object in the cache, whose lock is held.
func (s *Store) shown(w *pendingWrite, cached *Item) *Item {
	switch {
	case w.item != nil && s.cache.version < w.item.rv:
		return w.item
	case w.item == nil && cached != nil && cached.UID == w.deleted:
		return nil
	}
	return cached
}

// isCached reports whether the cache, whose lock is held, has the effect of a write. For a deletion without a version this cannot be known: an object that
// is missing in the cache may not have arrived yet. So such a write stays pending for longer than the watch may be behind.
func (s *Store) isCached(w *pendingWrite) bool {
	if w.item != nil {
		return s.cache.version >= w.item.rv
	}
	return s.opts.Clock.Since(w.at) > deletedLife
}

// record makes a write visible to later reads.
func (s *Store) record(w *pendingWrite) {
	w.at = s.opts.Clock.Now()
	s.cache.mu.RLock()
	defer s.cache.mu.RUnlock()
	s.pending.record(w, s.isCached)
}

// snapshot returns the objects of a namespace, or of all when it is empty, sorted by namespace and name, with the same promise as Get, and
// the version of the collection.
func (s *Store) snapshot(ctx context.Context, namespace string, o ReadOptions) ([]*Item, string, error) {
	pending, floor := s.pending.inNamespace(namespace)
	if err := s.waitForVersion(ctx, max(floor, parseVersion(o.MinVersion))); err != nil {
		return nil, "", err
	}
	s.cache.mu.RLock()
	defer s.cache.mu.RUnlock()
	items := s.cache.listLocked(namespace)
	for _, w := range pending {
		at, found := slices.BinarySearchFunc(items, w.key, func(i *Item, k types.NamespacedName) int { return compareKeys(i.key, k) })
		var cached *Item
		if found {
			cached = items[at]
		}
		switch item := s.shown(w, cached); {
		case item == cached:
		case item == nil:
			items = slices.Delete(items, at, at+1)
		case found:
			items[at] = item
		default:
			items = slices.Insert(items, at, item)
		}
	}
	return items, strconv.FormatUint(s.cache.version, 10), nil
}

// await waits up to FreshWait until ok returns true. It calls ok after every change with the lock held.
func (s *Store) await(ctx context.Context, ok func() bool) bool {
	var late <-chan time.Time
	for {
		s.cache.mu.RLock()
		done, moved := ok(), s.cache.moved
		s.cache.mu.RUnlock()
		if done {
			return true
		}
		if late == nil { // usually there is no need for a timer
			timer := time.NewTimer(s.opts.FreshWait)
			defer timer.Stop()
			late = timer.C
		}
		select {
		case <-ctx.Done():
			return false
		case <-late:
			return false
		case <-moved:
		}
	}
}
