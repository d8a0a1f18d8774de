// Package overlay adds own writes to the contents of a cache until the cache shows them. Decisions based on the result do not
// create or delete an object twice and need not wait for the cache.
//
// The writes are kept only in memory: after a restart, reconciles start after the caches are filled from a list that contains
// every accepted write. A create that was in flight when the process ended may appear later; an object that must be unique needs a
// fixed name.
package overlay

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/raygate/raygate/operator/internal/byowner"
)

// Timeout is how long a write is added if the cache never shows it. That happens only if a watch is broken for this long, or if an
// object was created and deleted while the watch was re-established.
const Timeout = 30 * time.Second

// Overlay stores writes of one kind by owner. It is safe for concurrent use by several goroutines, but by only one per owner,
// except for Gone.
type Overlay[T client.Object] struct {
	clock       clock.PassiveClock
	terminating func(object T, since metav1.Time) T
	writes      byowner.Map[types.UID, write[T]] // by the UID of the object
}

// write is an object as returned by a write, or its deletion.
type write[T client.Object] struct {
	object  T
	deleted bool
	at      time.Time
}

// New returns an empty overlay. terminating returns a copy of an object with a deletion timestamp; it may be shallow.
func New[T client.Object](c clock.PassiveClock, terminating func(object T, since metav1.Time) T) *Overlay[T] {
	return &Overlay[T]{clock: c, terminating: terminating}
}

// Written records an object as returned by its creation or change.
func (o *Overlay[T]) Written(owner types.UID, object T) {
	o.writes.Set(owner, object.GetUID(), write[T]{object: object, at: o.clock.Now()})
}

// Deleted records that the API server accepted the deletion.
func (o *Overlay[T]) Deleted(owner, object types.UID) {
	o.writes.Set(owner, object, write[T]{deleted: true, at: o.clock.Now()})
}

// Gone is called by the watch for each deleted object. Otherwise an object that lives for less than the lag of the cache would be
// shown until the timeout.
func (o *Overlay[T]) Gone(owner, object types.UID) { o.writes.Delete(owner, object) }

// Pending reports whether the cache lacked writes in the last call of List.
func (o *Overlay[T]) Pending(owner types.UID) bool { return len(o.writes.All(owner)) > 0 }

// Forget drops all writes of a deleted owner.
func (o *Overlay[T]) Forget(owner types.UID) { o.writes.Forget(owner) }

// List returns the objects of the owner as if the cache had seen all own writes: created objects are included, deleted ones are
// terminating. It drops writes that the cache shows. It does not copy objects.
func (o *Overlay[T]) List(owner types.UID, cached []T) []T {
	writes := o.writes.All(owner)
	if len(writes) == 0 {
		return cached
	}
	view := make([]T, 0, len(cached)+len(writes))
	seen := make(map[types.UID]struct{}, len(writes))
	for _, object := range cached {
		seen[object.GetUID()] = struct{}{}
		view = append(view, o.over(owner, writes, object))
	}
	for uid, w := range writes {
		if _, ok := seen[uid]; ok {
			continue
		}
		if w.deleted || o.expired(w) {
			o.Gone(owner, uid)
			continue
		}
		view = append(view, w.object)
	}
	return view
}

// over returns the newer of the cached object and the own write.
func (o *Overlay[T]) over(owner types.UID, writes map[types.UID]write[T], cached T) T {
	w, ok := writes[cached.GetUID()]
	switch {
	case !ok:
		return cached
	case o.expired(w), w.deleted && cached.GetDeletionTimestamp() != nil, !w.deleted && !Newer(w.object, cached):
		o.Gone(owner, cached.GetUID())
		return cached
	case w.deleted:
		return o.terminating(cached, metav1.NewTime(w.at))
	}
	return w.object
}

func (o *Overlay[T]) expired(w write[T]) bool { return o.clock.Since(w.at) >= Timeout }

// Newer reports whether a is a later version than b. Versions that are not numbers, as in fakes, count as equal.
func Newer(a, b client.Object) bool {
	order, err := resourceversion.CompareResourceVersion(a.GetResourceVersion(), b.GetResourceVersion())
	return err == nil && order > 0
}
