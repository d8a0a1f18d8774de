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

// StaleTimeout is how long a version counts as stale that the cache does not replace. Only a watch that is broken comes near it.
const StaleTimeout = 30 * time.Second

// StaleCheck is how soon to look again at an object whose version in the cache is stale. The look costs no request, and usually the
// cache is up to date by then.
const StaleCheck = 100 * time.Millisecond

// Versions are the versions of objects that are known to have been replaced while the cache may still show them: by our own write,
// or by somebody else's, as a conflict tells. To decide from one would repeat events and end in a conflict; so a reconcile that
// meets one ends, and looks again after StaleCheck. It may be used from several goroutines.
type Versions struct {
	clock  clock.PassiveClock
	forget []func(object types.UID)

	mu    sync.Mutex
	stale map[types.UID]version
	names map[types.NamespacedName]types.UID // of objects that were read
}

type version struct {
	number string
	at     time.Time
}

// NewVersions returns an empty set. forget is called with each object that was read and is found to be gone, also when its name was
// made anew since.
func NewVersions(c clock.PassiveClock, forget ...func(object types.UID)) *Versions {
	return &Versions{clock: c, forget: forget, stale: map[types.UID]version{}, names: map[types.NamespacedName]types.UID{}}
}

// Replaced notes that the version of o is not the latest.
func (v *Versions) Replaced(o client.Object) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.stale[o.GetUID()] = version{number: o.GetResourceVersion(), at: v.clock.Now()}
}

// Forget drops an object that is gone.
func (v *Versions) Forget(object types.UID) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.stale, object)
}

// Stale reports whether the version of o is known to have been replaced.
func (v *Versions) Stale(o client.Object) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	old, ok := v.stale[o.GetUID()]
	if !ok {
		return false
	}
	if old.number != o.GetResourceVersion() || v.clock.Since(old.at) >= StaleTimeout {
		delete(v.stale, o.GetUID())
		return false
	}
	return true
}

// Read reads o from the cache, and reports false if that shows a version that is known to have been replaced. Errors are those of the
// cache; any but that the object is not found says nothing about it.
func (v *Versions) Read(ctx context.Context, cache client.Reader, key client.ObjectKey, o client.Object) (bool, error) {
	if err := cache.Get(ctx, key, o); err != nil {
		if apierrors.IsNotFound(err) {
			v.named(key, "")
		}
		return false, err
	}
	v.named(key, o.GetUID())
	return !v.Stale(o), nil
}

// named notes which object has a name, none if empty, and forgets the one that had it before.
func (v *Versions) named(key types.NamespacedName, uid types.UID) {
	v.mu.Lock()
	earlier, known := v.names[key]
	switch {
	case uid == "":
		delete(v.names, key)
	case earlier != uid:
		v.names[key] = uid
	}
	gone := known && earlier != uid
	if gone {
		delete(v.stale, earlier)
	}
	v.mu.Unlock()
	if !gone {
		return
	}
	for _, forget := range v.forget {
		forget(earlier)
	}
}
