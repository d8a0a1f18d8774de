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

	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
	"github.com/raygate/raygate/apiserver/internal/store"
)

// stores is one store of a kind for each served namespace, or one with the key "" for all. A gateway without rights on the whole cluster
// has one watch per namespace. Their changes have no common order, so lists and watches across namespaces are not possible then.
type stores map[string]*store.Store

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

// get reads an object.
func (s stores) get(ctx context.Context, key types.NamespacedName) (*store.Item, error) {
	st, err := s.one(key.Namespace)
	if err != nil {
		return nil, err
	}
	return st.Get(ctx, key, store.ReadOptions{})
}

// storeIn returns one of s as an interface T that stores have.
func storeIn[T any](s stores) func(namespace string) (T, error) {
	return func(namespace string) (found T, err error) {
		one, err := s.one(namespace)
		if err == nil { // else the interface must be nil, and not hold a nil
			found = any(one).(T)
		}
		return found, err
	}
}

// one returns the store of a namespace.
func (s stores) one(namespace string) (*store.Store, error) {
	for _, ns := range []string{metav1.NamespaceAll, namespace} {
		if one, ok := s[ns]; ok {
			return one, nil
		}
	}
	served := strings.Join(slices.Sorted(maps.Keys(s)), ", ")
	if namespace == "" {
		return nil, rpcstatus.BadField("namespace", "this gateway serves the namespaces %s, one at a time: name one of them", served)
	}
	return nil, &rpcstatus.Error{Code: codes.NotFound, Reason: "NAMESPACE_NOT_SERVED", Message: "this gateway serves the namespaces " + served + " only"}
}

// age is the time since the last contact of the namespace that has been out of contact longest.
func (s stores) age() time.Duration {
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

// check returns the line for readiness; an error is the reason why the caches are not usable yet. It does not wait for a kind that is not
// installed. A filled cache serves at any time after the last contact with the API server. Otherwise all replicas would become unready
// together when the API server is unreachable, and reads would fail.
func (s stores) check() (string, error) {
	for _, one := range s {
		switch err := one.Ready(); {
		case errors.Is(err, store.ErrNotServed):
			return "not installed", nil
		case err != nil:
			return "", err
		}
	}
	text := strconv.Itoa(s.size()) + " objects"
	if age := s.age(); age > 0 {
		text += ", last contact with the API server " + age.Round(time.Second).String() + " ago"
	}
	return text, nil
}
