package served

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
	// soonSynced is how long after its start a watch may be expected to be filled at any moment.
	soonSynced = 10 * time.Second
	// syncCheck is how often to look again at what was read in that time.
	syncCheck = time.Second
)

// Watches starts watches on optional kinds, each once, when they are first needed, and reads their objects. It is one
// controller's, and safe for concurrent use.
type Watches struct {
	// Kinds are the kinds that can be watched.
	Kinds *Kinds
	// Everything watches all objects, not only those that carry the label ray.io/cluster.
	Everything bool
	// Start adds the event handlers of the controller to the watch on a kind. It must not wait for the watch to be filled. Nil
	// watches nothing, so that all reads go to the API server.
	Start func(kind schema.GroupVersionKind, informer cache.Informer) error

	mu      sync.Mutex
	started map[schema.GroupVersionKind]watch
}

type watch struct {
	informer cache.Informer
	since    time.Time
}

// Ready reports whether all the kinds are served, and sees to it that they are watched then.
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

// Version is Ready for a kind of which several versions are understood. It returns the first that is served, empty for none.
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
	// The kind is known, so this makes no request; it only starts what does.
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

// Get reads an object of a kind for which Ready was true: from the cache once that is filled, else from the API server, within
// a few seconds.
func (w *Watches) Get(ctx context.Context, key client.ObjectKey, o *unstructured.Unstructured) error {
	if w.Synced(o.GroupVersionKind()) {
		return w.source().Get(ctx, key, o)
	}
	ctx, cancel := context.WithTimeout(ctx, RequestLimit)
	defer cancel()
	return w.Kinds.live.Get(ctx, key, o)
}

// Synced reports whether the kind is watched and the cache is filled, so that Get reads from there.
func (w *Watches) Synced(kind schema.GroupVersionKind) bool {
	watch, ok := w.of(kind)
	return ok && watch.informer.HasSynced()
}

// Recheck returns how soon to read objects of the kind again that were read before the watch was filled; zero for no need. No event reports
// changes between that read and the first list. Without the right to list, this is the only way to see changes.
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
