package apiserver

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Cache is the informer cache of one process. It lags behind the store: each change arrives when the caller of NewCache decides,
// in order within each kind.
type Cache struct {
	store *Store
	by    map[schema.GroupKind]cache.ByObject
	// later schedules a function after the watch delay of a kind.
	later func(kind schema.GroupKind, deliver func())

	mu        sync.Mutex
	stopped   bool
	informers map[watched]*informer
}

// watched is a kind in a watch: full objects or only metadata.
type watched struct {
	kind     schema.GroupKind
	metadata bool
}

// NewCache returns a cache that filters and transforms each kind by byObject. later is called with each change of a kind and must
// call deliver when the change arrives. It must keep the order within a kind and must not call deliver at once.
func NewCache(store *Store, byObject map[client.Object]cache.ByObject, later func(kind schema.GroupKind, deliver func())) *Cache {
	c := &Cache{store: store, by: map[schema.GroupKind]cache.ByObject{}, later: later, informers: map[watched]*informer{}}
	for o, by := range byObject {
		c.by[store.kind(o)] = by
	}
	store.Watch(c.changed)
	return c
}

// Stop ends all watches.
func (c *Cache) Stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped = true
}

// informer is the cache of one kind.
type informer struct {
	cache    *Cache
	kind     schema.GroupKind
	metadata bool
	by       cache.ByObject
	gvk      schema.GroupVersionKind
	items    map[types.NamespacedName]client.Object
	handlers []toolscache.ResourceEventHandler
	indices  map[string]client.IndexerFunc
}

// changed handles a change of the store.
func (c *Cache) changed(ch Change) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, metadata := range []bool{false, true} {
		i := c.informers[watched{ch.Kind, metadata}]
		if i == nil || c.stopped || !i.selects(ch.Old) && !i.selects(ch.New) {
			continue
		}
		next := ch.New
		if !i.selects(next) {
			next = nil
		}
		key := client.ObjectKeyFromObject(ch.Object())
		c.later(ch.Kind, func() { i.deliver(key, next, ch.Old) })
	}
}

func (i *informer) selects(o client.Object) bool {
	if o == nil || reflect.ValueOf(o).IsNil() {
		return false
	}
	return i.by.Label == nil || i.by.Label.Matches(labels.Set(o.GetLabels()))
}

// deliver applies a change and notifies the handlers. A nil next means a deleted object whose last version was last.
func (i *informer) deliver(key types.NamespacedName, next, last client.Object) {
	c := i.cache
	c.mu.Lock()
	if c.stopped {
		c.mu.Unlock()
		return
	}
	old := i.items[key]
	if next == nil {
		delete(i.items, key)
		if old == nil {
			old = i.transformed(last)
		}
	} else {
		next = i.transformed(next)
		i.items[key] = next
	}
	handlers := slices.Clone(i.handlers)
	c.mu.Unlock()
	for _, h := range handlers {
		switch {
		case next == nil:
			h.OnDelete(old)
		case old == nil:
			h.OnAdd(next, false)
		default:
			h.OnUpdate(old, next)
		}
	}
}

func (i *informer) transformed(o client.Object) client.Object {
	if i.metadata {
		return metadataOf(o, i.gvk)
	}
	o = o.DeepCopyObject().(client.Object)
	o.GetObjectKind().SetGroupVersionKind(i.gvk)
	if i.by.Transform == nil {
		return o
	}
	out, err := i.by.Transform(o)
	if err != nil {
		panic(err)
	}
	return out.(client.Object)
}

// informer returns the informer of a kind and fills a new one from the store. The caller must hold no lock.
func (c *Cache) informer(gk schema.GroupKind, gvk schema.GroupVersionKind, metadata bool) *informer {
	c.store.mu.Lock()
	defer c.store.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	i := c.informers[watched{gk, metadata}]
	if i == nil {
		i = &informer{cache: c, kind: gk, metadata: metadata, by: c.by[gk], gvk: gvk, items: map[types.NamespacedName]client.Object{}, indices: map[string]client.IndexerFunc{}}
		c.informers[watched{gk, metadata}] = i
		for key, o := range c.store.kinds[gk] {
			if i.selects(o) {
				i.items[key] = i.transformed(o)
			}
		}
	}
	return i
}

func (c *Cache) of(o client.Object) *informer {
	gvk := o.GetObjectKind().GroupVersionKind()
	if kinds, _, err := c.store.scheme.ObjectKinds(o); err == nil && gvk.Empty() {
		gvk = kinds[0]
	}
	_, metadata := o.(*metav1.PartialObjectMetadata)
	return c.informer(c.store.kind(o), gvk, metadata)
}

// Get implements client.Reader.
func (c *Cache) Get(_ context.Context, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	i := c.of(o)
	c.mu.Lock()
	defer c.mu.Unlock()
	found := i.items[key]
	if found == nil {
		return apierrors.NewNotFound(resource(i.kind), key.Name)
	}
	assign(o, found)
	return nil
}

// List implements client.Reader. It supports the field selectors of indices.
func (c *Cache) List(_ context.Context, list client.ObjectList, opts ...client.ListOption) error {
	o := client.ListOptions{}
	o.ApplyOptions(opts)
	gk := c.store.kind(list)
	gvk, err := listedKind(c.store, list)
	if err != nil {
		return err
	}
	i := c.informer(gk, gvk, false)
	c.mu.Lock()
	defer c.mu.Unlock()
	var items []client.Object
	for _, found := range i.items {
		ok, err := i.indexed(found, &o)
		if err != nil {
			return err
		}
		if ok && matches(found, &o) {
			items = append(items, found)
		}
	}
	slices.SortFunc(items, func(a, b client.Object) int { return strings.Compare(a.GetName(), b.GetName()) })
	return fill(list, items, o.UnsafeDisableDeepCopy == nil || !*o.UnsafeDisableDeepCopy)
}

func listedKind(s *Store, list client.ObjectList) (schema.GroupVersionKind, error) {
	gvk := list.GetObjectKind().GroupVersionKind()
	if gvk.Empty() {
		kinds, _, err := s.scheme.ObjectKinds(list)
		if err != nil {
			return gvk, err
		}
		gvk = kinds[0]
	}
	gvk.Kind = strings.TrimSuffix(gvk.Kind, "List")
	return gvk, nil
}

// indexed reports whether an index of the object has the value in the field selector.
func (i *informer) indexed(o client.Object, opts *client.ListOptions) (bool, error) {
	if opts.FieldSelector == nil {
		return true, nil
	}
	for _, r := range opts.FieldSelector.Requirements() {
		index := i.indices[r.Field]
		if index == nil {
			return false, fmt.Errorf("index with name field:%s does not exist", r.Field)
		}
		if !slices.Contains(index(o), r.Value) {
			return false, nil
		}
	}
	return true, nil
}

// IndexField implements client.FieldIndexer.
func (c *Cache) IndexField(_ context.Context, o client.Object, field string, f client.IndexerFunc) error {
	i := c.of(o)
	c.mu.Lock()
	defer c.mu.Unlock()
	i.indices[field] = f
	return nil
}

// GetInformer implements cache.Informers.
func (c *Cache) GetInformer(_ context.Context, o client.Object, _ ...cache.InformerGetOption) (cache.Informer, error) {
	return &registered{informer: c.of(o)}, nil
}

// GetInformerForKind implements cache.Informers. It is not used.
func (c *Cache) GetInformerForKind(context.Context, schema.GroupVersionKind, ...cache.InformerGetOption) (cache.Informer, error) {
	return nil, fmt.Errorf("the model of the API server has no informers by name of their kind")
}

// RemoveInformer implements cache.Informers.
func (c *Cache) RemoveInformer(context.Context, client.Object) error { return nil }

// Start implements cache.Informers.
func (c *Cache) Start(context.Context) error { return nil }

// WaitForCacheSync implements cache.Informers.
func (c *Cache) WaitForCacheSync(context.Context) bool { return true }

// registered is the informer that users get. The embedded cache.Informer provides methods that are never called.
type registered struct {
	informer *informer
	cache.Informer
}

// AddEventHandler implements cache.Informer.
func (r *registered) AddEventHandler(h toolscache.ResourceEventHandler) (toolscache.ResourceEventHandlerRegistration, error) {
	i := r.informer
	i.cache.mu.Lock()
	i.handlers = append(i.handlers, h)
	items := make([]client.Object, 0, len(i.items))
	for _, o := range i.items {
		items = append(items, o)
	}
	i.cache.mu.Unlock()
	slices.SortFunc(items, func(a, b client.Object) int { return strings.Compare(a.GetName(), b.GetName()) })
	for _, o := range items {
		h.OnAdd(o, true)
	}
	return synced{}, nil
}

// AddEventHandlerWithResyncPeriod implements cache.Informer.
func (r *registered) AddEventHandlerWithResyncPeriod(h toolscache.ResourceEventHandler, _ time.Duration) (toolscache.ResourceEventHandlerRegistration, error) {
	return r.AddEventHandler(h)
}

// AddEventHandlerWithOptions implements cache.Informer.
func (r *registered) AddEventHandlerWithOptions(h toolscache.ResourceEventHandler, _ toolscache.HandlerOptions) (toolscache.ResourceEventHandlerRegistration, error) {
	return r.AddEventHandler(h)
}

// HasSynced implements cache.Informer.
func (r *registered) HasSynced() bool { return true }

// synced is a registration whose handler has received all initial objects.
type synced struct {
	toolscache.ResourceEventHandlerRegistration
}

// HasSynced implements cache.ResourceEventHandlerRegistration.
func (synced) HasSynced() bool { return true }
