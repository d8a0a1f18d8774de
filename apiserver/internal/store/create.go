package store

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// CreateOptions of Create.
type CreateOptions struct {
	// RequestID makes the create repeatable for a day. Empty means that it is not.
	RequestID string
	// DryRun does everything but the write.
	DryRun bool
}

// Create writes a new object with the caller's credentials and returns it as stored. The Store owns obj from then on.
// What only the server can set (uid, versions, times, status) is ignored, so that an object read elsewhere can be created as it is.
func (s *Store[T]) Create(ctx context.Context, obj T, o CreateOptions) (*Item[T], error) {
	s.clearServerOwned(obj)
	obj.SetUID("")
	obj.SetResourceVersion("")
	setOwnAnnotations(obj, "", "")
	if o.RequestID == "" || o.DryRun {
		return s.post(ctx, obj, o.DryRun)
	}
	hash, err := bodyHash(obj)
	if err != nil {
		return nil, err
	}
	k := requestKey{namespace: obj.GetNamespace(), id: o.RequestID}
	// Repetitions that overlap wait for the first one here, instead of all asking the API server.
	defer s.creates.lock(k)()
	if item, err := s.earlier(ctx, k, hash); item != nil || err != nil {
		return item, err
	}
	if obj.GetName() == "" && obj.GetGenerateName() != "" {
		obj.SetName(generatedName(obj.GetGenerateName(), k, s.kind.MaxNameLength))
	}
	setOwnAnnotations(obj, o.RequestID, hash)
	item, err := s.post(ctx, obj, false)
	if !apierrors.IsAlreadyExists(err) {
		return item, err
	}
	// Another replica, or this one before it was killed, may have created it for the same request.
	found, again := s.repeated(ctx, types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}, k, hash)
	switch {
	case errors.Is(again, ErrRequestIDReused):
		return nil, again
	case found != nil:
		return found, nil
	}
	return nil, err
}

// earlier looks in the cache for an object that the request made before, under whatever name, and among the writes
// that have not come back to the cache.
func (s *Store[T]) earlier(ctx context.Context, k requestKey, hash string) (*Item[T], error) {
	find := func() (types.NamespacedName, bool) {
		s.cache.mu.RLock()
		defer s.cache.mu.RUnlock()
		key, ok := s.cache.byReqID[k]
		return key, ok
	}
	key, ok := s.pending.requested(k) // first: an entry leaves here only once the cache has it
	if !ok {
		key, ok = find()
	}
	if !ok {
		return nil, nil
	}
	return s.repeated(ctx, key, k, hash)
}

// repeated reads an object with the caller's credentials and returns it when the same request made it. No object and no error means
// that it has nothing to do with the request, or that the caller may not see it.
func (s *Store[T]) repeated(ctx context.Context, key types.NamespacedName, k requestKey, hash string) (*Item[T], error) {
	obj := s.kind.New()
	err := s.opts.Writer.Get().Namespace(key.Namespace).Resource(s.kind.Resource).Name(key.Name).Do(ctx).Into(obj)
	switch {
	case apierrors.IsNotFound(err), apierrors.IsForbidden(err):
		return nil, nil
	case err != nil:
		return nil, err
	}
	annotations := obj.GetAnnotations()
	if annotations[AnnotationRequestID] != k.id || s.opts.Clock.Since(obj.GetCreationTimestamp().Time) > requestIDLife {
		return nil, nil
	}
	if annotations[AnnotationRequestHash] != hash {
		return nil, ErrRequestIDReused
	}
	s.kind.trim(obj)
	return newItem(obj), nil
}

func (s *Store[T]) post(ctx context.Context, obj T, dryRun bool) (*Item[T], error) {
	created, err := s.send(ctx, s.opts.Writer.Post().Namespace(obj.GetNamespace()).Resource(s.kind.Resource).
		VersionedParams(&metav1.CreateOptions{DryRun: dryRunOption(dryRun), FieldManager: FieldManager}, metav1.ParameterCodec), obj)
	if err != nil {
		return nil, err
	}
	return s.written(created, dryRun), nil
}

// written notes a write for the readers to come and returns what it made.
func (s *Store[T]) written(obj T, dryRun bool) *Item[T] {
	s.kind.trim(obj)
	item := newItem(obj)
	if !dryRun && item.rv != 0 {
		w := pendingWrite{version: item.rv}
		if rk, ok := requestKeyOf(obj); ok {
			w.request = rk
		}
		s.pending.note(item.key, w)
	}
	return item
}

// clearServerOwned empties what a client may send but the API server sets.
func (s *Store[T]) clearServerOwned(obj T) {
	obj.GetObjectKind().SetGroupVersionKind(s.kind.GroupVersionKind)
	obj.SetManagedFields(nil)
	obj.SetGeneration(0)
	obj.SetCreationTimestamp(metav1.Time{})
	obj.SetDeletionTimestamp(nil)
	obj.SetDeletionGracePeriodSeconds(nil)
	obj.SetSelfLink("")
	if s.kind.ClearStatus != nil {
		s.kind.ClearStatus(obj)
	}
}

// setOwnAnnotations sets the annotations of this package, or removes them when empty: a copy of an object is not the object that the
// request made.
func setOwnAnnotations(obj metav1.Object, id, hash string) {
	old := obj.GetAnnotations()
	annotations := make(map[string]string, len(old)+2)
	for name, value := range old {
		if name != AnnotationRequestID && name != AnnotationRequestHash {
			annotations[name] = value
		}
	}
	if id != "" {
		annotations[AnnotationRequestID] = id
		annotations[AnnotationRequestHash] = hash
	}
	if len(annotations) == 0 {
		annotations = nil
	}
	obj.SetAnnotations(annotations)
}

func dryRunOption(dryRun bool) []string {
	if dryRun {
		return []string{metav1.DryRunAll}
	}
	return nil
}
