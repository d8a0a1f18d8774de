package children

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/raygate/raygate/operator/internal/backoff"
	"github.com/raygate/raygate/operator/internal/conditions"
	"github.com/raygate/raygate/operator/internal/objectmap"
	"github.com/raygate/raygate/operator/internal/overlay"
)

const (
	// RetryAfter is the wait after the first rejected write. It is also the interval for checks whether a taken name is free,
	// because objects of other owners are not watched.
	RetryAfter = 15 * time.Second
	// soonGone is the wait after a conflict, and while a child of a deleted owner of the same name is removed.
	soonGone = time.Second
	// longestRetry is the longest wait between attempts at a child that is rejected or that another client keeps changing.
	longestRetry = 5 * time.Minute
	// freeRepairs is the number of times that the same repair is made without delay.
	freeRepairs = 3
)

// Config configures a Writer. All fields except Optional and Ours are required.
type Config struct {
	Client client.Client // reads from a cache, and writes
	Live   client.Reader // reads from the API server
	Clock  clock.PassiveClock
	// Optional reads kinds that the API server may not serve; nil if no such child is used.
	Optional OptionalReader
	// Ours reports whether an object is a child of the owner. Nil means that the owner must be its controller.
	Ours func(owner metav1.Object, current client.Object) bool
}

// OptionalReader reads objects of kinds that the API server may not serve. It never waits for a watch.
type OptionalReader interface {
	Get(ctx context.Context, key client.ObjectKey, o *unstructured.Unstructured) error
}

// Writer creates, repairs and deletes children. It is safe for concurrent use by several goroutines, but by only one per owner.
type Writer struct {
	config  Config
	written objectmap.Map[string, write]
	refused *backoff.Limiter[*Failure] // writes that the API server rejected; nil for missing user-provided objects
	repairs *backoff.Limiter[struct{}] // patches that were made

	// sights are the generations of owners for which a user-provided object was found.
	sights objectmap.Map[string, int64]
}

// New returns a Writer.
func New(c Config) *Writer {
	return &Writer{
		config:  c,
		refused: backoff.New[*Failure](c.Clock, backoff.Config{First: RetryAfter, Last: longestRetry}),
		repairs: backoff.New[struct{}](c.Clock, backoff.Config{First: 2 * time.Second, Last: longestRetry, Free: freeRepairs - 1}),
	}
}

// Child is a wanted child object.
type Child struct {
	// Desired names the owner as its controller.
	Desired client.Object
	// Keep copies values of other clients that may stay from current into Desired; nil copies nothing.
	Keep func(current client.Object)
	// Patch returns the patch that repairs the child, or nil if nothing differs. If Patch is unset, a merge patch with the content
	// of Desired is used.
	Patch func(current client.Object) (client.Patch, error)
	// MayBeUsers accepts an object of the same name without a controller as a user-provided child.
	MayBeUsers bool
	// AsFound uses an existing child as it is and never changes it.
	AsFound bool
	// Gone is the UID of an object of the same name that was just deleted; the cache may still contain it.
	Gone types.UID
}

// Forget drops all state of a deleted owner.
func (w *Writer) Forget(owner types.UID) {
	w.written.Forget(owner)
	w.refused.Forget(owner)
	w.repairs.Forget(owner)
	w.sights.Forget(owner)
}

// Find reads the object with the name of o, with any owner. Only Object and Err of the result are set.
func (w *Writer) Find(ctx context.Context, owner, o client.Object) Result {
	_, r := w.attempt(ctx, owner, o)
	return r
}

// Ensure creates or repairs the child. Desired becomes the object on the server.
func (w *Writer) Ensure(ctx context.Context, owner client.Object, c Child) Result {
	a, r := w.attempt(ctx, owner, c.Desired)
	if r.Object != nil && c.Gone != "" && r.Object.GetUID() == c.Gone {
		r.Object = nil
	}
	switch {
	case apierrors.IsForbidden(r.Err): // the right to read is missing, as that to write would be
		err := r.Err
		r.Err = nil
		if !w.tooEarly(a, &r) {
			w.failed(a, c, false, err, &r)
		}
		return r
	case r.Err != nil, w.asItIs(owner, a, c, r.Object), w.tooEarly(a, &r):
		return r
	}
	w.write(ctx, owner, a, c, &r)
	return r
}

// asItIs reports whether the object that was found is used and never changed, or exists and is not in the cache because it lacks our label.
func (w *Writer) asItIs(owner client.Object, a attempt, c Child, found client.Object) bool {
	if found == nil {
		return c.MayBeUsers && w.found(a.key, a.generation)
	}
	return c.AsFound && (c.MayBeUsers || metav1.IsControlledBy(found, owner))
}

// write creates the child, or patches it if it differs.
func (w *Writer) write(ctx context.Context, owner client.Object, a attempt, c Child, r *Result) {
	exists := r.Object != nil
	done, err := w.put(ctx, owner, a, c, r.Object)
	if err != nil {
		w.failed(a, c, exists, err, r)
		return
	}
	r.Object, r.Done = c.Desired, done
	if done != None {
		w.written.Set(a.key.Owner, a.key.Attempt, write{object: kept(c.Desired), at: w.config.Clock.Now()})
		ctrllog.FromContext(ctx).Info("Wrote a child", "operation", done, "kind", r.Kind, "name", r.Name)
	}
	if done == Create {
		r.After = overlay.Timeout // see attempt
	}
	w.refused.Succeeded(a.key)
}

// Remove deletes a child that is no longer wanted, if it exists and the owner controls it.
func (w *Writer) Remove(ctx context.Context, owner, o client.Object) Result {
	a, r := w.attempt(ctx, owner, o)
	if apierrors.IsForbidden(r.Err) { // a child that may not be read was never created
		r.Err = nil
	}
	if r.Err != nil || r.Object == nil || w.tooEarly(a, &r) {
		return r
	}
	if r.Object.GetDeletionTimestamp() != nil || !w.ours(owner, r.Object) {
		return r
	}
	object, gone := r.Object.DeepCopyObject().(client.Object), false
	w.do(a, &r, Delete, func() error {
		// The UID precondition protects a newer object of the same name.
		err := w.config.Client.Delete(ctx, object, client.Preconditions{UID: new(object.GetUID())}, client.PropagationPolicy(metav1.DeletePropagationBackground))
		if gone = apierrors.IsNotFound(err) || apierrors.IsConflict(err); err == nil || gone {
			return nil
		}
		return fmt.Errorf("deleting %s: %w", w.describe(o), err)
	})
	if gone { // or replaced by another object of the same name
		r.Done = None
	} else if r.Done == Delete {
		w.written.Delete(a.key.Owner, a.key.Attempt) // otherwise the recorded write would hide the deletion
	}
	return r
}

// Do performs a write for the owner that does not concern a child, such as a patch of an object of another controller. A rejected
// write delays the next attempt, as for children. In the result, Stale means that the object has changed since it was read, or is
// gone.
func (w *Writer) Do(owner client.Object, operation Operation, kind, name string, write func() error) Result {
	a := attempt{key: backoff.Key{Owner: owner.GetUID(), Attempt: string(operation) + " " + kind + " " + name}, generation: owner.GetGeneration()}
	r := Result{Kind: kind, Name: name}
	if w.tooEarly(a, &r) {
		return r
	}
	w.do(a, &r, operation, func() error {
		if err := write(); err != nil {
			return fmt.Errorf("%s %s %s: %w", doing[operation], kind, name, err)
		}
		return nil
	})
	return r
}

var doing = map[Operation]string{Create: "creating", Update: "patching", Delete: "deleting"}

func (w *Writer) do(a attempt, r *Result, operation Operation, write func() error) {
	switch err := write(); {
	case err == nil:
		r.Done = operation
		w.refused.Succeeded(a.key)
	case stale(err):
		r.Stale, r.After = true, soonGone
	case Lasting(err):
		w.refuse(a, r, Failure{Operation: operation, Message: err.Error(), Cause: errors.Unwrap(err), Refusal: conditions.Refusal(err)})
	default:
		r.Err = err
	}
}

// SetController adds or removes the owner as controller of an existing object. Adding fails if the object has another controller;
// removing leaves it unchanged. current is not modified.
func (w *Writer) SetController(ctx context.Context, owner client.Object, ref metav1.OwnerReference, current client.Object, want bool) Result {
	a, r := w.attempt(ctx, owner, current)
	if r.Err != nil || w.tooEarly(a, &r) || metav1.IsControlledBy(current, owner) == want {
		return r
	}
	if want && metav1.GetControllerOf(current) != nil {
		w.failed(a, Child{}, true, whyNotOurs(w.describe(current), current, &ref), &r)
		return r
	}
	refs := slices.DeleteFunc(slices.Clone(current.GetOwnerReferences()), func(r metav1.OwnerReference) bool { return r.UID == owner.GetUID() })
	if want {
		refs = append(refs, ref)
	}
	w.do(a, &r, Update, func() error {
		patch, err := versioned(map[string]any{"metadata": map[string]any{"ownerReferences": refs}}, current)
		if err == nil {
			err = w.config.Client.Patch(ctx, current.DeepCopyObject().(client.Object), patch)
		}
		if err != nil {
			return fmt.Errorf("patching the owner of %s: %w", w.describe(current), err)
		}
		return nil
	})
	return r
}

// attempt identifies an operation on a child for one generation of the owner.
type attempt struct {
	key        backoff.Key
	generation int64
}

// attempt reads the current state of the child.
func (w *Writer) attempt(ctx context.Context, owner, o client.Object) (attempt, Result) {
	kind, err := w.kindOf(o)
	r := Result{Kind: kind.Kind, Name: o.GetName(), Err: err}
	a := attempt{key: backoff.Key{Owner: owner.GetUID(), Attempt: kind.Kind + " " + o.GetName()}, generation: owner.GetGeneration()}
	if r.Err != nil {
		return a, r
	}
	cached, err := w.read(ctx, kind, o)
	if err != nil {
		r.Err = err
		return a, r
	}
	if r.Object = w.latest(a, cached); r.Object != nil && cached == nil {
		r.After = overlay.Timeout // no event comes if the cache never shows the write
	}
	return a, r
}

// tooEarly reports whether the back-off of the operation has not ended yet. It then sets After and the last failure.
func (w *Writer) tooEarly(a attempt, r *Result) bool {
	if wait := w.refused.Wait(a.key, a.generation); wait > 0 {
		r.After = wait
		r.Failure, _ = w.refused.Last(a.key, a.generation)
		return true
	}
	return false
}

// failed classifies an error. Failures that the user has to fix are retried with back-off, conflicts soon; other errors of the API
// server are returned.
func (w *Writer) failed(a attempt, c Child, exists bool, err error, r *Result) {
	foreign, taken := errors.AsType[*errNotOwned](err)
	again, repaired := errors.AsType[*errRepaired](err)
	f := Failure{Operation: Create, Message: err.Error(), Cause: errors.Unwrap(err), Refusal: conditions.Refusal(err), Taken: taken}
	if exists && !taken { // an object of another owner is in the way of a create
		f.Operation = Update
	}
	switch {
	case taken && c.MayBeUsers && foreign.controller == nil:
		w.refused.Succeeded(a.key)
		w.sights.Set(a.key.Owner, a.key.Attempt, a.generation)
		r.Object = foreign.found
	case apierrors.IsAlreadyExists(err):
		r.Stale, r.After = true, RetryAfter // the object with the name is gone again
	case errors.Is(err, errPredecessor), exists && stale(err):
		r.Stale, r.After = true, soonGone
	case repaired:
		f.Refusal = ""
		r.Object, r.Failure, r.After = c.Desired, &f, again.wait
	case errors.Is(err, errBeingDeleted):
		r.Failure, r.After = &f, RetryAfter // the watch reports the deletion earlier
	case taken, Lasting(err):
		w.refuse(a, r, f)
	default:
		r.Failure, _ = w.refused.Last(a.key, a.generation)
		r.Err = err
	}
}

// stale reports whether an object has changed since it was read, or is gone.
func stale(err error) bool { return apierrors.IsConflict(err) || apierrors.IsNotFound(err) }

// refuse records a lasting failure and sets the growing wait before the next attempt.
func (w *Writer) refuse(a attempt, r *Result, f Failure) {
	r.Failure = &f
	r.After = w.refused.Failed(a.key, a.generation, &f)
}

// Lasting reports whether the API server would answer a retry in the same way, because of a quota, a policy or an invalid value.
func Lasting(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsNotFound(err) ||
		apierrors.IsMethodNotSupported(err) || apierrors.IsRequestEntityTooLargeError(err)
}
