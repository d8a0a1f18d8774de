package store

import (
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// pendingWrites are the writes of this gateway that the watch has not delivered yet. Reads apply them on top of the cache, so that clients
// see their own writes without waiting.
type pendingWrites struct {
	mu       sync.Mutex
	byKey    map[types.NamespacedName]*pendingWrite
	maxBytes int
	// floor is the newest version of writes that were dropped because there were too many. Reads wait until the cache has it.
	floor uint64
}

// pendingWrite is one write: item is the object as written, or deleted is the UID of a deleted object when the API server returned no version.
type pendingWrite struct {
	key     types.NamespacedName
	item    *Item
	deleted types.UID
	at      time.Time
}

// size returns how many bytes of an object the write keeps.
func (w *pendingWrite) size() int {
	if w.item == nil {
		return 0
	}
	return len(w.item.raw)
}

// version returns the version of the written object; zero for a deletion without a version.
func (w *pendingWrite) version() uint64 {
	if w.item == nil {
		return 0
	}
	return w.item.rv
}

// Bounds of pending writes. The watch is a few milliseconds behind; if it is far behind, it is broken.
const (
	maxPending = 16384
	// deletedLife is how long a deletion without a version stays pending. UIDs are unique, so it hides no other object.
	deletedLife = time.Minute
)

func newPendingWrites(maxBytes int) *pendingWrites {
	return &pendingWrites{maxBytes: maxBytes, byKey: map[types.NamespacedName]*pendingWrite{}}
}

// record adds a write, and drops those that isCached reports as delivered. If too many are left, it drops the older half and raises the floor.
func (p *pendingWrites) record(w *pendingWrite, isCached func(*pendingWrite) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if old := p.byKey[w.key]; old != nil && w.item != nil && old.version() > w.version() {
		return // the answer to an earlier write, which took longer
	}
	maps.DeleteFunc(p.byKey, func(_ types.NamespacedName, w *pendingWrite) bool { return isCached(w) })
	p.byKey[w.key] = w
	bytes := 0
	for _, w := range p.byKey {
		bytes += w.size()
	}
	if len(p.byKey) <= maxPending && bytes <= p.maxBytes {
		return
	}
	byAge := slices.SortedFunc(maps.Values(p.byKey), func(a, b *pendingWrite) int { return a.at.Compare(b.at) })
	for _, w := range byAge[:(len(byAge)+1)/2] {
		delete(p.byKey, w.key)
		p.floor = max(p.floor, w.version())
	}
}

// reset drops all writes: the versions of the API server have started over.
func (p *pendingWrites) reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.byKey)
	p.floor = 0
}

// requested returns the object of a pending create with a request id.
func (p *pendingWrites) requested(k requestKey) (types.NamespacedName, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for key, w := range p.byKey {
		if w.item == nil {
			continue
		}
		if rk, ok := requestKeyOf(w.item); ok && rk == k {
			return key, true
		}
	}
	return types.NamespacedName{}, false
}

// get returns the pending write of an object, or nil, and the floor.
func (p *pendingWrites) get(key types.NamespacedName) (*pendingWrite, uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.byKey[key], p.floor
}

// inNamespace returns the pending writes of a namespace, or all if it is empty, and the floor.
func (p *pendingWrites) inNamespace(namespace string) ([]*pendingWrite, uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []*pendingWrite
	for key, w := range p.byKey {
		if namespace == "" || key.Namespace == namespace {
			all = append(all, w)
		}
	}
	return all, p.floor
}

// newest returns the newest version of the pending writes of a namespace, or of all if it is empty.
func (p *pendingWrites) newest(namespace string) uint64 {
	all, version := p.inNamespace(namespace)
	for _, w := range all {
		version = max(version, w.version())
	}
	return version
}
