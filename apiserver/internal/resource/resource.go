package resource

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/apiserver/internal/authz"
	"github.com/raygate/raygate/apiserver/internal/encoding"
	"github.com/raygate/raygate/apiserver/internal/store"
	"github.com/raygate/raygate/pkg/devices/load"
	"github.com/raygate/raygate/pkg/validation"
)

// Store is the part of store.Store that a Resource uses: the objects of a namespace, or of all.
type Store interface {
	Create(ctx context.Context, obj *store.Object, o store.CreateOptions) (*store.Item, error)
	Get(ctx context.Context, key types.NamespacedName, o store.ReadOptions) (*store.Item, error)
	List(ctx context.Context, o store.ListOptions) (*store.Page, error)
	Watch(ctx context.Context, o store.WatchOptions, send func(store.Event) error) error
	Read(ctx context.Context, key types.NamespacedName) (*store.Item, error)
	Version(key types.NamespacedName, version string) *store.Item
	Replace(ctx context.Context, obj *store.Object, old *store.Item, o store.WriteOptions) (*store.Item, error)
	Patch(ctx context.Context, key types.NamespacedName, patch map[string]any, o store.PatchOptions) (*store.Item, error)
	Delete(ctx context.Context, key types.NamespacedName, o store.DeleteOptions) (types.UID, error)
	Age() time.Duration
}

// Options of New. In and Authorizer are required.
type Options struct {
	// In returns the Store with the objects of a namespace, or of all if it is empty; an error if there is none.
	In         func(namespace string) (Store, error)
	Authorizer authz.Authorizer
	Validation validation.Options
	// Views caches encoded forms of objects. Nil means a separate cache.
	Views *encoding.Cache
	// Core reads Pods and Events with the caller's credentials, for ListEvents and diagnoses. Nil means that these do not work.
	Core rest.Interface
	// Devices is the current registry of shared accelerators, with which diagnoses plan Pods. Nil disables that.
	Devices *load.Live
	// Profiles has the profiles that objects may name. Nil means that the label of a profile has no effect.
	Profiles Profiles
	// Warn sends the client a warning, which does not stop the call. Nil drops it.
	Warn func(ctx context.Context, text string)
}

// Resource implements the methods of one kind.
type Resource struct {
	Kind
	Options
	// Dependents has the objects that those of the kind create, which diagnoses include: clusters or jobs. Nil for clusters.
	Dependents *Resource
	// Past returns the record that a diagnosis needs, nil for none. item is the object as it is now, nil if it does not exist. The caller may
	// get the object. Nil means that there are no records.
	Past func(ctx context.Context, req proto.Message, item *store.Item) (*Record, error)

	// recorded replaces the API server in a diagnosis of the past, and kept adds to what it has. Nil for all other calls.
	recorded, kept *recorded
	message        protoreflect.MessageType
	basic          map[string]any
}

// New returns the methods of a kind.
func New(kind Kind, o Options) *Resource {
	if o.Warn == nil {
		o.Warn = func(context.Context, string) {}
	}
	if o.Views == nil {
		o.Views = encoding.NewCache(0)
	}
	return &Resource{Kind: kind, Options: o, message: kind.Message.ProtoReflect().Type(), basic: keepOf(kind.Basic)}
}

// target names an object; requests about one implement it.
type target interface {
	proto.Message
	GetNamespace() string
	GetName() string
}

func keyOf(req target) types.NamespacedName {
	return types.NamespacedName{Namespace: req.GetNamespace(), Name: req.GetName()}
}

func (r *Resource) authorize(ctx context.Context, verb, namespace, name string) error {
	return r.Authorizer.Authorize(ctx, authz.Access{Verb: verb, Group: rayv1.GroupVersion.Group, Resource: r.Resource, Namespace: namespace, Name: name})
}

// storeFor returns the Store of a namespace, or of all if it is empty, for a caller who may use the verbs. name is empty for a collection.
func (r *Resource) storeFor(ctx context.Context, namespace, name string, verbs ...string) (Store, error) {
	for _, verb := range verbs {
		if err := r.authorize(ctx, verb, namespace, name); err != nil {
			return nil, err
		}
	}
	return r.In(namespace)
}

// warnOfAge warns that the cache has lost the API server, and since when.
func (r *Resource) warnOfAge(ctx context.Context, st Store) {
	if age := st.Age(); age > 0 {
		r.Warn(ctx, fmt.Sprintf("the gateway has had no contact with the Kubernetes API server for %s: this answer is as old as that", age.Round(time.Second)))
	}
}
