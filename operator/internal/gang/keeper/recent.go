package keeper

import (
	"strconv"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// recentLimit is how long a write is believed in that the cache never shows.
const recentLimit = 10 * time.Second

// recent remembers what was written until the cache shows it, so that a run right after the other does not write again.
type recent struct {
	mu      sync.Mutex
	objects map[string]written
}

type written struct {
	object *unstructured.Unstructured
	at     time.Time
}

func (r *recent) add(u *unstructured.Unstructured, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.objects[id(u)] = written{object: u, at: now}
	for key, w := range r.objects {
		if now.Sub(w.at) > recentLimit {
			delete(r.objects, key)
		}
	}
}

func (r *recent) forget(u *unstructured.Unstructured) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.objects, id(u))
}

// observed forgets a write that the cache has caught up with.
func (r *recent) observed(u *unstructured.Unstructured) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if w, ok := r.objects[id(u)]; ok && version(u) >= version(w.object) {
		delete(r.objects, id(u))
	}
}

// view is what the cache says about the object named by key, or what was written after that.
func (r *recent) view(key, cached *unstructured.Unstructured, now time.Time) *unstructured.Unstructured {
	r.mu.Lock()
	defer r.mu.Unlock()
	w, ok := r.objects[id(key)]
	if !ok || now.Sub(w.at) > recentLimit || cached != nil && version(cached) >= version(w.object) {
		return cached
	}
	return w.object
}

func id(u *unstructured.Unstructured) string {
	return u.GetKind() + "/" + u.GetNamespace() + "/" + u.GetName()
}

// version is the resourceVersion, which is a number that grows with every write to the kind.
func version(u *unstructured.Unstructured) uint64 {
	n, err := strconv.ParseUint(u.GetResourceVersion(), 10, 64)
	if err != nil {
		return 0
	}
	return n
}
