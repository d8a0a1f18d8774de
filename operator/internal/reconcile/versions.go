package reconcile

import (
	"context"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// StaleTimeout is how long a cached version counts as stale if the cache does not replace it. That happens only with a broken
// watch.
const StaleTimeout = 30 * time.Second

// StaleCheck is the delay before an object with a stale cached version is reconciled again. The check costs no request, and
// usually the cache is up to date by then.
const StaleCheck = 100 * time.Millisecond

// Versions records for each object its UID, to detect deletions, and the version that was last replaced by an own write or, as a
// conflict shows, by another one. A decision from a replaced version would repeat events and end in a conflict, so a reconcile
// that reads one ends and runs again after StaleCheck. It is safe for concurrent use, for objects of one kind.
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

// Replaced records that the version of o is outdated.
func (v *Versions) Replaced(o client.Object) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.objects[client.ObjectKeyFromObject(o)] = version{uid: o.GetUID(), replaced: o.GetResourceVersion(), at: v.clock.Now()}
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
	fresh = err == nil && (known.uid != o.GetUID() || known.replaced != o.GetResourceVersion() || v.clock.Since(known.at) >= StaleTimeout)
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
