package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"github.com/raygate/raygate/apiserver/internal/encoding"
)

const (
	// defaultFreshWait is how long a read waits for the cache before it reads from the API server.
	defaultFreshWait = 500 * time.Millisecond
	// defaultHeartbeat is the interval of heartbeats of an idle watch.
	defaultHeartbeat = 20 * time.Second
)

// Options of a Store. The zero value of each field is usable unless its comment excludes that.
type Options struct {
	// Reader lists and watches with the gateway's own credentials. Its scheme is NewScheme's. Required.
	Reader rest.Interface
	// Namespace is the namespace whose objects are cached. Empty means all.
	Namespace string
	// Selector selects the cached objects by labels. Empty means all.
	Selector string
	// Writer sends requests with the credentials found in the request's context. Required.
	Writer rest.Interface
	// Tokens are the page tokens. Nil means tokens that end with the process.
	Tokens *Tokens
	// LogLength is the number of changes kept for watchers. LogBytes is the size of replaced objects, and of writes that the watch has not
	// delivered yet. Zero means 4096 and 64 MiB.
	LogLength int
	LogBytes  int
	// FreshWait bounds how long a read waits for a version. Zero means 0.5 s.
	FreshWait time.Duration
	// Heartbeat is the longest silence of a watch. Zero means 20 s.
	Heartbeat time.Duration
	// Views caches encoded forms of objects, for all Stores of the process. Nil means a separate cache.
	Views *encoding.Cache
	// Clock is for tests. Nil means the real one.
	Clock clock.WithTicker
}

func (o *Options) setDefaults() {
	o.LogLength, o.LogBytes = cmp.Or(o.LogLength, defaultLogLength), cmp.Or(o.LogBytes, defaultLogBytes)
	o.FreshWait, o.Heartbeat = cmp.Or(o.FreshWait, defaultFreshWait), cmp.Or(o.Heartbeat, defaultHeartbeat)
	o.Clock = cmp.Or[clock.WithTicker](o.Clock, clock.RealClock{})
	if o.Views == nil {
		o.Views = encoding.NewCache(0)
	}
	if o.Tokens == nil {
		o.Tokens = new(NewTokens(nil, o.Clock))
	}
}

// Store reads and writes the objects of one kind.
type Store struct {
	kind    Kind
	opts    Options
	cache   *watchCache
	pending *pendingWrites
	creates sync.Map // requestKey of a create that is under way -> chan struct{}, closed at its end
	// comparing shares comparisons with the API server, by the version that readers want.
	comparing singleflight.Group
}

// New returns a Store that answers reads once Run has filled its cache.
func New(kind Kind, opts Options) *Store {
	opts.setDefaults()
	kind.MaxNameLength = cmp.Or(kind.MaxNameLength, 63)
	s := &Store{kind: kind, opts: opts, pending: newPendingWrites(opts.LogBytes)}
	s.cache = newWatchCache(&s.kind, s.opts, s.pending.reset)
	return s
}

// Run keeps the cache up to date until ctx ends.
func (s *Store) Run(ctx context.Context) {
	request := func(o *metav1.ListOptions) *rest.Request {
		o.LabelSelector = s.opts.Selector
		return s.opts.Reader.Get().Namespace(s.opts.Namespace).Resource(s.kind.Resource).VersionedParams(o, metav1.ParameterCodec)
	}
	source := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			list, err := request(&o).Do(ctx).Get()
			s.cache.contact(err)
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.Watch = true
			o.AllowWatchBookmarks = true
			w, err := request(&o).Watch(ctx)
			s.cache.contact(err)
			return w, err
		},
	}
	cache.NewReflectorWithOptions(source, &Item{}, s.cache, cache.ReflectorOptions{
		Name: s.kind.Resource, Backoff: new(reconnect),
	}).RunWithContext(ctx)
}

// Ready returns nil once the cache has been filled.
func (s *Store) Ready() error {
	s.cache.mu.RLock()
	defer s.cache.mu.RUnlock()
	switch {
	case s.cache.synced && !s.cache.absent:
		return nil
	case s.cache.absent:
		return fmt.Errorf("reading %s: %w", s.kind.Resource, ErrNotServed)
	}
	return fmt.Errorf("reading %s: %w", s.kind.Resource, cmp.Or(s.cache.refused, ErrNotSynced))
}

// Size returns the number of objects in the cache, for metrics.
func (s *Store) Size() int {
	s.cache.mu.RLock()
	defer s.cache.mu.RUnlock()
	return len(s.cache.items)
}

// Age returns how long the API server has not been in contact; zero while it is. Reads are that old at most.
func (s *Store) Age() time.Duration { return s.cache.age() }

// Errors of a Store. Those of the API server are returned wrapped.
var (
	// ErrPageToken means that a page token was not made by this gateway or belongs to another query.
	ErrPageToken = errors.New("page_token is not one of this query: repeat the list without it")
	// ErrPageTokenExpired means that a page token has expired.
	ErrPageTokenExpired = errors.New("page_token has expired: repeat the list without it")
	// ErrRequestIDReused means that the request_id belongs to an earlier create with another body.
	ErrRequestIDReused = errors.New("request_id was used before with another body: use a new request_id for a new object")
	// ErrResumeToken means that a watch resume token cannot be read.
	ErrResumeToken = errors.New("resume_token is not one that a watch returned")
	// ErrSlowWatcher means that a watch client fell further behind than the log of changes reaches.
	ErrSlowWatcher = errors.New("the client reads more slowly than objects change: resume with the last resume_token")
	// ErrVersionRequired means that a replace has neither a resourceVersion nor allow_overwrite.
	ErrVersionRequired = errors.New("metadata.resourceVersion is required to replace an object: send the one you read, or set allow_overwrite")
	// ErrNotSynced means that the gateway has not yet read the objects from the API server.
	ErrNotSynced = errors.New("the gateway has not finished reading from the Kubernetes API server")
	// ErrNotServed means that the API server does not have the kind.
	ErrNotServed = errors.New("the CustomResourceDefinition of this kind is not installed")
	// ErrFutureVersion means that a client requires a version that the API server has not reached.
	ErrFutureVersion = errors.New("x-min-resource-version is newer than anything the Kubernetes API server has: send a resourceVersion that you read")
	// ErrBehind means that the cache has not reached a version that a client requires.
	ErrBehind = errors.New("the gateway has not yet seen the version in x-min-resource-version")
)

// Object is the JSON tree of an object to write. The Store owns it after the call.
type Object = unstructured.Unstructured

// Kind describes one resource to a Store.
type Kind struct {
	// GroupVersionKind of the objects.
	GroupVersionKind schema.GroupVersionKind
	// Resource is the plural name in request paths, for example rayclusters.
	Resource string
	// State is the path, in gjson's syntax, of the text for order_by=state and for state in filters. Empty means that the kind has no
	// state.
	State string
	// MaxNameLength bounds names made from generateName. Zero means 63.
	MaxNameLength int
}

// GroupResource names the resource in errors and access reviews.
func (k *Kind) GroupResource() schema.GroupResource {
	return schema.GroupResource{Group: k.GroupVersionKind.Group, Resource: k.Resource}
}
