package main

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/raygate/raygate/apiserver/internal/resource"
	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
	"github.com/raygate/raygate/apiserver/internal/store"
)

// stores is one store of a kind for each namespace that is served, or one with the key "" for all. A gateway without rights on the whole cluster has one
// watch per namespace; their changes have no common order, so that nothing is listed or watched across namespaces then.
type stores map[string]*store.Store

var _ resource.Store = stores{}

// newStores returns the stores of a kind in the namespaces; none means all.
func newStores(kind store.Kind, namespaces []string, o store.Options) stores {
	if len(namespaces) == 0 {
		namespaces = []string{metav1.NamespaceAll}
	}
	all := stores{}
	for _, ns := range namespaces {
		o.Namespace = ns
		all[ns] = store.New(kind, o)
	}
	return all
}

// one returns the store of a namespace, or nil.
func (s stores) one(namespace string) *store.Store {
	if all, ok := s[metav1.NamespaceAll]; ok {
		return all
	}
	return s[namespace]
}

// in calls the store of a namespace, or says why there is none.
func in[R any](s stores, namespace string, call func(*store.Store) (R, error)) (R, error) {
	if one := s.one(namespace); one != nil {
		return call(one)
	}
	var none R
	served := strings.Join(slices.Sorted(maps.Keys(s)), ", ")
	if namespace == "" {
		return none, rpcstatus.BadField("namespace", "this gateway serves the namespaces %s, one at a time: name one of them", served)
	}
	return none, &rpcstatus.Error{Code: codes.NotFound, Reason: "NAMESPACE_NOT_SERVED", Message: "this gateway serves the namespaces " + served + " only"}
}

// Create implements resource.Store.
func (s stores) Create(ctx context.Context, obj *store.Object, o store.CreateOptions) (*store.Item, error) {
	return in(s, obj.GetNamespace(), func(one *store.Store) (*store.Item, error) { return one.Create(ctx, obj, o) })
}

// Get implements resource.Store.
func (s stores) Get(ctx context.Context, key types.NamespacedName, o store.ReadOptions) (*store.Item, error) {
	return in(s, key.Namespace, func(one *store.Store) (*store.Item, error) { return one.Get(ctx, key, o) })
}

// List implements resource.Store.
func (s stores) List(ctx context.Context, o store.ListOptions) (*store.Page, error) {
	return in(s, o.Namespace, func(one *store.Store) (*store.Page, error) { return one.List(ctx, o) })
}

// Watch implements resource.Store.
func (s stores) Watch(ctx context.Context, o store.WatchOptions, send func(store.Event) error) error {
	_, err := in(s, o.Namespace, func(one *store.Store) (struct{}, error) { return struct{}{}, one.Watch(ctx, o, send) })
	return err
}

// Read implements resource.Store.
func (s stores) Read(ctx context.Context, key types.NamespacedName) (*store.Item, error) {
	return in(s, key.Namespace, func(one *store.Store) (*store.Item, error) { return one.Read(ctx, key) })
}

// Version implements resource.Store.
func (s stores) Version(key types.NamespacedName, version string) *store.Item {
	if one := s.one(key.Namespace); one != nil {
		return one.Version(key, version)
	}
	return nil
}

// Replace implements resource.Store.
func (s stores) Replace(ctx context.Context, obj *store.Object, old *store.Item, o store.WriteOptions) (*store.Item, error) {
	return in(s, obj.GetNamespace(), func(one *store.Store) (*store.Item, error) { return one.Replace(ctx, obj, old, o) })
}

// Patch implements resource.Store.
func (s stores) Patch(ctx context.Context, key types.NamespacedName, patch map[string]any, o store.PatchOptions) (*store.Item, error) {
	return in(s, key.Namespace, func(one *store.Store) (*store.Item, error) { return one.Patch(ctx, key, patch, o) })
}

// Delete implements resource.Store.
func (s stores) Delete(ctx context.Context, key types.NamespacedName, o store.DeleteOptions) (types.UID, error) {
	return in(s, key.Namespace, func(one *store.Store) (types.UID, error) { return one.Delete(ctx, key, o) })
}

// Age implements resource.Store: that of the namespace that has been out of contact longest.
func (s stores) Age() time.Duration {
	var oldest time.Duration
	for _, one := range s {
		oldest = max(oldest, one.Age())
	}
	return oldest
}

// run fills the caches until ctx ends.
func (s stores) run(ctx context.Context) {
	for _, one := range s {
		go one.Run(ctx)
	}
}

// size is the number of objects in the caches.
func (s stores) size() int {
	objects := 0
	for _, one := range s {
		objects += one.Size()
	}
	return objects
}

// absent reports whether the kind is not installed.
func (s stores) absent() bool {
	for _, one := range s {
		if errors.Is(one.Ready(), store.ErrNotServed) {
			return true
		}
	}
	return false
}

// ready says why the caches are no good yet. A kind that is not installed is nothing to wait for.
func (s stores) ready() error {
	for _, one := range s {
		if err := one.Ready(); err != nil && !errors.Is(err, store.ErrNotServed) {
			return err
		}
	}
	return nil
}

// check is the line of readiness. A cache that has been filled serves, however old the last contact with the API server: replicas that all left at once
// because it is away would take the reads with them.
func (s stores) check() (string, error) {
	if err := s.ready(); err != nil {
		return "", err
	}
	if s.absent() {
		return "not installed", nil
	}
	text := strconv.Itoa(s.size()) + " objects"
	if age := s.Age(); age > 0 {
		text += ", last contact with the API server " + age.Round(time.Second).String() + " ago"
	}
	return text, nil
}
