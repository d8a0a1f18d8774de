package apply

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// ErrNotOwned says that an object of the wanted name exists and has another controller, or none. It is never changed.
var ErrNotOwned = errors.New("exists and belongs to something else")

// NotOwnedError is an ErrNotOwned that says who has the object.
type NotOwnedError struct {
	// Controller controls the object; nil if nothing does.
	Controller *metav1.OwnerReference
	// Found is the object as it was read.
	Found client.Object
	what  string
}

// Error implements error.
func (e *NotOwnedError) Error() string {
	whose := "it has no controller"
	if e.Controller != nil {
		whose = fmt.Sprintf("its controller is %s %s", e.Controller.Kind, e.Controller.Name)
	}
	return fmt.Sprintf("%s %s: %s; rename or delete it", e.what, ErrNotOwned, whose)
}

// Is makes errors.Is know an ErrNotOwned.
func (e *NotOwnedError) Is(target error) bool { return target == ErrNotOwned }

// ErrBeingDeleted says that our own object of the wanted name is on its way out. It can be made again when it is gone.
var ErrBeingDeleted = errors.New("is being deleted")

// Result says what Object did.
type Result string

const (
	// Unchanged says that nothing had to be written.
	Unchanged Result = "Unchanged"
	// Created says that the object was missing.
	Created Result = "Created"
	// Patched says that the object differed from what was asked for.
	Patched Result = "Patched"
	// Needed says that the object differs from what was asked for, but patches are held back.
	Needed Result = "Needed"
)

// Writer writes children of one kind of owner.
type Writer struct {
	// Client writes. It is not used to read, because its cache may hold a subset of the objects only.
	Client client.Client
	// Live reads from the API server itself. It is asked only when a create finds the name taken.
	Live client.Reader
	// Ours reports whether an object is a child of the owner; nil asks whether the owner is its controller.
	Ours func(owner metav1.Object, current client.Object) bool
	// Patch returns what makes our own object right, nil for nothing to do; unset is a merge patch with what desired asks for.
	Patch func(current client.Object) (client.Patch, error)
	// Keep, if set, is called with our own object as it was found, before desired is compared with it. It can take over into
	// desired what others put there and may stay.
	Keep func(current client.Object)
	// HoldBack puts patches off: Object then answers Needed instead of writing to an object that exists.
	HoldBack bool
	// Untracked leaves out the annotation by which a later Object knows which annotations are ours: for objects that are made once
	// and never compared.
	Untracked bool
}

// Object makes current look like desired. current is what the cache shows under that name, and nil when it shows
// nothing; it may be the metadata alone, and then only metadata is compared. desired must name owner as its controller; on
// return without error it is the object as the server has it, or has its metadata.
//
// Fields that desired leaves empty, and labels and annotations that it does not mention, are not touched: they may be
// defaults, or belong to the user. Only an annotation that an earlier desired asked for goes when it is no longer asked for.
// What is peculiar to a kind is in kinds.go. Errors can be ErrNotOwned, ErrBeingDeleted or those of the API server.
func (w Writer) Object(ctx context.Context, owner metav1.Object, desired, current client.Object) (Result, error) {
	if !w.Untracked {
		track(desired)
	}
	if current == nil {
		taken, err := w.Create(ctx, desired)
		if err != nil {
			return Unchanged, err
		}
		if taken == nil {
			return Created, nil
		}
		current = taken
	}
	what := describe(desired, w.Client)
	if !w.ours(owner, current) {
		return Unchanged, &NotOwnedError{what: what, Controller: metav1.GetControllerOf(current), Found: current}
	}
	if current.GetDeletionTimestamp() != nil {
		return Unchanged, fmt.Errorf("%s %w", what, ErrBeingDeleted)
	}
	if w.Keep != nil {
		w.Keep(current)
	}
	return w.patch(ctx, what, desired, current)
}

func (w Writer) ours(owner metav1.Object, current client.Object) bool {
	if w.Ours != nil {
		return w.Ours(owner, current)
	}
	return metav1.IsControlledBy(current, owner)
}

func (w Writer) patch(ctx context.Context, what string, desired, current client.Object) (Result, error) {
	difference := w.Patch
	if difference == nil {
		difference = func(current client.Object) (client.Patch, error) {
			return mergePatch(desired, current, kinds[kindOf(desired, w.Client)])
		}
	}
	patch, err := difference(current)
	if err != nil {
		return Unchanged, fmt.Errorf("building the patch for %s: %w", what, err)
	}
	if patch == nil {
		copyInto(current, desired)
		return Unchanged, nil
	}
	if w.HoldBack {
		copyInto(current, desired)
		return Needed, nil
	}
	// The answer is decoded into what the patch is sent for, so that must be a copy: current belongs to the cache.
	target := current.DeepCopyObject().(client.Object)
	if err := w.Client.Patch(ctx, target, patch); err != nil {
		return Unchanged, fmt.Errorf("patching %s: %w", what, err)
	}
	copyInto(target, desired)
	return Patched, nil
}

// Remove deletes what an earlier state of the owner asked for. current is as in Object; nothing is done, and false returned,
// when it is nil, on its way out, or not the owner's. The UID goes along, so that an object that took the name since is safe.
func (w Writer) Remove(ctx context.Context, owner metav1.Object, current client.Object) (bool, error) {
	if current == nil || current.GetDeletionTimestamp() != nil || !w.ours(owner, current) {
		return false, nil
	}
	target := current.DeepCopyObject().(client.Object)
	err := w.Client.Delete(ctx, target, client.Preconditions{UID: new(current.GetUID())}, client.PropagationPolicy(metav1.DeletePropagationBackground))
	switch {
	case err == nil:
		return true, nil
	case apierrors.IsNotFound(err), apierrors.IsConflict(err):
		return false, nil // it is gone, or another has its name
	}
	return false, fmt.Errorf("deleting %s: %w", describe(current, w.Client), err)
}

// SetController makes owner the controller of current, or takes that away. It is for objects whose life the user may tie to
// the owner or not. An object with another controller is refused with ErrNotOwned when it is to be owned, and left alone
// otherwise. current is not changed; the answer says whether something was written.
func (w Writer) SetController(ctx context.Context, owner metav1.Object, ref metav1.OwnerReference, current client.Object, want bool) (bool, error) {
	if metav1.IsControlledBy(current, owner) == want {
		return false, nil
	}
	what := describe(current, w.Client)
	if other := metav1.GetControllerOf(current); want && other != nil {
		return false, &NotOwnedError{what: what, Controller: other, Found: current}
	}
	var refs []metav1.OwnerReference
	for _, r := range current.GetOwnerReferences() {
		if r.UID != owner.GetUID() {
			refs = append(refs, r)
		}
	}
	if want {
		refs = append(refs, ref)
	}
	patch, err := patchFor(map[string]any{"metadata": map[string]any{"ownerReferences": refs}}, current)
	if err != nil {
		return false, fmt.Errorf("building the patch for %s: %w", what, err)
	}
	if err := w.Client.Patch(ctx, current.DeepCopyObject().(client.Object), patch); err != nil {
		return false, fmt.Errorf("patching the owner of %s: %w", what, err)
	}
	return true, nil
}

// Create makes desired, which then is the object as the server has it. If the name is taken it returns the object that has it,
// whoever's that is; nil after success.
func (w Writer) Create(ctx context.Context, desired client.Object) (client.Object, error) {
	attempt := desired.DeepCopyObject().(client.Object)
	err := w.Client.Create(ctx, attempt)
	if err == nil {
		copyInto(attempt, desired)
		return nil, nil
	}
	what := describe(desired, w.Client)
	if !apierrors.IsAlreadyExists(err) {
		return nil, fmt.Errorf("creating %s: %w", what, err)
	}
	// The cache is behind, or filtered, or somebody else took the name. Only the server knows.
	live := desired.DeepCopyObject().(client.Object)
	switch readErr := w.Live.Get(ctx, client.ObjectKeyFromObject(desired), live); {
	case apierrors.IsNotFound(readErr): // it is gone since
		return nil, fmt.Errorf("creating %s: %w", what, err)
	case readErr != nil:
		return nil, fmt.Errorf("reading %s, whose name was taken: %w", what, readErr)
	}
	return live, nil
}

func describe(o client.Object, c client.Client) string {
	return fmt.Sprintf("%s %s/%s", kindOf(o, c), o.GetNamespace(), o.GetName())
}

// kindOf is empty for a kind that the client does not know, so that its requests fail.
func kindOf(o client.Object, c client.Client) string {
	gvk, err := apiutil.GVKForObject(o, c.Scheme())
	if err != nil {
		return ""
	}
	return gvk.Kind
}

// copyInto overwrites dst with src, or only its metadata if src is no more than that.
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
