package main

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
	"github.com/raygate/raygate/apiserver/internal/service"
	"github.com/raygate/raygate/apiserver/internal/store"
)

// stores is one store for each namespace that is served, or one with the key "" for all. A gateway without rights on the whole cluster has one watch per
// namespace; their changes have no common order, so that nothing is listed or watched across namespaces then.
type stores map[string]*store.Store[*rayv1.RayCluster]

var _ service.ClusterStore = stores{}

// newStores returns the stores of the namespaces; none means all.
func newStores(namespaces []string, o store.Options) stores {
	if len(namespaces) == 0 {
		namespaces = []string{metav1.NamespaceAll}
	}
	all := stores{}
	for _, ns := range namespaces {
		o.Namespace = ns
		all[ns] = store.New(clusterKind, o)
	}
	return all
}

// in calls the store of a namespace, or says why there is none.
func in[R any](s stores, namespace string, call func(*store.Store[*rayv1.RayCluster]) (R, error)) (R, error) {
	if all, ok := s[metav1.NamespaceAll]; ok {
		return call(all)
	}
	if one, ok := s[namespace]; ok {
		return call(one)
	}
	var none R
	served := strings.Join(slices.Sorted(maps.Keys(s)), ", ")
	if namespace == "" {
		return none, rpcstatus.BadField("namespace", "this gateway serves the namespaces %s, one at a time: name one of them", served)
	}
	return none, &rpcstatus.Error{Code: codes.NotFound, Reason: "NAMESPACE_NOT_SERVED", Message: "this gateway serves the namespaces " + served + " only"}
}

// Create implements service.ClusterStore.
func (s stores) Create(ctx context.Context, rc *rayv1.RayCluster, o store.CreateOptions) (*service.Cluster, error) {
	return in(s, rc.Namespace, func(one *store.Store[*rayv1.RayCluster]) (*service.Cluster, error) { return one.Create(ctx, rc, o) })
}

// Get implements service.ClusterStore.
func (s stores) Get(ctx context.Context, key types.NamespacedName, o store.ReadOptions) (*service.Cluster, error) {
	return in(s, key.Namespace, func(one *store.Store[*rayv1.RayCluster]) (*service.Cluster, error) { return one.Get(ctx, key, o) })
}

// List implements service.ClusterStore.
func (s stores) List(ctx context.Context, o store.ListOptions[*rayv1.RayCluster]) (*store.Page[*rayv1.RayCluster], error) {
	return in(s, o.Namespace, func(one *store.Store[*rayv1.RayCluster]) (*store.Page[*rayv1.RayCluster], error) {
		return one.List(ctx, o)
	})
}

// Replace implements service.ClusterStore.
func (s stores) Replace(ctx context.Context, rc *rayv1.RayCluster, o store.ReplaceOptions) (*service.Cluster, error) {
	return in(s, rc.Namespace, func(one *store.Store[*rayv1.RayCluster]) (*service.Cluster, error) { return one.Replace(ctx, rc, o) })
}

// Delete implements service.ClusterStore.
func (s stores) Delete(ctx context.Context, key types.NamespacedName, o store.DeleteOptions) (types.UID, error) {
	return in(s, key.Namespace, func(one *store.Store[*rayv1.RayCluster]) (types.UID, error) { return one.Delete(ctx, key, o) })
}

// Watch implements service.ClusterStore.
func (s stores) Watch(ctx context.Context, o store.WatchOptions[*rayv1.RayCluster], send func(store.Event[*rayv1.RayCluster]) error) error {
	_, err := in(s, o.Namespace, func(one *store.Store[*rayv1.RayCluster]) (struct{}, error) {
		return struct{}{}, one.Watch(ctx, o, send)
	})
	return err
}

// run fills the caches until ctx ends.
func (s stores) run(ctx context.Context) {
	for _, one := range s {
		go one.Run(ctx)
	}
}

// state returns how many objects are cached, the oldest last contact with the API server, and why they are not ready.
func (s stores) state() (objects int, contact time.Time, err error) {
	for _, one := range s {
		n, last := one.Size()
		objects += n
		if contact.IsZero() || last.Before(contact) {
			contact = last
		}
		if notReady := one.Ready(); notReady != nil {
			err = notReady
		}
	}
	return objects, contact, err
}

// check is the line of readiness. A cache that has been filled serves, however old the last contact with the API server: replicas that all left at once
// because it is away would take the reads with them.
func (s stores) check() (string, error) {
	objects, contact, err := s.state()
	return strconv.Itoa(objects) + " objects, last contact with the API server " + time.Since(contact).Round(time.Second).String() + " ago", err
}
