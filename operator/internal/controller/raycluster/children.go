package raycluster

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/raygate/raygate/operator/internal/apply"
	"github.com/raygate/raygate/operator/internal/served"
)

// children writes what a cluster has besides its Pods and its head Service. A child that cannot be had is noted in the scope, for
// a condition and an event, and keeps nothing else from being made.
type children struct {
	client client.Client
	live   client.Reader
	served *served.Watches
	clock  clock.PassiveClock
	memory *childMemory
}

// child is what a step asks for.
type child struct {
	desired client.Object
	// failed is the reason of the event and the condition when the child cannot be had; failedUpdate when it exists and
	// cannot be changed, the same if empty.
	failed, failedUpdate string
	// created and updated are reasons of events; empty for none.
	created, updated string
	// keep is apply.Writer.Keep.
	keep func(current client.Object)
	// users says that an object of the name that nothing controls is the user's own make of the child, and fine.
	users bool
}

// childFailure says why a child cannot be had. Without an action there is no event.
type childFailure struct{ reason, action, message string }

// ensure makes the child, or repairs it. It returns the child as the server has it, or its metadata for kinds of which
// nothing else is cached; nil if there is none yet.
func (c *children) ensure(ctx context.Context, s *scope, want child) client.Object {
	kind, id, err := c.identify(want.desired)
	if err != nil {
		s.errs = append(s.errs, err)
		return nil
	}
	st := c.memory.of(s.cluster.UID, id)
	current, err := c.find(ctx, want.desired)
	forbidden := apierrors.IsForbidden(err)
	if err != nil && !forbidden {
		s.errs = append(s.errs, err)
		return nil
	}
	if want.users && st.found == s.cluster.Generation && current == nil {
		return nil // seen before, and not in the cache because it lacks our label
	}
	now := c.clock.Now()
	current = st.believed(current, now)
	if wait := st.wait(s.cluster.Generation, now); wait > 0 {
		st.repeat(s)
		s.lookAgain = soonest(s.lookAgain, wait)
		return current
	}
	if forbidden {
		c.refused(s, st, want, false, err)
		return nil
	}
	wait := st.fought(now)
	w := apply.Writer{Client: c.client, Live: c.live, Keep: want.keep, HoldBack: wait > 0}
	result, err := w.Object(ctx, s.cluster, want.desired, current)
	if err != nil {
		c.refused(s, st, want, current != nil, err)
		return current
	}
	switch result {
	case apply.Needed:
		s.lookAgain = soonest(s.lookAgain, wait)
		s.children = append(s.children, childFailure{
			reason: either(want.failedUpdate, want.failed), action: actionUpdate,
			message: fmt.Sprintf("%s %s is changed by something else as soon as it is put right; it is tried less often now", kind, want.desired.GetName()),
		})
		return want.desired
	case apply.Created:
		st.made(want.desired, now)
		s.lookAgain = soonest(s.lookAgain, expectationTimeout) // as in Reconcile
		s.tell(want.created, actionCreate, "Created %s %s", kind, want.desired.GetName())
	case apply.Patched:
		st.patched(now)
		s.tell(want.updated, actionUpdate, "Updated %s %s", kind, want.desired.GetName())
	case apply.Unchanged:
	}
	if result != apply.Unchanged {
		ctrllog.FromContext(ctx).Info("Wrote a child", "result", result, "kind", kind, "name", want.desired.GetName())
	}
	st.fine()
	return want.desired
}

// refused sorts errors: what the user has to see and repair is noted and tried again later, what is over soon is tried again
// soon, and what only the API server knows is handed up.
func (c *children) refused(s *scope, st *childState, want child, exists bool, err error) {
	f := childFailure{reason: want.failed, action: actionCreate, message: err.Error()}
	var foreign *apply.NotOwnedError
	taken := errors.As(err, &foreign)
	if exists && !taken { // what is somebody else's is only in the way of ours
		f.reason, f.action = either(want.failedUpdate, want.failed), actionUpdate
	}
	switch {
	case taken && want.users && foreign.Controller == nil:
		st.fine()
		st.found = s.cluster.Generation
	case errors.Is(err, apply.ErrBeingDeleted):
		// The watch tells when it is gone.
		s.children = append(s.children, f)
		s.lookAgain = soonest(s.lookAgain, foreignRetry)
	case apierrors.IsConflict(err), apierrors.IsNotFound(err) && exists:
		s.lookAgain = soonest(s.lookAgain, cacheLag)
	case taken, lasting(err):
		c.fail(s, st, f)
	default:
		st.repeat(s)
		s.errs = append(s.errs, err)
	}
}

// lasting reports whether the API server will say the same again: a quota, a policy, or a value that it does not take.
func lasting(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsNotFound(err) ||
		apierrors.IsMethodNotSupported(err) || apierrors.IsRequestEntityTooLargeError(err)
}

// fail notes a failure that lasts, so that it is told once and tried again less and less often.
func (c *children) fail(s *scope, st *childState, f childFailure) {
	s.children = append(s.children, f)
	s.lookAgain = soonest(s.lookAgain, st.failed(f, s.cluster.Generation, c.clock.Now()))
}

// lacks reports whether something of the user's is missing. It is not watched, so the API server itself is asked, by look; but
// no more once it has been found for this generation of the cluster, and less and less often while it is missing.
func (c *children) lacks(ctx context.Context, s *scope, id string, look func(context.Context) (found bool, err error)) bool {
	st := c.memory.of(s.cluster.UID, "the user's "+id)
	if st.found == s.cluster.Generation {
		return false
	}
	if wait := st.wait(s.cluster.Generation, c.clock.Now()); wait > 0 {
		s.lookAgain = soonest(s.lookAgain, wait)
		return true
	}
	found, err := look(ctx)
	switch {
	case err != nil:
		s.errs = append(s.errs, fmt.Errorf("looking for %s: %w", id, err))
		return st.failure != nil
	case !found:
		s.lookAgain = soonest(s.lookAgain, st.failed(childFailure{}, s.cluster.Generation, c.clock.Now()))
		return true
	}
	st.fine()
	st.found = s.cluster.Generation
	return false
}

// exists is a look for lacks: at the metadata of an object.
func (c *children) exists(o client.Object) func(context.Context) (bool, error) {
	return func(ctx context.Context) (bool, error) {
		gvk, err := apiutil.GVKForObject(o, c.client.Scheme())
		if err != nil {
			return false, err
		}
		meta := partial(o)
		meta.SetGroupVersionKind(gvk)
		err = c.live.Get(ctx, client.ObjectKeyFromObject(o), meta)
		return err == nil, client.IgnoreNotFound(err)
	}
}

// remove deletes a child that is no longer asked for, if there is one and it is the cluster's.
func (c *children) remove(ctx context.Context, s *scope, o client.Object, failed string) {
	kind, id, err := c.identify(o)
	if err != nil {
		s.errs = append(s.errs, err)
		return
	}
	current, err := c.find(ctx, o)
	if err != nil && !apierrors.IsForbidden(err) { // what must not be read was not made
		s.errs = append(s.errs, err)
		return
	}
	if current == nil {
		c.memory.drop(s.cluster.UID, id)
		return
	}
	st := c.memory.of(s.cluster.UID, id)
	if wait := st.wait(s.cluster.Generation, c.clock.Now()); wait > 0 {
		st.repeat(s)
		s.lookAgain = soonest(s.lookAgain, wait)
		return
	}
	done, err := apply.Writer{Client: c.client, Live: c.live}.Remove(ctx, s.cluster, current)
	switch {
	case err == nil:
		st.fine()
	case lasting(err):
		c.fail(s, st, childFailure{reason: failed, action: actionDelete, message: err.Error()})
	default:
		s.errs = append(s.errs, err)
	}
	if done {
		s.tell("Deleted"+kind, actionDelete, "Deleted %s %s, which the spec no longer asks for", kind, o.GetName())
	}
}

// find reads from the cache what has the name of o; nil if there is nothing.
func (c *children) find(ctx context.Context, o client.Object) (client.Object, error) {
	var found client.Object
	read := c.client.Get
	switch o := o.(type) {
	case *unstructured.Unstructured:
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(o.GroupVersionKind())
		found = u
		read = func(ctx context.Context, key client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
			return c.served.Get(ctx, key, u)
		}
	case *corev1.Secret:
		// Of these two only the metadata is cached: nobody should find the secrets of a whole Kubernetes cluster in the memory of
		// the operator.
		found = partial(o)
		found.GetObjectKind().SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	case *corev1.ServiceAccount:
		found = partial(o)
		found.GetObjectKind().SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ServiceAccount"))
	default:
		found = reflect.New(reflect.TypeOf(o).Elem()).Interface().(client.Object)
	}
	err := read(ctx, client.ObjectKeyFromObject(o), found)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		kind, _, _ := c.identify(o)
		return nil, fmt.Errorf("reading %s %s: %w", kind, o.GetName(), err)
	}
	return found, nil
}

func (c *children) identify(o client.Object) (kind, id string, err error) {
	gvk, err := apiutil.GVKForObject(o, c.client.Scheme())
	if err != nil {
		return "", "", fmt.Errorf("finding the kind of %T: %w", o, err)
	}
	return gvk.Kind, gvk.Kind + " " + o.GetName(), nil
}

func partial(o client.Object) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: o.GetNamespace(), Name: o.GetName()}}
}

func either(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// tell appends an event about something that happened; none for an empty reason.
func (s *scope) tell(reason, action, format string, args ...any) {
	if reason != "" {
		s.events = append(s.events, newEvent(corev1.EventTypeNormal, reason, action, fmt.Sprintf(format, args...)))
	}
}

const (
	// freePatches is how often a child is repaired at once before something that fights back is suspected.
	freePatches = 3
	// lastChildRetry is the longest wait between attempts at a child that is refused or fought over.
	lastChildRetry = 5 * time.Minute
)
