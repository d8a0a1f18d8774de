package store

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
)

const (
	// defaultFreshWait is how long a read waits for the cache before it asks the API server itself.
	defaultFreshWait = 1500 * time.Millisecond
	// defaultHeartbeat is how often an idle watch says that it lives.
	defaultHeartbeat = 20 * time.Second
)

// Options of a Store. The zero value of each field is usable unless it says otherwise.
type Options struct {
	// Reader lists and watches with the gateway's own credentials. Required.
	Reader rest.Interface
	// Namespace is the one whose objects are cached. Empty means all.
	Namespace string
	// Writer sends requests with the credentials found in the request's context. Required.
	Writer rest.Interface
	// TokenKey authenticates page tokens; replicas must share it for tokens to work on all of them. Empty means a random
	// one, so that tokens end with the process.
	TokenKey []byte
	// LogLength is how many changes are remembered for watchers. Zero means 4096.
	LogLength int
	// FreshWait bounds how long a read waits to see an earlier write. Zero means 1.5 s.
	FreshWait time.Duration
	// Heartbeat is the longest silence of a watch. Zero means 20 s.
	Heartbeat time.Duration
	// Clock is for tests. Nil means the real one.
	Clock clock.WithTicker
}

// Store reads and writes the objects of one kind.
type Store[T Object] struct {
	kind    Kind[T]
	opts    Options
	cache   *watchCache[T]
	pending *pendingWrites
	creates keyedMutex[requestKey]
	tokens  tokenSealer
}

// New returns a Store that answers reads once Run has filled its cache.
func New[T Object](kind Kind[T], opts Options) *Store[T] {
	if opts.FreshWait == 0 {
		opts.FreshWait = defaultFreshWait
	}
	if opts.Heartbeat == 0 {
		opts.Heartbeat = defaultHeartbeat
	}
	if opts.Clock == nil {
		opts.Clock = clock.RealClock{}
	}
	if len(opts.TokenKey) == 0 {
		opts.TokenKey = make([]byte, 32)
		_, _ = rand.Read(opts.TokenKey) // never fails since Go 1.24
	}
	if kind.MaxNameLength == 0 {
		kind.MaxNameLength = 63
	}
	if kind.Encode == nil {
		kind.Encode = func(obj T) ([]byte, error) { return json.Marshal(obj) }
	}
	s := &Store[T]{kind: kind, opts: opts, pending: newPendingWrites(), tokens: tokenSealer{key: opts.TokenKey, clock: opts.Clock}}
	s.cache = newWatchCache(&s.kind, opts.LogLength, opts.Clock)
	return s
}

// Run keeps the cache up to date until ctx ends.
func (s *Store[T]) Run(ctx context.Context) {
	s.cache.run(ctx, &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return s.opts.Reader.Get().Namespace(s.opts.Namespace).Resource(s.kind.Resource).VersionedParams(&o, metav1.ParameterCodec).Do(ctx).Get()
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.Watch = true
			o.AllowWatchBookmarks = true
			return s.opts.Reader.Get().Namespace(s.opts.Namespace).Resource(s.kind.Resource).VersionedParams(&o, metav1.ParameterCodec).Watch(ctx)
		},
	})
}

// send puts obj into the body of a write, sends it and returns the answer.
func (s *Store[T]) send(ctx context.Context, r *rest.Request, obj T) (T, error) {
	answer := s.kind.New()
	body, err := s.kind.Encode(obj)
	if err != nil {
		return answer, fmt.Errorf("encoding %s: %w", keyOf(obj), err)
	}
	return answer, r.SetHeader("Content-Type", runtime.ContentTypeJSON).Body(body).Do(ctx).Into(answer)
}

// Ready returns nil once the cache has been filled.
func (s *Store[T]) Ready() error {
	s.cache.mu.RLock()
	defer s.cache.mu.RUnlock()
	if !s.cache.synced {
		return fmt.Errorf("reading %s: %w", s.kind.Resource, ErrNotSynced)
	}
	return nil
}

// Size returns the number of objects in the cache and the time of the last word from the API server, for metrics.
func (s *Store[T]) Size() (objects int, heard time.Time) {
	s.cache.mu.RLock()
	defer s.cache.mu.RUnlock()
	return len(s.cache.items), s.cache.heard
}
