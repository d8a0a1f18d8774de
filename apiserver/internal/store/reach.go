package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/json"
)

const (
	// askTime bounds a question to the API server that many readers may be waiting for.
	askTime = 10 * time.Second
	// firstFill is how many times Options.FreshWait a read waits for a cache that has never been filled: that of a replica which has just started, and whose
	// clients would use up what they try again.
	firstFill = 10
	// metadataPage is how many objects are compared at once.
	metadataPage = 500
)

// reach waits until the cache has been filled and is not older than a version, which a client has seen at another replica or in an answer of
// the API server. A cache in which nothing happens does not learn of newer versions by itself, so it is compared with the API server: by one
// question however many readers wait. A version that the API server has not reached is ErrFutureVersion.
func (s *Store) reach(ctx context.Context, least uint64) error {
	there := func() bool { return s.cache.synced && s.cache.version >= least }
	for wait := 1; !s.await(ctx, there); wait++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := s.Ready(); err != nil && (wait == firstFill || !errors.Is(err, ErrNotSynced)) {
			return err
		} else if err == nil && least > 0 { // else it has been filled just now
			return s.catchUp(ctx, least, there)
		}
	}
	return nil
}

// catchUp is reach for a cache that has been filled and is behind.
func (s *Store) catchUp(ctx context.Context, least uint64, there func() bool) error {
	newest, err := s.shared(ctx, "newest", s.newest)
	if err != nil {
		return fmt.Errorf("asking for the newest version of %s: %w", s.kind.Resource, err)
	}
	if newest < least {
		return ErrFutureVersion
	}
	if _, err := s.shared(ctx, "compare", s.compare); err != nil {
		return fmt.Errorf("comparing the cache of %s: %w", s.kind.Resource, err)
	}
	if s.await(ctx, there) {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return ErrBehind
}

// shared asks the API server once for all who ask at the same time.
func (s *Store) shared(ctx context.Context, name string, ask func(context.Context) (uint64, error)) (uint64, error) {
	answer := s.asking.DoChan(name, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), askTime)
		defer cancel()
		version, err := ask(ctx)
		if err != nil && ctx.Err() != nil { // the time of the question, and of no reader
			err = apierrors.NewServiceUnavailable("the Kubernetes API server does not answer")
		}
		return version, err
	})
	select {
	case <-ctx.Done():
		return 0, ctx.Err()
	case got := <-answer:
		if got.Err != nil {
			return 0, got.Err
		}
		return got.Val.(uint64), nil
	}
}

// newest returns the version that the collection has now, at the cost of one object.
func (s *Store) newest(ctx context.Context) (uint64, error) {
	list, err := s.metadata(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return 0, err
	}
	return parseVersion(list.ResourceVersion), nil
}

// compare reads the metadata of all objects. When the cache holds the same versions it is as new as the answer; when not, the watch will tell.
func (s *Store) compare(ctx context.Context) (uint64, error) {
	versions := map[types.NamespacedName]uint64{}
	o := metav1.ListOptions{Limit: metadataPage}
	for {
		list, err := s.metadata(ctx, o)
		if err != nil {
			return 0, err
		}
		for i := range list.Items {
			versions[keyOf(&list.Items[i])] = parseVersion(list.Items[i].ResourceVersion)
		}
		if o.Continue = list.Continue; o.Continue == "" {
			version := parseVersion(list.ResourceVersion)
			s.cache.advanceIfSame(versions, version)
			return version, nil
		}
	}
}

func (s *Store) metadata(ctx context.Context, o metav1.ListOptions) (*metav1.PartialObjectMetadataList, error) {
	list := &metav1.PartialObjectMetadataList{}
	o.LabelSelector = s.opts.Selector
	r := s.opts.Reader.Get().Namespace(s.opts.Namespace).Resource(s.kind.Resource).VersionedParams(&o, metav1.ParameterCodec).
		SetHeader("Accept", strings.Join([]string{"application/json", "as=PartialObjectMetadataList", "g=meta.k8s.io", "v=v1"}, ";"))
	raw, err := do(ctx, r)
	if err != nil {
		return nil, err
	}
	if err := json.UnmarshalCaseSensitivePreserveInts(raw, list); err != nil {
		return nil, fmt.Errorf("reading metadata: %w", err)
	}
	return list, nil
}

// do sends a request and returns the body of the answer, or what the API server says is wrong.
func do(ctx context.Context, r *rest.Request) ([]byte, error) {
	result := r.Do(ctx)
	if err := result.Error(); err != nil { // Raw would say only what the status code says
		return nil, err
	}
	return result.Raw()
}

// advanceIfSame moves the version on to one at which the collection held exactly these versions of objects, when the cache does too.
func (c *watchCache) advanceIfSame(versions map[types.NamespacedName]uint64, version uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(versions) != len(c.items) {
		return
	}
	for _, item := range c.items {
		if versions[item.key] != item.rv {
			return
		}
	}
	c.advance(version)
}
