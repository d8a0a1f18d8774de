// Package overlay adds own writes to the contents of a cache until the cache shows them. Decisions based on the result do not
// create or delete an object twice and need not wait for the cache.
//
// The writes are kept only in memory: after a restart, reconciles start after the caches are filled from a list that contains
// every accepted write. A create that was in flight when the process ended may appear later; an object that must be unique needs a
// fixed name.
package overlay

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/raygate/raygate/operator/internal/objectmap"
)

// Timeout is how long a write is added if the cache never shows it. That happens only if a watch is broken for this long, or if an
// object was created and deleted while the watch was re-established.
const Timeout = 30 * time.Second

// Overlay stores writes of Pods by owner. It is safe for concurrent use by several goroutines, but by only one per owner,
// except for Gone.
type Overlay struct {
	clock  clock.PassiveClock
	writes objectmap.Map[types.UID, write] // by the UID of the Pod
}

// write is a Pod as returned by a write, or its deletion.
type write struct {
	pod     *corev1.Pod
	deleted bool
	at      time.Time
}

// New returns an empty overlay.
func New(c clock.PassiveClock) *Overlay { return &Overlay{clock: c} }

// Written records a Pod as returned by its creation or change.
func (o *Overlay) Written(owner types.UID, pod *corev1.Pod) {
	o.writes.Set(owner, pod.UID, write{pod: pod, at: o.clock.Now()})
}

// Deleted records that the API server accepted the deletion.
func (o *Overlay) Deleted(owner, pod types.UID) {
	o.writes.Set(owner, pod, write{deleted: true, at: o.clock.Now()})
}

// Gone is called by the watch for each deleted Pod. Otherwise a Pod that lives for less than the lag of the cache would be shown until
// the timeout.
func (o *Overlay) Gone(owner, pod types.UID) { o.writes.Delete(owner, pod) }

// Pending reports whether the cache lacked writes in the last call of List.
func (o *Overlay) Pending(owner types.UID) bool { return len(o.writes.All(owner)) > 0 }

// Forget drops all writes of a deleted owner.
func (o *Overlay) Forget(owner types.UID) { o.writes.Forget(owner) }

// List returns the Pods of the owner as if the cache had seen all own writes: created Pods are included, deleted ones are terminating.
// It drops writes that the cache shows. Pods are shared with the cache, terminating ones except for the deletion timestamp.
func (o *Overlay) List(owner types.UID, cached []*corev1.Pod) []*corev1.Pod {
	writes := o.writes.All(owner)
	if len(writes) == 0 {
		return cached
	}
	view := make([]*corev1.Pod, 0, len(cached)+len(writes))
	seen := make(map[types.UID]struct{}, len(writes))
	for _, pod := range cached {
		seen[pod.UID] = struct{}{}
		view = append(view, o.over(owner, writes, pod))
	}
	for uid, w := range writes {
		if _, ok := seen[uid]; ok {
			continue
		}
		if w.deleted || o.expired(w) {
			o.Gone(owner, uid)
			continue
		}
		view = append(view, w.pod)
	}
	return view
}

// over returns the newer of the cached Pod and the own write.
func (o *Overlay) over(owner types.UID, writes map[types.UID]write, cached *corev1.Pod) *corev1.Pod {
	w, ok := writes[cached.UID]
	switch {
	case !ok:
		return cached
	case o.expired(w), w.deleted && cached.DeletionTimestamp != nil, !w.deleted && !Newer(w.pod, cached):
		o.Gone(owner, cached.UID)
		return cached
	case w.deleted:
		terminating := *cached
		terminating.DeletionTimestamp = &metav1.Time{Time: w.at}
		return &terminating
	}
	return w.pod
}

func (o *Overlay) expired(w write) bool { return o.clock.Since(w.at) >= Timeout }

// Newer reports whether a is a later version than b. Versions that are not numbers, as in fakes, count as equal.
func Newer(a, b client.Object) bool {
	order, err := resourceversion.CompareResourceVersion(a.GetResourceVersion(), b.GetResourceVersion())
	return err == nil && order > 0
}
