package store

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// pendingWrites remembers what was written through this gateway and has not come back by the watch yet, so that a read
// after a write can wait for it. An entry goes away with the first read that finds it fulfilled, or when later writes push the oldest out.
type pendingWrites struct {
	mu        sync.Mutex
	byKey     map[types.NamespacedName]pendingWrite
	byRequest map[requestKey]types.NamespacedName
}

// pendingWrite is one write: version is the resourceVersion it made; or gone is the UID it deleted when the API server
// did not name a version.
type pendingWrite struct {
	version uint64
	gone    types.UID
	// request is the create that made it, when it had a request_id.
	request requestKey
}

// maxPending bounds the memory. The watch is a few milliseconds behind; at this many writes it is broken, and reads have other worries.
const maxPending = 16384

func newPendingWrites() *pendingWrites {
	return &pendingWrites{byKey: map[types.NamespacedName]pendingWrite{}, byRequest: map[requestKey]types.NamespacedName{}}
}

func (p *pendingWrites) note(key types.NamespacedName, w pendingWrite) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.byKey) >= maxPending {
		for old := range p.byKey {
			p.forget(old)
			break
		}
	}
	if old, ok := p.byKey[key]; ok && w.version != 0 && old.version > w.version {
		return // a slower answer to an earlier write
	}
	p.forget(key)
	p.byKey[key] = w
	if w.request.id != "" {
		p.byRequest[w.request] = key
	}
}

func (p *pendingWrites) forget(key types.NamespacedName) {
	delete(p.byRequest, p.byKey[key].request)
	delete(p.byKey, key)
}

// requested returns the object made by a create that has not come back yet.
func (p *pendingWrites) requested(k requestKey) (types.NamespacedName, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	key, ok := p.byRequest[k]
	return key, ok
}

func (p *pendingWrites) get(key types.NamespacedName) (pendingWrite, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	w, ok := p.byKey[key]
	return w, ok
}

func (p *pendingWrites) done(key types.NamespacedName, w pendingWrite) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.byKey[key] == w {
		p.forget(key)
	}
}

// inNamespace returns what is pending in a namespace, or everywhere when it is empty.
func (p *pendingWrites) inNamespace(namespace string) map[types.NamespacedName]pendingWrite {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all map[types.NamespacedName]pendingWrite
	for key, w := range p.byKey {
		if namespace == "" || key.Namespace == namespace {
			if all == nil {
				all = map[types.NamespacedName]pendingWrite{}
			}
			all[key] = w
		}
	}
	return all
}
