package children

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"reflect"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// errNotOwned reports that an object with the wanted name has another controller or none. The operator never changes it.
type errNotOwned struct {
	controller *metav1.OwnerReference // nil if nothing controls it
	found      client.Object
	what       string
}

// Error implements error.
func (e *errNotOwned) Error() string {
	whose := "it has no controller"
	if e.controller != nil {
		whose = fmt.Sprintf("its controller is %s %s", e.controller.Kind, e.controller.Name)
	}
	return fmt.Sprintf("%s exists and belongs to something else: %s; rename or delete it", e.what, whose)
}

// errBeingDeleted reports that the child is being deleted. It can be created again after that.
var errBeingDeleted = errors.New("is being deleted")

// errPredecessor reports that the object belongs to a deleted owner of the same kind and name. The garbage collector removes it
// soon.
var errPredecessor = errors.New("belongs to a deleted owner of the same name")

// whyNotOurs returns the error for an object that the owner does not control. ours is the owner's controller reference; nil if it
// is unknown.
func whyNotOurs(what string, current client.Object, ours *metav1.OwnerReference) error {
	theirs := metav1.GetControllerOf(current)
	if ours != nil && theirs != nil && theirs.APIVersion == ours.APIVersion && theirs.Kind == ours.Kind && theirs.Name == ours.Name && theirs.UID != ours.UID {
		return fmt.Errorf("%s %w", what, errPredecessor)
	}
	return &errNotOwned{what: what, controller: theirs, found: current}
}

// errRepaired reports that the same repair was made several times within a short time.
type errRepaired struct {
	what string
	wait time.Duration
}

// Error implements error.
func (e *errRepaired) Error() string {
	return e.what + " is changed by something else as soon as it is put right; it is tried less often now"
}

// put creates the child, or patches current, the object of that name in the cache. If current has only metadata, put compares only
// metadata. Without an error, Desired becomes the object on the server.
//
// put keeps fields that Desired leaves empty, and labels and annotations that it does not mention: they may be defaults or belong
// to the user. It removes only annotations of an earlier Desired. Rules of single kinds are in kinds.go. Errors are errNotOwned,
// errBeingDeleted, errRepaired or those of the API server.
func (w *Writer) put(ctx context.Context, owner metav1.Object, a attempt, c Child, current client.Object) (Operation, error) {
	if !c.AsFound && c.Patch == nil {
		track(c.Desired)
	}
	if current == nil {
		taken, err := w.create(ctx, c.Desired)
		if err != nil {
			return None, err
		}
		if taken == nil {
			return Create, nil
		}
		current = taken
	}
	return w.repair(ctx, owner, a, c, current)
}

// repair patches current if it differs.
func (w *Writer) repair(ctx context.Context, owner metav1.Object, a attempt, c Child, current client.Object) (Operation, error) {
	what := w.describe(c.Desired)
	if !w.ours(owner, current) {
		return None, whyNotOurs(what, current, metav1.GetControllerOf(c.Desired))
	}
	if current.GetDeletionTimestamp() != nil {
		return None, fmt.Errorf("%s %w", what, errBeingDeleted)
	}
	if c.Keep != nil {
		c.Keep(current)
	}
	patch, err := w.patchFor(c, current)
	if err != nil {
		return None, fmt.Errorf("building the patch for %s: %w", what, err)
	}
	if patch == nil {
		copyInto(current, c.Desired)
		return None, nil
	}
	asked := a.generation ^ contentOf(patch, current)
	if wait := w.repairs.Wait(a.key, asked); wait > 0 {
		copyInto(current, c.Desired)
		return None, &errRepaired{what: what, wait: wait}
	}
	// Patch decodes the response into its argument, so pass a copy: current belongs to the cache.
	target := current.DeepCopyObject().(client.Object)
	if err := w.config.Client.Patch(ctx, target, patch); err != nil {
		return None, fmt.Errorf("patching %s: %w", what, err)
	}
	w.repairs.Failed(a.key, asked, struct{}{})
	copyInto(target, c.Desired)
	return Update, nil
}

// contentOf returns a key for the content of a repair. The owner may want other content although its generation is the same.
func contentOf(patch client.Patch, current client.Object) int64 {
	body, _ := patch.Data(current) // a RawPatch has no error
	return int64(crc32.ChecksumIEEE(bytes.ReplaceAll(body, []byte(strconv.Quote(current.GetResourceVersion())), nil))) << 31
}

// patchFor returns the patch that repairs current, or nil if nothing differs.
func (w *Writer) patchFor(c Child, current client.Object) (client.Patch, error) {
	switch {
	case c.AsFound:
		return nil, nil
	case c.Patch != nil:
		return c.Patch(current)
	}
	kind, err := w.kindOf(c.Desired)
	if err != nil {
		return nil, err
	}
	return mergePatch(c.Desired, current, kinds[kind.Kind])
}

func (w *Writer) ours(owner metav1.Object, current client.Object) bool {
	if w.config.Ours != nil {
		return w.config.Ours(owner, current)
	}
	return metav1.IsControlledBy(current, owner)
}

// create creates desired and updates it from the response. If the name is taken, it returns the existing object.
func (w *Writer) create(ctx context.Context, desired client.Object) (client.Object, error) {
	attempt := desired.DeepCopyObject().(client.Object)
	err := w.config.Client.Create(ctx, attempt)
	if err == nil {
		copyInto(attempt, desired)
		return nil, nil
	}
	what := w.describe(desired)
	if !apierrors.IsAlreadyExists(err) {
		return nil, fmt.Errorf("creating %s: %w", what, err)
	}
	// The cache is stale or filtered, or another client took the name. Read from the server.
	live := desired.DeepCopyObject().(client.Object)
	switch readErr := w.config.Live.Get(ctx, client.ObjectKeyFromObject(desired), live); {
	case apierrors.IsNotFound(readErr): // deleted meanwhile
		return nil, fmt.Errorf("creating %s: %w", what, err)
	case readErr != nil:
		return nil, fmt.Errorf("reading %s, whose name was taken: %w", what, readErr)
	}
	return live, nil
}

// describe omits the kind if the client does not know it; requests for such an object fail.
func (w *Writer) describe(o client.Object) string {
	kind, _ := w.kindOf(o)
	return fmt.Sprintf("%s %s/%s", kind.Kind, o.GetNamespace(), o.GetName())
}

// copyInto overwrites dst with src. If src has only metadata, it overwrites only the metadata.
func copyInto(src, dst client.Object) {
	if from, partial := src.(*metav1.PartialObjectMetadata); partial {
		dst.SetUID(from.UID)
		dst.SetResourceVersion(from.ResourceVersion)
		dst.SetLabels(from.Labels)
		dst.SetAnnotations(from.Annotations)
		dst.SetOwnerReferences(from.OwnerReferences)
		return
	}
	reflect.ValueOf(dst).Elem().Set(reflect.ValueOf(src.DeepCopyObject()).Elem())
}
