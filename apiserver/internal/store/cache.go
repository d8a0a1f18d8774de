package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
)

// defaultLogLength is how many changes a cache remembers for its watchers. It bounds both how far a slow client may fall
// behind and how old a resume token may be; the memory is shared by all clients.
const defaultLogLength = 4096

// watchCache holds all objects of one kind and the latest changes, fed by one reflector.
//
// It is not a client-go informer, because watchers want to follow the changes in order from a resourceVersion of their choice,
// which an informer's handlers cannot do without a buffer per client.
type watchCache[T Object] struct {
	kind  *Kind[T]
	max   int
	clock clock.PassiveClock

	mu      sync.RWMutex
	items   []*Item[T] // sorted by namespace and name
	byReqID map[requestKey]types.NamespacedName
	synced  bool
	version uint64 // newest resourceVersion seen
	log     []change[T]
	first   uint64        // number of log[0] since the start
	since   uint64        // every change after this resourceVersion is in log
	moved   chan struct{} // closed and replaced when version grows
	heard   time.Time     // last time the API server said anything
}

// change is one step from prev to next; one of them is nil on creation and deletion.
type change[T Object] struct {
	prev, next *Item[T]
	version    uint64
	// resume is the version to resume from once this change has been sent. It is version, but for deletions found by a list:
	// they share one version, and resuming from it would lose those not sent yet.
	resume uint64
}

func newWatchCache[T Object](kind *Kind[T], logLength int, now clock.PassiveClock) *watchCache[T] {
	if logLength <= 0 {
		logLength = defaultLogLength
	}
	return &watchCache[T]{kind: kind, max: logLength, clock: now, moved: make(chan struct{}), byReqID: map[requestKey]types.NamespacedName{}}
}

// run feeds the cache until ctx ends.
func (c *watchCache[T]) run(ctx context.Context, lw cache.ListerWatcher) {
	cache.NewReflectorWithOptions(lw, c.kind.New(), c, cache.ReflectorOptions{
		Name: c.kind.Resource,
	}).RunWithContext(ctx)
}

func (c *watchCache[T]) cast(obj any) (T, error) {
	if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = gone.Obj
	}
	t, ok := obj.(T)
	if !ok {
		var zero T
		return zero, fmt.Errorf("caching %s: unexpected %T", c.kind.Resource, obj)
	}
	c.kind.trim(t)
	return t, nil
}

// Transformer makes the reflector drop what is not kept before it collects a long list.
func (c *watchCache[T]) Transformer() cache.TransformFunc {
	return func(obj any) (any, error) {
		if t, ok := obj.(T); ok {
			c.kind.trim(t)
		}
		return obj, nil
	}
}

// Add is called by the reflector.
func (c *watchCache[T]) Add(obj any) error { return c.Update(obj) }

// Update is called by the reflector.
func (c *watchCache[T]) Update(obj any) error {
	t, err := c.cast(obj)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.put(newItem(t))
	return nil
}

// Delete is called by the reflector; the object carries the resourceVersion of its deletion.
func (c *watchCache[T]) Delete(obj any) error {
	t, err := c.cast(obj)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	version := parseVersion(t.GetResourceVersion())
	c.remove(keyOf(t), version, version)
	return nil
}

// Resync is called by the reflector and has nothing to do here.
func (c *watchCache[T]) Resync() error { return nil }

// Bookmark is called by the reflector: all changes up to rv have been seen.
func (c *watchCache[T]) Bookmark(rv string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.advance(parseVersion(rv))
	return nil
}

// Replace is called by the reflector after a list. After the first one the difference goes into the log as ordinary changes, so a lost
// upstream watch does not disturb the watchers.
func (c *watchCache[T]) Replace(list []any, rv string) error {
	version := parseVersion(rv)
	fresh := make([]*Item[T], 0, len(list))
	present := make(map[types.NamespacedName]bool, len(list))
	for _, obj := range list {
		t, err := c.cast(obj)
		if err != nil {
			return err
		}
		fresh = append(fresh, newItem(t))
		present[keyOf(t)] = true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if version < c.version {
		// The API server was restored from a backup: versions start over and no token means anything any more.
		c.items, c.log, c.first, c.byReqID = nil, nil, c.first+uint64(len(c.log))+1, map[requestKey]types.NamespacedName{}
		c.version, c.synced = 0, false
	}
	if !c.synced {
		c.since = version
		slices.SortFunc(fresh, func(a, b *Item[T]) int { return compareKeys(a.key, b.key) })
		c.items = fresh
		for _, item := range fresh {
			c.index(item)
		}
		c.synced = true
		c.advance(version)
		return nil
	}
	slices.SortFunc(fresh, func(a, b *Item[T]) int { return cmp.Compare(a.rv, b.rv) }) // the log grows by version
	for _, item := range fresh {
		if old := c.find(item.key); old == nil || old.rv != item.rv {
			c.put(item)
		}
	}
	resume := c.version
	for _, item := range slices.Clone(c.items) {
		if !present[item.key] {
			c.remove(item.key, version, resume)
		}
	}
	c.advance(version)
	return nil
}

func (c *watchCache[T]) put(item *Item[T]) {
	at, found := c.search(item.key)
	var prev *Item[T]
	switch {
	case found:
		prev = c.items[at]
		c.items[at] = item
	default:
		c.items = slices.Insert(c.items, at, item)
	}
	c.index(item)
	c.append(change[T]{prev: prev, next: item, version: item.rv, resume: item.rv})
}

func (c *watchCache[T]) remove(key types.NamespacedName, version, resume uint64) {
	at, found := c.search(key)
	if !found {
		c.advance(version)
		return
	}
	prev := c.items[at]
	c.items = slices.Delete(c.items, at, at+1)
	if rk, ok := requestKeyOf(prev.Object); ok && c.byReqID[rk] == key {
		delete(c.byReqID, rk)
	}
	c.append(change[T]{prev: prev, version: version, resume: resume})
}

func (c *watchCache[T]) index(item *Item[T]) {
	if rk, ok := requestKeyOf(item.Object); ok {
		c.byReqID[rk] = item.key
	}
}

func (c *watchCache[T]) append(ch change[T]) {
	if len(c.log) >= c.max {
		// Drop a quarter at once: moving the slice for every event would cost its whole length each time.
		cut := max(c.max/4, 1)
		c.since = c.log[cut-1].version
		c.log = slices.Clone(c.log[cut:])
		c.first += uint64(cut)
	}
	c.log = append(c.log, ch)
	c.advanceAlways(ch.version)
}

func (c *watchCache[T]) advance(version uint64) {
	c.heard = c.clock.Now()
	if version > c.version {
		c.advanceAlways(version)
	}
}

func (c *watchCache[T]) advanceAlways(version uint64) {
	c.heard = c.clock.Now()
	c.version = max(c.version, version)
	close(c.moved)
	c.moved = make(chan struct{})
}

func (c *watchCache[T]) search(key types.NamespacedName) (int, bool) {
	return slices.BinarySearchFunc(c.items, key, func(i *Item[T], k types.NamespacedName) int { return compareKeys(i.key, k) })
}

func (c *watchCache[T]) find(key types.NamespacedName) *Item[T] {
	if at, ok := c.search(key); ok {
		return c.items[at]
	}
	return nil
}

func (c *watchCache[T]) get(key types.NamespacedName) *Item[T] {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.find(key)
}

// list returns the items of a namespace, or of all when it is empty, sorted by namespace and name, and the version they were read at.
func (c *watchCache[T]) list(namespace string) ([]*Item[T], uint64) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.listLocked(namespace), c.version
}

func (c *watchCache[T]) listLocked(namespace string) []*Item[T] {
	if namespace == metav1.NamespaceAll {
		return slices.Clone(c.items)
	}
	from, _ := c.search(types.NamespacedName{Namespace: namespace})
	to := from
	for to < len(c.items) && c.items[to].key.Namespace == namespace {
		to++
	}
	return slices.Clone(c.items[from:to])
}

// waitUntil returns true once ok, asked again after every change with the lock held, says so; false when ctx ends before.
func (c *watchCache[T]) waitUntil(ctx context.Context, ok func() bool) bool {
	for {
		c.mu.RLock()
		done, moved := ok(), c.moved
		c.mu.RUnlock()
		if done {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-moved:
		}
	}
}
