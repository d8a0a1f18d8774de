package keeper

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/raygate/raygate/operator/internal/gang"
	"github.com/raygate/raygate/operator/internal/served"
)

const (
	// lookAgain is how often to try again what the API server refused or did not answer.
	lookAgain = 15 * time.Second
	// leaving is how often to see whether an object on its way out is gone. Mostly a watch tells earlier.
	leaving = time.Second
	// stuck is how long an object may be on its way out before somebody should be told.
	stuck = 30 * time.Second
	// patience is how long one request may take: the Pods are waiting.
	patience = 5 * time.Second
)

// Config is what a Keeper needs. Client and Clock are required.
type Config struct {
	// Client writes.
	Client client.Client
	// Kinds are those that are served; nil says none is.
	Kinds *served.Kinds
	// Clock tells the time.
	Clock clock.PassiveClock
}

// Keeper keeps the objects of one scheduler as wanted. It may be used from several goroutines, for one workload by one at
// a time.
type Keeper struct {
	config   Config
	watches  *served.Watches
	onChange func(Owner)
	recent   recent
}

// New returns a Keeper.
func New(c Config) *Keeper {
	k := &Keeper{config: c, recent: recent{objects: map[string]written{}}}
	// KubeRay puts no label of the cluster on these objects.
	k.watches = &served.Watches{Kinds: c.Kinds, Everything: true, Start: k.watch}
	return k
}

// OnChange sets what is called when a watched object has changed that belongs to a RayCluster or RayJob. To be called
// before the first Keep.
func (k *Keeper) OnChange(call func(Owner)) { k.onChange = call }

// Report is what there is to tell about one workload.
type Report struct {
	// Problems are sentences without a full stop, sorted, the same in the next run if nothing changes.
	Problems []string
	// Hold is a sentence about why Pods must not be created yet; empty if they may.
	Hold string
	// LookAgain asks for another run after this time; zero asks for none.
	LookAgain time.Duration
	// Written are the objects that were created, changed or deleted, for the log.
	Written []string
}

// Keep makes the objects of the workload what the plan says.
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

// item is a wanted object and what there is of it.
type item struct {
	gang.Object
	version string
	current *unstructured.Unstructured // nil for nothing
	watched bool                       // current is what a watch shows
	remove  bool
}

func (r *run) keep(ctx context.Context, objects []gang.Object) {
	items, ok := r.observe(ctx, objects)
	if !ok {
		return
	}
	r.choose(items)
	for _, it := range slices.Backward(items) { // what refers to others first
		if it.remove && !r.delete(ctx, it) {
			return
		}
	}
	for _, it := range items {
		switch {
		case it.Absent:
		case it.current == nil:
			r.create(ctx, it)
		default:
			r.follow(ctx, it)
		}
	}
}

// observe reads all objects. It reports false if there is nothing to be done for now.
func (r *run) observe(ctx context.Context, objects []gang.Object) ([]*item, bool) {
	var items []*item
	for _, o := range objects {
		version, err := r.watches.Version(schema.GroupKind{Group: o.Kind.Group, Kind: o.Kind.Kind}, o.Kind.Versions...)
		if err != nil {
			r.trouble(err, "asking for the API of %s", title(o))
			return nil, false
		}
		if version == "" {
			if o.Absent {
				continue
			}
			r.again(served.AbsentFor)
			r.problem("%s cannot be made: the API server serves no %s in the group %s; install the scheduler, or start the operator with another one",
				title(o), o.Kind.Kind, o.Kind.Group)
			return nil, false
		}
		it := &item{Object: o, version: version}
		if it.current, err = r.read(ctx, it); err != nil {
			r.trouble(err, "reading %s", title(o))
			return nil, false
		}
		if r.inTheWay(it) {
			return nil, false
		}
		items = append(items, it)
	}
	return items, true
}

// inTheWay reports whether an object that is not ours, or soon no longer is, has the name.
func (r *run) inTheWay(it *item) bool {
	switch {
	case it.current == nil:
		return false
	case it.Absent && (!r.owned(it.current) || it.current.GetDeletionTimestamp() != nil && it.Finalizer == ""):
		it.current = nil // none of our business, or soon gone
		return false
	case it.current.GetDeletionTimestamp() != nil && it.Finalizer == "", r.ofPredecessor(it.current):
		r.again(leaving)
		r.report.Hold = fmt.Sprintf("%s of the same name is still being deleted", title(it.Object))
		if since := it.current.GetDeletionTimestamp(); since != nil && r.config.Clock.Since(since.Time) > stuck {
			r.problem("%s of the same name is being deleted for a long time; see its finalizers %v", title(it.Object), it.current.GetFinalizers())
		}
		return true
	case !r.owned(it.current):
		r.again(lookAgain)
		r.problem("%s exists and belongs to something else; rename or delete it", title(it.Object))
		r.report.Hold = fmt.Sprintf("%s belongs to something else", title(it.Object))
		return true
	}
	return false
}

// choose decides which objects have to go, to stay away or to be made again.
func (r *run) choose(items []*item) {
	for _, it := range items {
		if it.current == nil {
			continue
		}
		differs := len(changes(it)) > 0
		it.remove = it.Absent || it.current.GetDeletionTimestamp() != nil || differs && it.Fixed != nil && it.Fixed(it.version)
	}
}

// owned reports whether the owner of the workload is an owner of the object. That it is not always the controller is how
// KubeRay made some of them.
func (r *run) owned(o *unstructured.Unstructured) bool {
	for _, ref := range o.GetOwnerReferences() {
		if ref.UID == r.w.Owner.UID {
			return true
		}
	}
	return false
}

// ofPredecessor reports whether the object belongs to an earlier owner of the same name: it is about to be collected.
func (r *run) ofPredecessor(o *unstructured.Unstructured) bool {
	for _, ref := range o.GetOwnerReferences() {
		if ref.Kind == r.w.Owner.Kind && ref.Name == r.w.Owner.Name && ref.UID != r.w.Owner.UID && isRay(ref.APIVersion) {
			return true
		}
	}
	return false
}

func (r *run) problem(format string, args ...any) {
	r.report.Problems = append(r.report.Problems, fmt.Sprintf(format, args...))
}

func (r *run) again(after time.Duration) {
	if r.report.LookAgain == 0 || after < r.report.LookAgain {
		r.report.LookAgain = after
	}
}

// trouble notes an error of the API server.
func (r *run) trouble(err error, format string, args ...any) {
	what := fmt.Sprintf(format, args...)
	if apierrors.IsConflict(err) {
		r.again(leaving) // somebody was faster; the next run sees what they did
		return
	}
	r.again(lookAgain)
	switch {
	case meta.IsNoMatchError(err):
		r.problem("%s: the API is not installed", what)
	default:
		r.problem("%s: %v", what, err)
	}
}

// title names an object for people.
func title(o gang.Object) string { return o.Kind.Kind + " " + o.Name }

func isRay(apiVersion string) bool { return strings.HasPrefix(apiVersion, "ray.io/") }
