package store

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// CreateOptions of Create.
type CreateOptions struct {
	// RequestID makes the create repeatable for a day. Empty means that it is not.
	RequestID string
	WriteOptions
}

// Create writes a new object with the caller's credentials and returns it as stored. The Store owns obj after the call. Fields that only
// the API server sets (uid, versions, times, status) are ignored, so that an object read elsewhere can be created unchanged.
func (s *Store) Create(ctx context.Context, obj *Object, o CreateOptions) (*Item, error) {
	s.clearServerOwned(obj)
	obj.SetUID("")
	obj.SetResourceVersion("")
	if o.RequestID == "" || o.DryRun {
		return s.post(ctx, obj, o.WriteOptions)
	}
	hash, err := bodyHash(obj.Object)
	if err != nil {
		return nil, err
	}
	k := requestKey{namespace: obj.GetNamespace(), id: o.RequestID}
	// Repetitions that overlap wait for the first one here, instead of all asking the API server.
	done, err := s.begin(ctx, k)
	if err != nil {
		return nil, err
	}
	defer done()
	if item, err := s.earlier(ctx, k, hash); item != nil || err != nil {
		return item, err
	}
	if obj.GetName() == "" && obj.GetGenerateName() != "" {
		obj.SetName(generatedName(obj.GetGenerateName(), k, s.kind.MaxNameLength))
	}
	annotate(obj, o.RequestID, hash)
	item, err := s.post(ctx, obj, o.WriteOptions)
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

// begin waits until no other create of the same request is in progress. done ends this one.
func (s *Store) begin(ctx context.Context, k requestKey) (done func(), err error) {
	own := make(chan struct{})
	for {
		other, busy := s.creates.LoadOrStore(k, own)
		if !busy {
			return func() { s.creates.Delete(k); close(own) }, nil
		}
		select {
		case <-other.(chan struct{}):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// earlier searches for an object that an earlier attempt of the request created, under any name, in the cache and among the writes that
// have not reached the cache.
func (s *Store) earlier(ctx context.Context, k requestKey, hash string) (*Item, error) {
	key, ok := s.pending.requested(k) // first: an entry leaves here only once the cache has it
	if !ok {
		s.cache.mu.RLock()
		key, ok = s.cache.byReqID[k]
		s.cache.mu.RUnlock()
	}
	if !ok {
		return nil, nil
	}
	return s.repeated(ctx, key, k, hash)
}

// repeated reads an object with the caller's credentials and returns it when the same request made it. No object and no error means
// that it has nothing to do with the request, or that the caller may not see it.
func (s *Store) repeated(ctx context.Context, key types.NamespacedName, k requestKey, hash string) (*Item, error) {
	item, err := s.Read(ctx, key)
	switch {
	case apierrors.IsNotFound(err), apierrors.IsForbidden(err):
		return nil, nil
	case err != nil:
		return nil, err
	}
	if item.Annotations[rayv1.AnnotationRequestID] != k.id || s.opts.Clock.Since(item.CreationTimestamp.Time) > requestIDLife {
		return nil, nil
	}
	if item.Annotations[rayv1.AnnotationRequestHash] != hash {
		return nil, ErrRequestIDReused
	}
	s.record(&pendingWrite{key: item.key, item: item}) // also a repeated create makes its object visible to later reads
	return item, nil
}

func (s *Store) post(ctx context.Context, obj *Object, o WriteOptions) (*Item, error) {
	return s.write(ctx, s.opts.Writer.Post().Namespace(obj.GetNamespace()).Resource(s.kind.Resource).SetHeader("Content-Type", "application/json").
		VersionedParams(&metav1.CreateOptions{DryRun: o.dryRun(), FieldManager: FieldManager, FieldValidation: o.fieldValidation()}, metav1.ParameterCodec), obj, o)
}

// annotate sets the annotations of this package. Empty values remove them, because a copy of an object must not have the request of its
// original. It also removes kubectl's annotation.
func annotate(obj *Object, id, hash string) {
	own := map[string]string{rayv1.AnnotationRequestID: id, rayv1.AnnotationRequestHash: hash, lastAppliedAnnotation: ""}
	all := labels.Merge(obj.GetAnnotations(), own)
	maps.DeleteFunc(all, func(name, value string) bool {
		_, isOwn := own[name]
		return isOwn && value == ""
	})
	if len(all) == 0 {
		all = nil
	}
	obj.SetAnnotations(all)
}

// requestIDLife is how long a request_id is remembered.
const requestIDLife = 24 * time.Hour

// requestKey identifies a create: a request_id means something within a namespace only.
type requestKey struct{ namespace, id string }

func requestKeyOf(obj metav1.Object) (requestKey, bool) {
	id := obj.GetAnnotations()[rayv1.AnnotationRequestID]
	return requestKey{namespace: obj.GetNamespace(), id: id}, id != ""
}

// bodyHash hashes the body of the client. The caller has removed the fields that the server owns.
func bodyHash(obj any) (string, error) {
	data, err := json.Marshal(obj)
	if err != nil {
		return "", fmt.Errorf("hashing the request: %w", err)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:16]), nil
}

// generatedName makes from a generateName the name that every repetition of the request makes as well. It is longer than the five
// random characters of Kubernetes, because a clash would not be tried again.
func generatedName(prefix string, k requestKey, maxLength int) string {
	sum := sha256.Sum256([]byte(k.namespace + "\x00" + k.id))
	suffix := strings.ToLower(base32.StdEncoding.EncodeToString(sum[:]))[:10]
	if room := maxLength - len(suffix); len(prefix) > room {
		prefix = prefix[:max(room, 0)]
	}
	return prefix + suffix
}
