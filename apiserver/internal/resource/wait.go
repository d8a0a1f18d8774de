package resource

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
	"github.com/raygate/raygate/apiserver/internal/store"
)

// Bounds of the time of a Wait.
const (
	defaultWait = time.Minute
	maxWait     = 10 * time.Minute
)

// WaitRequest is the request of Wait.
type WaitRequest interface {
	target
	GetFor() string
	GetTimeout() *durationpb.Duration
}

// errReached ends the watch of a wait.
var errReached = errors.New("reached")

// Wait fills in resp when an object reaches a state.
func (r *Resource) Wait(ctx context.Context, req WaitRequest, resp proto.Message) error {
	progress, err := r.parseFor(req.GetFor())
	if err != nil {
		return err
	}
	timeout := cmp.Or(req.GetTimeout().AsDuration(), defaultWait)
	if timeout < 0 || timeout > maxWait {
		return rpcstatus.BadField("timeout", "must be between 0 and %s", maxWait)
	}
	w := &waiter{key: keyOf(req), progress: progress}
	// Include own writes that the watch has not delivered yet.
	if w.last, err = r.find(ctx, req, "get", "watch"); apierrors.IsNotFound(err) && progress == nil {
		return nil
	} else if err != nil {
		return err
	}
	st, err := r.In(req.GetNamespace())
	if err != nil {
		return err
	}
	bounded, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	err = st.Watch(bounded, store.WatchOptions{
		Selection: store.Selection{
			ReadOptions: store.ReadOptions{MinVersion: w.last.ResourceVersion}, Namespace: req.GetNamespace(), Match: func(item *store.Item) bool { return item.Name == req.GetName() },
		},
		OnHeartbeat: func() error { return refusal(r.authorize(ctx, "watch", req.GetNamespace(), req.GetName())) },
	}, w.handle)
	switch {
	case errors.Is(err, errReached):
		return r.Answer(ctx, resp, true, w.last)
	case bounded.Err() != nil && ctx.Err() == nil:
		return &rpcstatus.Error{
			Code: codes.DeadlineExceeded, Reason: "WAIT_TIMEOUT", Message: fmt.Sprintf("%s %s is not %s after %s: %s", r.Checks.Kind, req.GetName(), req.GetFor(), timeout.Round(100*time.Millisecond), w.now),
		}
	}
	return err
}

// waiter follows one object.
type waiter struct {
	key types.NamespacedName
	// progress is nil when waiting for the deletion.
	progress func(*store.Item) Progress
	last     *store.Item
	present  bool
	now      string
}

// handle handles an event. It returns errReached at the end of the wait, and another error if the state cannot be reached.
func (w *waiter) handle(e store.Event) error {
	switch e.Type {
	case store.Reset:
		w.present = false
	case store.Added, store.Modified:
		replaced := w.last.UID != e.Item.UID
		w.last, w.present = e.Item, true
		return w.handleObject(replaced)
	case store.Deleted:
		w.last = e.Item
		return w.handleDeletion()
	case store.Synced:
		if !w.present {
			return w.handleDeletion()
		}
	case store.Heartbeat:
	}
	return nil
}

func (w *waiter) handleDeletion() error {
	if w.progress == nil {
		return errReached
	}
	return rpcstatus.NotFound("%s was deleted", w.key.Name)
}

// handleObject processes a version of the object, or of the one that replaced it.
func (w *waiter) handleObject(replaced bool) error {
	if w.progress == nil {
		w.now = "it is still there"
		if len(w.last.Finalizers) > 0 {
			w.now += ", held by " + strings.Join(w.last.Finalizers, ", ")
		}
		if replaced {
			return errReached
		}
		return nil
	}
	p := w.progress(w.last)
	w.now = p.Now
	switch {
	case p.Done:
		return errReached
	case p.Never != "":
		return rpcstatus.Precondition("WILL_NOT_HAPPEN", "%s", p.Never)
	}
	return nil
}

// parseFor returns the progress towards a state; nil for the deletion.
func (r *Resource) parseFor(text string) (func(*store.Item) Progress, error) {
	if text == "deleted" {
		return nil, nil
	}
	if known, ok := r.States[text]; ok {
		return known, nil
	}
	if condition, ok := strings.CutPrefix(text, "condition="); ok && condition != "" {
		name, want, given := strings.Cut(condition, "=")
		if !given {
			want = "True"
		}
		return func(item *store.Item) Progress {
			status, reason, message := ConditionOf(item, name)
			return Progress{Done: strings.EqualFold(status, want), Now: strings.TrimSpace(fmt.Sprintf("condition %s is %q %s %s", name, status, reason, message))}
		}, nil
	}
	names := append(slices.Sorted(maps.Keys(r.States)), "deleted", "condition=TYPE[=STATUS]")
	return nil, rpcstatus.BadField("for", "%q cannot be waited for: use %s", text, strings.Join(names, ", "))
}

// ConditionOf returns a condition of an object's status; empty texts if there is none for the object's generation.
func ConditionOf(item *store.Item, name string) (status, reason, message string) {
	for _, c := range item.At("status.conditions").Array() {
		if of := c.Get("observedGeneration"); c.Get("type").Str == name && (!of.Exists() || of.Int() >= item.Generation) {
			return c.Get("status").Str, c.Get("reason").Str, c.Get("message").Str
		}
	}
	return "", "", ""
}

// Observed reports whether the status of an object is about its current spec.
func Observed(item *store.Item) bool {
	return item.At("status.observedGeneration").Int() >= item.Generation
}
