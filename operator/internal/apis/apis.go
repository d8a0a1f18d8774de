package apis

import (
	"fmt"
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// AbsentFor is how long a kind that is not served counts as absent before it is asked for again.
const AbsentFor = 30 * time.Second

// Kinds knows which kinds are served. The nil Kinds serves none.
type Kinds struct {
	mapper meta.RESTMapper
	clock  clock.PassiveClock
	reader client.Reader
	cache  cache.Cache // nil in tests

	mu     sync.Mutex
	served map[schema.GroupVersionKind]struct{}
	absent map[schema.GroupVersionKind]time.Time
}

// New returns the kinds of the cluster that the manager is for, and adds a cache to it that holds objects of such kinds
// with the label ray.io/cluster only. namespaces restricts that cache; empty means all.
func New(mgr ctrl.Manager, namespaces map[string]cache.Config, c clock.PassiveClock) (*Kinds, error) {
	marked, err := labels.NewRequirement(rayv1.LabelCluster, selection.Exists, nil)
	if err != nil {
		return nil, fmt.Errorf("making the selector: %w", err)
	}
	ca, err := cache.New(mgr.GetConfig(), cache.Options{
		HTTPClient:           mgr.GetHTTPClient(),
		Scheme:               mgr.GetScheme(),
		Mapper:               mgr.GetRESTMapper(),
		DefaultNamespaces:    maps.Clone(namespaces),
		DefaultLabelSelector: labels.NewSelector().Add(*marked),
		DefaultTransform:     cache.TransformStripManagedFields(),
	})
	if err != nil {
		return nil, fmt.Errorf("making the cache of optional kinds: %w", err)
	}
	if err := mgr.Add(ca); err != nil {
		return nil, fmt.Errorf("adding the cache of optional kinds: %w", err)
	}
	k := NewFixed(mgr.GetRESTMapper(), ca, c)
	k.cache = ca
	return k, nil
}

// NewFixed is New for a reader and mapper that are there already, such as those of a fake client.
func NewFixed(m meta.RESTMapper, r client.Reader, c clock.PassiveClock) *Kinds {
	return &Kinds{
		mapper: m, reader: r, clock: c,
		served: map[schema.GroupVersionKind]struct{}{},
		absent: map[schema.GroupVersionKind]time.Time{},
	}
}

// Served reports whether the kind can be used. An error says that nobody knows right now.
func (k *Kinds) Served(kind schema.GroupVersionKind) (bool, error) {
	if k == nil {
		return false, nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, ok := k.served[kind]; ok {
		return true, nil
	}
	now := k.clock.Now()
	if at, ok := k.absent[kind]; ok && now.Sub(at) < AbsentFor {
		return false, nil
	}
	_, err := k.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	switch {
	case err == nil:
		delete(k.absent, kind)
		k.served[kind] = struct{}{}
		return true, nil
	case meta.IsNoMatchError(err):
		k.absent[kind] = now
		return false, nil
	default:
		return false, fmt.Errorf("asking whether %s of %s is served: %w", kind.Kind, kind.GroupVersion(), err)
	}
}

// Reader reads objects of these kinds that carry the label ray.io/cluster. It must not be asked for a kind that is not
// served.
func (k *Kinds) Reader() client.Reader { return k.reader }

// Cache is what watches are made from.
func (k *Kinds) Cache() cache.Cache { return k.cache }

// Watches starts watches on kinds of the set, each once, when they are first needed.
type Watches struct {
	// Kinds are the kinds that can be watched.
	Kinds *Kinds
	// Start begins to watch a kind that is served. Nil where watching is somebody else's business, as in a unit test.
	Start func(schema.GroupVersionKind) error

	mu      sync.Mutex
	started map[schema.GroupVersionKind]struct{}
}

// Ready reports whether the kind is served, and sees to it that it is watched then.
func (w *Watches) Ready(kind schema.GroupVersionKind) (bool, error) {
	served, err := w.Kinds.Served(kind)
	if err != nil || !served || w.Start == nil {
		return served, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, ok := w.started[kind]; ok {
		return true, nil
	}
	if err := w.Start(kind); err != nil {
		return false, fmt.Errorf("watching %s: %w", kind.Kind, err)
	}
	if w.started == nil {
		w.started = map[schema.GroupVersionKind]struct{}{}
	}
	w.started[kind] = struct{}{}
	return true, nil
}

// Reader is that of the kinds.
func (w *Watches) Reader() client.Reader { return w.Kinds.Reader() }
