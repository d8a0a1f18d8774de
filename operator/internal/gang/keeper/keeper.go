// Package keeper creates and maintains the objects for batch schedulers. It is the part of gang that calls the API server. It
// never fails, because Pods must be managed even if the scheduler's API is missing or down. It reports problems for a condition of
// the cluster.
package keeper

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/raygate/raygate/operator/internal/children"
	"github.com/raygate/raygate/operator/internal/gang"
	"github.com/raygate/raygate/operator/internal/optionalapi"
	"github.com/raygate/raygate/operator/internal/ownerref"
	"github.com/raygate/raygate/operator/internal/reconcile"
)

const (
	// leaving is the interval of checks whether an object that is being deleted is gone. Usually a watch reports that earlier.
	leaving = time.Second
	// stuck is how long a deletion may take before it is reported.
	stuck = 30 * time.Second
)

// Keeper creates, updates and deletes the objects of one scheduler. It is safe for concurrent use by several goroutines, but by
// only one per workload.
type Keeper struct {
	client   client.Client
	clock    clock.PassiveClock
	watches  *optionalapi.Watches
	children *children.Writer
}

// New returns a Keeper that writes with c and reads from the API server with live. Kinds are those that it serves; nil means none.
func New(c client.Client, live client.Reader, kinds *optionalapi.Kinds, k clock.PassiveClock) *Keeper {
	// KubeRay does not put the cluster label on these objects.
	watches := &optionalapi.Watches{Kinds: kinds, Everything: true}
	return &Keeper{client: c, clock: k, watches: watches, children: children.New(children.Config{
		Client: c, Live: live, Optional: watches, Clock: k, Ours: owns,
	})}
}

// Watch makes the controller reconcile an owner when one of its objects has changed. h maps objects to owners. Call Watch before
// the first Keep.
func (k *Keeper) Watch(c controller.Controller, h ownerref.Handler) {
	h.AnyOwner, h.Gone = true, k.children.Gone
	k.watches.Start = func(_ schema.GroupVersionKind, informer cache.Informer) error {
		return c.Watch(&source.Informer{Informer: informer, Handler: h.Handle(), Predicates: []predicate.Predicate{worthALook}})
	}
}

// worthALook drops status updates of the scheduler, which are frequent.
var worthALook = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	before, after := e.ObjectOld, e.ObjectNew
	return after.GetGeneration() != before.GetGeneration() || after.GetUID() != before.GetUID() ||
		(after.GetDeletionTimestamp() == nil) != (before.GetDeletionTimestamp() == nil) ||
		len(after.GetOwnerReferences()) != len(before.GetOwnerReferences())
}}

// Forget drops all state of a deleted owner.
func (k *Keeper) Forget(owner types.UID) { k.children.Forget(owner) }

// Report is the result of Keep for one workload.
type Report struct {
	Problems  []string      // sentences without a full stop, sorted; stable if nothing changes
	Hold      string        // why Pods must not be created yet; empty if they may
	LookAgain time.Duration // time until the next run; 0 requests none
	Written   []string      // the objects that were created, changed or deleted, for the log
}

// Keep brings the objects of the workload in line with the plan.
func (k *Keeper) Keep(ctx context.Context, w *gang.Workload, plan gang.Plan) Report {
	r := &run{Keeper: k, w: w}
	r.report.Problems = slices.Clone(plan.Problems)
	r.keep(ctx, plan.Objects)
	slices.Sort(r.report.Problems)
	r.report.Problems = slices.Compact(r.report.Problems)
	return r.report
}

// run is one call of Keep.
type run struct {
	*Keeper
	w      *gang.Workload
	report Report
}

// item is a wanted object with its current state.
type item struct {
	gang.Object
	version string
	current *unstructured.Unstructured // nil if it does not exist
	gone    types.UID                  // UID of an object that this run deleted; a cache may still contain it
	remove  bool                       // to delete, because it must be absent or recreated
}

func (r *run) keep(ctx context.Context, objects []gang.Object) {
	items, ok := r.observe(ctx, objects)
	if !ok {
		return
	}
	for _, it := range slices.Backward(items) { // referring objects before their targets
		if it.remove && !r.delete(ctx, it) {
			return
		}
	}
	for _, it := range items {
		if !it.Absent {
			r.ensure(ctx, it)
		}
	}
}

// observe reads all objects. It returns false if nothing can be done now.
func (r *run) observe(ctx context.Context, objects []gang.Object) ([]*item, bool) {
	var items []*item
	for _, o := range objects {
		version, err := r.watches.Version(schema.GroupKind{Group: o.Kind.Group, Kind: o.Kind.Kind}, o.Kind.Versions...)
		switch {
		case err != nil:
			r.trouble(fmt.Errorf("asking for the API of %s: %w", title(o), err))
			return nil, false
		case version == "" && o.Absent:
			continue
		case version == "":
			r.again(optionalapi.AbsentFor)
			r.problem("%s cannot be made: the API server serves no %s in the group %s; install the scheduler, or start the operator with another one",
				title(o), o.Kind.Kind, o.Kind.Group)
			return nil, false
		}
		it := &item{Object: o, version: version}
		if !r.read(ctx, it) {
			return nil, false
		}
		items = append(items, it)
	}
	return items, true
}

// read reads the object of the item and decides whether to delete it. It returns false if nothing can be done now.
func (r *run) read(ctx context.Context, it *item) bool {
	wanted := empty(it, r.w.Owner.Namespace)
	if !it.Absent {
		r.again(r.watches.Recheck(wanted.GroupVersionKind()))
	}
	found := r.children.Find(ctx, r.owner(it), wanted)
	if found.Err != nil {
		r.trouble(found.Err)
		return false
	}
	it.current, _ = found.Object.(*unstructured.Unstructured)
	if r.inTheWay(it) {
		return false
	}
	if it.current != nil {
		it.remove = it.Absent || it.current.GetDeletionTimestamp() != nil || it.Fixed != nil && it.Fixed(it.version) && len(changes(it, it.current)) > 0
	}
	return true
}

// inTheWay reports whether the name belongs to an object of another owner or to one that is being deleted.
func (r *run) inTheWay(it *item) bool {
	switch {
	case it.current == nil:
		return false
	case it.Absent && (!r.owned(it.current) || it.current.GetDeletionTimestamp() != nil && it.Finalizer == ""):
		it.current = nil // belongs to another owner, or is deleted soon
		return false
	case it.current.GetDeletionTimestamp() != nil && it.Finalizer == "", r.ofPredecessor(it.current):
		r.again(leaving)
		r.report.Hold = fmt.Sprintf("%s of the same name is still being deleted", title(it.Object))
		if since := it.current.GetDeletionTimestamp(); since != nil && r.clock.Since(since.Time) > stuck {
			r.problem("%s of the same name is being deleted for a long time; see its finalizers %v", title(it.Object), it.current.GetFinalizers())
		}
		return true
	case !r.owned(it.current):
		r.again(children.RetryAfter)
		r.problem("%s exists and belongs to something else; rename or delete it", title(it.Object))
		r.report.Hold = fmt.Sprintf("%s belongs to something else", title(it.Object))
		return true
	}
	return false
}

func (r *run) owned(o client.Object) bool { return owns(&r.w.Owner, o) }

// owns reports whether the owner of a workload is among the owners of the object. It need not be the controller: KubeRay created
// some objects without one.
func owns(owner metav1.Object, o client.Object) bool {
	return slices.ContainsFunc(o.GetOwnerReferences(), func(ref metav1.OwnerReference) bool { return ref.UID == owner.GetUID() })
}

// ofPredecessor reports whether the object belongs to a deleted owner of the same name. The garbage collector removes it soon.
func (r *run) ofPredecessor(o *unstructured.Unstructured) bool {
	return slices.ContainsFunc(o.GetOwnerReferences(), func(ref metav1.OwnerReference) bool {
		return ref.Kind == r.w.Owner.Kind && ref.Name == r.w.Owner.Name && ref.UID != r.w.Owner.UID && strings.HasPrefix(ref.APIVersion, "ray.io/")
	})
}

func (r *run) problem(format string, args ...any) {
	r.report.Problems = append(r.report.Problems, fmt.Sprintf(format, args...))
}

func (r *run) again(after time.Duration) {
	r.report.LookAgain = reconcile.Sooner(r.report.LookAgain, after)
}

// trouble records an error of the API server.
func (r *run) trouble(err error) {
	if apierrors.IsConflict(err) {
		r.again(leaving) // another client was faster; the next run reads its change
		return
	}
	r.again(children.RetryAfter)
	r.problem("%v", err)
}

// title returns kind and name for messages.
func title(o gang.Object) string { return o.Kind.Kind + " " + o.Name }
