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
	"github.com/raygate/raygate/operator/internal/byowner"
	"github.com/raygate/raygate/operator/internal/overlay"
	"github.com/raygate/raygate/operator/internal/report"
)

const (
	// RetryAfter is the wait after the first refusal, and how often to see whether a name that something else holds is free: the
	// objects of others are not watched.
	RetryAfter = 15 * time.Second
	// soonGone is how often to see whether a conflict is over, and whether the child of a deleted owner of the same name is gone.
	soonGone = time.Second
	// longestRetry is the longest wait between attempts at a child that is refused or that something else keeps changing.
	longestRetry = 5 * time.Minute
	// freeRepairs is how often the same repair is made at once.
	freeRepairs = 3
)

// Config is what a Writer needs. All but Optional and Ours is required.
type Config struct {
	Client client.Client      // reads from a cache, and writes
	Live   client.Reader      // reads from the API server
	Clock  clock.PassiveClock // tells the time
	// Optional reads kinds that the API server may not serve; nil if no such child is ever asked for.
	Optional OptionalReader
	// Ours reports whether an object is a child of the owner; nil asks whether the owner is its controller.
	Ours func(owner metav1.Object, current client.Object) bool
}

// OptionalReader reads objects of kinds that the API server may not serve, without ever waiting for a watch.
type OptionalReader interface {
	Get(ctx context.Context, key client.ObjectKey, o *unstructured.Unstructured) error
}

// Writer writes children. It may be used from several goroutines, for one owner by one at a time.
type Writer struct {
	config  Config
	written byowner.Map[string, write]
	refused *backoff.Limiter[*Failure] // what the API server refuses; nil for what is missing
	repairs *backoff.Limiter[struct{}] // patches that were made

	// sights are the generations of owners for which an object of the user's was found.
	sights byowner.Map[string, int64]
}

// New returns a Writer.
func New(c Config) *Writer {
	return &Writer{
		config:  c,
		refused: backoff.New[*Failure](c.Clock, backoff.Config{First: RetryAfter, Last: longestRetry}),
		repairs: backoff.New[struct{}](c.Clock, backoff.Config{First: 2 * time.Second, Last: longestRetry, Free: freeRepairs - 1}),
	}
}

// Child is what an owner asks for.
type Child struct {
	// Desired names the owner as its controller.
	Desired client.Object
	// Keep copies into Desired what others have put into our object and may stay; unset copies nothing.
	Keep func(current client.Object)
	// Patch returns what makes our own object right, nil for nothing to do; unset is a merge patch with what Desired asks for.
	Patch func(current client.Object) (client.Patch, error)
	// MayBeUsers says that an object of the name that nothing controls is the user's own make of the child, and fine.
	MayBeUsers bool
	// AsFound says that a child that is there is used as it is, and never changed.
	AsFound bool
	// Gone is an object of the name that was just removed, which the cache may still show.
	Gone types.UID
}

// Forget drops what is known about an owner that is gone.
func (w *Writer) Forget(owner types.UID) {
	w.written.Forget(owner)
	w.refused.Forget(owner)
	w.repairs.Forget(owner)
	w.sights.Forget(owner)
}

// Find reads what has the name of o, whoever's it is. In the result, Object and Err count.
func (w *Writer) Find(ctx context.Context, owner, o client.Object) Result {
	_, r := w.attempt(ctx, owner, o)
	return r
}

// Ensure makes the child, or repairs it. Desired becomes what the server has.
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
	case r.Err != nil:
		return r
	case c.MayBeUsers && r.Object == nil && w.found(a.key, a.generation):
		return r // seen before, and not in the cache because it lacks our label
	case c.AsFound && r.Object != nil && (c.MayBeUsers || metav1.IsControlledBy(r.Object, owner)):
		return r
	case w.tooEarly(a, &r):
		return r
	}
	w.write(ctx, owner, a, c, &r)
	return r
}

// write creates or patches the child, unless it is as wanted.
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

// Remove deletes a child that is no longer asked for, if there is one and it is the owner's.
func (w *Writer) Remove(ctx context.Context, owner, o client.Object) Result {
	a, r := w.attempt(ctx, owner, o)
	if apierrors.IsForbidden(r.Err) { // what must not be read was not made
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
		// The UID goes along, so that an object that took the name since is safe.
		err := w.config.Client.Delete(ctx, object, client.Preconditions{UID: new(object.GetUID())}, client.PropagationPolicy(metav1.DeletePropagationBackground))
		if gone = apierrors.IsNotFound(err) || apierrors.IsConflict(err); err == nil || gone {
			return nil
		}
		return fmt.Errorf("deleting %s: %w", w.describe(o), err)
	})
	if gone { // or another has its name
		r.Done = None
	} else if r.Done == Delete {
		w.written.Delete(a.key.Owner, a.key.Attempt) // or a child that was made a moment ago would be taken to be there
	}
	return r
}

// Do makes a write for the owner that is none of a child, such as a patch of an object that another controller looks after. It waits after a
// refusal as those do. Stale says that the object has changed since it was read, or is gone.
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
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		r.Stale, r.After = true, soonGone
	case Lasting(err):
		w.refuse(a, r, Failure{Operation: operation, Message: err.Error(), Cause: errors.Unwrap(err), Refusal: report.Refusal(err)})
	default:
		r.Err = err
	}
}

// SetController adds or removes the owner as the controller of an existing object, whose life the user may tie to the owner or not. An object
// with another controller is refused, or left alone. current is not changed.
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

// attempt is one look at a child.
type attempt struct {
	key        backoff.Key
	generation int64
}

// attempt finds what there is of the child.
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
		r.After = overlay.Timeout // should the cache never show it no event comes when the write no longer counts
	}
	return a, r
}

// tooEarly reports whether nothing is to be tried now, and fills in what is known of the last attempt.
func (w *Writer) tooEarly(a attempt, r *Result) bool {
	if wait := w.refused.Wait(a.key, a.generation); wait > 0 {
		r.After = wait
		r.Failure, _ = w.refused.Last(a.key, a.generation)
		return true
	}
	return false
}

// failed sorts errors: a failure for the user to repair is tried again later, a conflict soon, and an error of the API server is returned.
func (w *Writer) failed(a attempt, c Child, exists bool, err error, r *Result) {
	f := Failure{Operation: Create, Message: err.Error(), Cause: errors.Unwrap(err), Refusal: report.Refusal(err)}
	var foreign *errNotOwned
	var again *errRepaired
	f.Taken = errors.As(err, &foreign)
	if exists && !f.Taken { // what is somebody else's is only in the way of ours
		f.Operation = Update
	}
	switch {
	case f.Taken && c.MayBeUsers && foreign.controller == nil:
		w.refused.Succeeded(a.key)
		w.sights.Set(a.key.Owner, a.key.Attempt, a.generation)
		r.Object = foreign.found
	case apierrors.IsAlreadyExists(err):
		r.Stale, r.After = true, RetryAfter // it had the name, and is gone again
	case errors.Is(err, errPredecessor), exists && (apierrors.IsConflict(err) || apierrors.IsNotFound(err)):
		r.Stale, r.After = true, soonGone
	case errors.As(err, &again):
		f.Refusal = ""
		r.Object, r.Failure, r.After = c.Desired, &f, again.wait
	case errors.Is(err, errBeingDeleted):
		r.Failure, r.After = &f, RetryAfter // the watch tells when it is gone
	case f.Taken, Lasting(err):
		w.refuse(a, r, f)
	default:
		r.Failure, _ = w.refused.Last(a.key, a.generation)
		r.Err = err
	}
}

// refuse notes a failure that lasts, so that it is tried again less and less often.
func (w *Writer) refuse(a attempt, r *Result, f Failure) {
	r.Failure = &f
	r.After = w.refused.Failed(a.key, a.generation, &f)
}

// Lasting reports whether the API server will say the same again: a quota, a policy, or a value that it does not take.
func Lasting(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsNotFound(err) ||
		apierrors.IsMethodNotSupported(err) || apierrors.IsRequestEntityTooLargeError(err)
}
