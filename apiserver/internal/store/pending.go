package store

import (
	"container/list"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// pendingWrites are the writes of this gateway that have not come back by the watch yet. Reads lay them over the cache, so that a client
// sees what it wrote without anybody waiting.
type pendingWrites struct {
	mu        sync.Mutex
	byKey     map[types.NamespacedName]*list.Element
	byRequest map[requestKey]types.NamespacedName
	order     list.List // of *pendingWrite, the oldest in front
	bytes     int
	maxBytes  int
	// floor is the newest version among the writes that had to leave before they came back: reads wait for it instead.
	floor uint64
}

// pendingWrite is one write: item is what it made; or gone is the UID it deleted when the API server did not name a version.
type pendingWrite struct {
	key  types.NamespacedName
	item *Item
	gone types.UID
	at   time.Time
}

// Bounds of what is pending. The watch is a few milliseconds behind; where so much is pending it is broken.
const (
	maxPending = 16384
	// deletedLife is how long a deletion of which no version is known stays. No other object gets the UID, so that it can do no harm.
	deletedLife = time.Minute
)

func newPendingWrites(maxBytes int) *pendingWrites {
	return &pendingWrites{maxBytes: maxBytes, byKey: map[types.NamespacedName]*list.Element{}, byRequest: map[requestKey]types.NamespacedName{}}
}

func (w *pendingWrite) size() int {
	if w.item == nil {
		return 0
	}
	return len(w.item.raw)
}

// note adds a write. settled says whether a write has come back; those that have leave, oldest first, and so the oldest of the others when there
// are too many.
func (p *pendingWrites) note(w *pendingWrite, settled func(*pendingWrite) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e, ok := p.byKey[w.key]; ok {
		if old := e.Value.(*pendingWrite); w.item != nil && old.item != nil && old.item.rv > w.item.rv {
			return // a slower answer to an earlier write
		}
		p.remove(e)
	}
	for e := p.order.Front(); e != nil; {
		oldest, next := e.Value.(*pendingWrite), e.Next()
		full := p.order.Len() >= maxPending || p.bytes+w.size() > p.maxBytes
		switch done := settled(oldest); {
		case done || full && oldest.item == nil:
			p.remove(e)
		case full:
			p.floor = max(p.floor, oldest.item.rv)
			p.remove(e)
		case oldest.item != nil: // those behind it have not come back either
			next = nil
		}
		e = next
	}
	p.byKey[w.key] = p.order.PushBack(w)
	p.bytes += w.size()
	if w.item != nil {
		if rk, ok := requestKeyOf(w.item); ok {
			p.byRequest[rk] = w.key
		}
	}
}

// reset forgets everything: versions have started over.
func (p *pendingWrites) reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for e := p.order.Front(); e != nil; e = p.order.Front() {
		p.remove(e)
	}
	p.floor = 0
}

func (p *pendingWrites) remove(e *list.Element) {
	w := p.order.Remove(e).(*pendingWrite)
	delete(p.byKey, w.key)
	p.bytes -= w.size()
	if w.item != nil {
		if rk, ok := requestKeyOf(w.item); ok && p.byRequest[rk] == w.key {
			delete(p.byRequest, rk)
		}
	}
}

// requested returns the object made by a create that has not come back yet.
func (p *pendingWrites) requested(k requestKey) (types.NamespacedName, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	key, ok := p.byRequest[k]
	return key, ok
}

// get returns the write that is pending for a key, nil if there is none, and the version that the cache must have besides.
func (p *pendingWrites) get(key types.NamespacedName) (*pendingWrite, uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e, ok := p.byKey[key]; ok {
		return e.Value.(*pendingWrite), p.floor
	}
	return nil, p.floor
}

// inNamespace returns what is pending in a namespace, or everywhere when it is empty, and the version that the cache must have besides.
func (p *pendingWrites) inNamespace(namespace string) ([]*pendingWrite, uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []*pendingWrite
	for e := p.order.Front(); e != nil; e = e.Next() {
		if w := e.Value.(*pendingWrite); namespace == "" || w.key.Namespace == namespace {
			all = append(all, w)
		}
	}
	return all, p.floor
}

// newest returns the newest version among what is pending in a namespace, or everywhere when it is empty.
func (p *pendingWrites) newest(namespace string) uint64 {
	all, version := p.inNamespace(namespace)
	for _, w := range all {
		if w.item != nil {
			version = max(version, w.item.rv)
		}
	}
	return version
}
