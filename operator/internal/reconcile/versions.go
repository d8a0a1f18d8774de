package reconcile

import (
	"context"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// StaleTimeout is how long a cached version counts as stale if the cache does not replace it. That happens only with a broken
// watch.
const StaleTimeout = 30 * time.Second

// StaleCheck is the delay before an object with a stale cached version is reconciled again. The check costs no request, and
// usually the cache is up to date by then.
const StaleCheck = 100 * time.Millisecond

// Versions remembers of each object that was read its UID, to notice that it is gone, and the version that was replaced last, by our own
// write or, as a conflict shows, by another one. A decision from that version, or from an older one, would repeat events and end in a
// conflict; so a reconcile that reads one ends, and looks again after StaleCheck. It may be used from several goroutines, for objects of one kind.
type Versions struct {
	clock  clock.PassiveClock
	forget []func(object types.UID)

	mu      sync.Mutex
	objects map[types.NamespacedName]version
}

type version struct {
	uid      types.UID
	replaced string // empty for none
	at       time.Time
}

// NewVersions returns an empty set. forget is called with each object that is found to be deleted, also if another object has its
// name.
func NewVersions(c clock.PassiveClock, forget ...func(object types.UID)) *Versions {
	return &Versions{clock: c, forget: forget, objects: map[types.NamespacedName]version{}}
}

// Replaced notes that the version of o is not the latest.
func (v *Versions) Replaced(o client.Object) { v.replaced(o, o.GetResourceVersion()) }

// replaced notes that a version of o is not the latest.
func (v *Versions) replaced(o client.Object, resourceVersion string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.objects[client.ObjectKeyFromObject(o)] = version{uid: o.GetUID(), replaced: resourceVersion, at: v.clock.Now()}
}

// isBefore reports whether o is later than the version that was replaced.
func (known version) isBefore(o client.Object) bool {
	if known.replaced == "" {
		return true
	}
	order, err := resourceversion.CompareResourceVersion(o.GetResourceVersion(), known.replaced)
	if err != nil { // not numbers, which Kubernetes always uses
		return o.GetResourceVersion() != known.replaced
	}
	return order > 0
}

// Read reads o from the cache and returns false if its version is known to be outdated. Errors are those of the cache.
func (v *Versions) Read(ctx context.Context, cache client.Reader, key client.ObjectKey, o client.Object) (fresh bool, err error) {
	err = cache.Get(ctx, key, o)
	if err != nil && !apierrors.IsNotFound(err) {
		return false, err
	}
	v.mu.Lock()
	known, had := v.objects[key]
	gone := had && (err != nil || known.uid != o.GetUID())
	fresh = err == nil && (known.uid != o.GetUID() || known.isBefore(o) || v.clock.Since(known.at) >= StaleTimeout)
	switch {
	case err != nil:
		delete(v.objects, key)
	case fresh:
		v.objects[key] = version{uid: o.GetUID()}
	}
	v.mu.Unlock()
	if gone {
		for _, forget := range v.forget {
			forget(known.uid)
		}
	}
	return fresh, err
}
