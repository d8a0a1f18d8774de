package optionalapi

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// soonSynced is the time after its start in which a watch is expected to sync.
	soonSynced = 10 * time.Second
	// syncCheck is the interval of repeated reads during that time.
	syncCheck = time.Second
)

// Watches starts watches on optional kinds when they are first needed, each once, and reads their objects. It belongs to one
// controller and is safe for concurrent use.
type Watches struct {
	// Kinds are the kinds that can be watched.
	Kinds *Kinds
	// Everything watches all objects, not only those with the label ray.io/cluster.
	Everything bool
	// Start adds the controller's event handlers to the watch on a kind. It must not wait for the sync. Nil disables watches, so
	// that all reads go to the API server.
	Start func(kind schema.GroupVersionKind, informer cache.Informer) error

	mu      sync.Mutex
	started map[schema.GroupVersionKind]watch
}

type watch struct {
	informer cache.Informer
	since    time.Time
}

// Ready reports whether all the kinds are served, and starts to watch them.
func (w *Watches) Ready(kinds ...schema.GroupVersionKind) (bool, error) {
	for _, kind := range kinds {
		version, err := w.Version(kind.GroupKind(), kind.Version)
		if err != nil {
			return false, fmt.Errorf("looking for the API of %s: %w", kind.GroupKind(), err)
		}
		if version == "" {
			return false, nil
		}
	}
	return true, nil
}

// Version is Ready for a kind with several supported versions. It returns the first served one, or "" if there is none.
func (w *Watches) Version(kind schema.GroupKind, versions ...string) (string, error) {
	version, err := w.Kinds.Version(kind, versions...)
	if err != nil || version == "" {
		return "", err
	}
	if err := w.start(kind.WithVersion(version)); err != nil {
		return "", fmt.Errorf("watching %s: %w", kind.Kind, err)
	}
	return version, nil
}

func (w *Watches) start(kind schema.GroupVersionKind) error {
	source := w.source()
	if source == nil || w.Start == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, ok := w.started[kind]; ok {
		return nil
	}
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(kind)
	// The mapper knows the kind, so this sends no request.
	informer, err := source.GetInformer(context.Background(), o, cache.BlockUntilSynced(false))
	if err != nil {
		return err
	}
	if err := w.Start(kind, informer); err != nil {
		return err
	}
	if w.started == nil {
		w.started = map[schema.GroupVersionKind]watch{}
	}
	w.started[kind] = watch{informer: informer, since: w.Kinds.clock.Now()}
	return nil
}

func (w *Watches) source() cache.Cache {
	switch {
	case w.Kinds == nil:
		return nil
	case w.Everything:
		return w.Kinds.all
	default:
		return w.Kinds.marked
	}
}

// Get reads an object of a kind for which Ready returned true: from the synced cache, else from the API server within
// RequestLimit.
func (w *Watches) Get(ctx context.Context, key client.ObjectKey, o *unstructured.Unstructured) error {
	if w.Synced(o.GroupVersionKind()) {
		return w.source().Get(ctx, key, o)
	}
	ctx, cancel := context.WithTimeout(ctx, RequestLimit)
	defer cancel()
	return w.Kinds.live.Get(ctx, key, o)
}

// Synced reports whether the kind is watched and its cache synced, so that Get reads from the cache.
func (w *Watches) Synced(kind schema.GroupVersionKind) bool {
	watch, ok := w.of(kind)
	return ok && watch.informer.HasSynced()
}

// Recheck returns when to repeat reads of the kind that were made before its watch was synced; 0 for never. No event reports
// changes between such a read and the first list. Without the permission to list, repeated reads are the only way to see changes.
func (w *Watches) Recheck(kind schema.GroupVersionKind) time.Duration {
	watch, ok := w.of(kind)
	switch {
	case !ok, watch.informer.HasSynced():
		return 0
	case w.Kinds.clock.Since(watch.since) < soonSynced:
		return syncCheck
	default:
		return AbsentFor
	}
}

func (w *Watches) of(kind schema.GroupVersionKind) (watch, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	watch, ok := w.started[kind]
	return watch, ok
}
