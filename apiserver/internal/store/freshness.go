package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/json"
)

const (
	// compareTime bounds a comparison with the API server, for which many readers may be waiting.
	compareTime = 10 * time.Second
	// firstFill is how many times Options.FreshWait a read waits for a cache that was never filled, as after a start of the replica.
	firstFill = 10
	// metadataPage is the number of objects that are compared at once.
	metadataPage = 500
)

// waitForVersion waits until the cache is filled and has at least a version that the client got from another replica or from the API server. Without events a cache
// does not learn of newer versions, so it is then compared with the API server. A version that the API server does not have yet is ErrFutureVersion.
func (s *Store) waitForVersion(ctx context.Context, least uint64) error {
	reached := func() bool { return s.cache.synced && s.cache.version >= least }
	for wait := 1; !s.await(ctx, reached); wait++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := s.Ready(); err != nil && (wait == firstFill || !errors.Is(err, ErrNotSynced)) {
			return err
		} else if err == nil && least > 0 { // otherwise it was filled just now
			return s.catchUp(ctx, least, reached)
		}
	}
	return nil
}

// catchUp is waitForVersion for a filled cache that is behind. Readers that want the same version share one comparison.
func (s *Store) catchUp(ctx context.Context, least uint64, reached func() bool) error {
	compared := s.comparing.DoChan(strconv.FormatUint(least, 10), func() (any, error) { return nil, s.compare(context.WithoutCancel(ctx), least) })
	select {
	case <-ctx.Done():
		return ctx.Err()
	case got := <-compared:
		if got.Err != nil {
			return fmt.Errorf("comparing the cache of %s: %w", s.kind.Resource, got.Err)
		}
	}
	if s.await(ctx, reached) {
		return nil
	}
	return cmp.Or(ctx.Err(), ErrBehind)
}

// compare reads the metadata of all objects. If the cache has the same versions of objects, it is as new as the answer; otherwise the watch delivers the rest.
func (s *Store) compare(ctx context.Context, least uint64) error {
	ctx, cancel := context.WithTimeout(ctx, compareTime)
	defer cancel()
	versions := map[types.NamespacedName]uint64{}
	o := metav1.ListOptions{LabelSelector: s.opts.Selector, Limit: metadataPage}
	for {
		raw, err := do(ctx, s.opts.Reader.Get().Namespace(s.opts.Namespace).Resource(s.kind.Resource).VersionedParams(&o, metav1.ParameterCodec).
			SetHeader("Accept", "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"))
		switch {
		case err != nil && ctx.Err() != nil: // a limit of the comparison, and not of the reader
			return apierrors.NewServiceUnavailable("the Kubernetes API server does not answer")
		case err != nil:
			return err
		}
		list := &metav1.PartialObjectMetadataList{}
		if err := json.UnmarshalCaseSensitivePreserveInts(raw, list); err != nil {
			return fmt.Errorf("reading metadata: %w", err)
		}
		version := parseVersion(list.ResourceVersion)
		if version < least {
			return ErrFutureVersion
		}
		for i := range list.Items {
			versions[keyOf(&list.Items[i])] = parseVersion(list.Items[i].ResourceVersion)
		}
		if o.Continue = list.Continue; o.Continue == "" {
			s.cache.advanceIfSame(versions, version)
			return nil
		}
	}
}

// do sends a request and returns the body of the answer, or the error of the API server.
func do(ctx context.Context, r *rest.Request) ([]byte, error) {
	result := r.Do(ctx)
	if err := result.Error(); err != nil { // the error of Raw has the status code only
		return nil, err
	}
	return result.Raw()
}

// advanceIfSame raises the version of the cache if it has exactly these versions of objects, which are those of the collection at version.
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
	c.advance(version, false)
}
