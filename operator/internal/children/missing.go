package children

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/raygate/raygate/operator/internal/backoff"
)

// Look looks for something user-provided.
type Look struct {
	// ID tells it apart from what else the owner looks for.
	ID string
	// Find asks the API server.
	Find func(context.Context) (found bool, err error)
	// Eager asks with every reconcile until it is found, because something that is watched tells when it may be there.
	Eager bool
}

// Missing reports whether something user-provided is missing. It is not watched, so the API server itself is asked; but no
// more once it has been found for this generation of the owner, and less and less often while it is missing. In the result, After
// and Err count.
func (w *Writer) Missing(ctx context.Context, owner client.Object, look Look) (bool, Result) {
	k := backoff.Key{Owner: owner.GetUID(), Attempt: "user-provided " + look.ID}
	generation := owner.GetGeneration()
	if w.notes.found(k, generation) {
		return false, Result{}
	}
	if wait := w.refused.Wait(k, generation); wait > 0 && !look.Eager {
		return true, Result{After: wait}
	}
	found, err := look.Find(ctx)
	switch {
	case err != nil:
		return w.refused.Failing(k, generation), Result{Err: fmt.Errorf("looking for %s: %w", look.ID, err)}
	case !found && look.Eager:
		return true, Result{After: RetryAfter}
	case !found:
		return true, Result{After: w.refused.Failed(k, generation)}
	}
	w.refused.Succeeded(k)
	w.notes.setFound(k, generation)
	return false, Result{}
}

// Exists is a Look.Find: at the metadata of an object.
func (w *Writer) Exists(o client.Object) func(context.Context) (bool, error) {
	return func(ctx context.Context) (bool, error) {
		kind, err := w.kindOf(o)
		if err != nil {
			return false, err
		}
		err = w.config.Live.Get(ctx, client.ObjectKeyFromObject(o), metadata(kind, o))
		return err == nil, client.IgnoreNotFound(err)
	}
}

// notes are what the last attempts ended with, by owner. The zero value is ready.
type notes struct {
	mu     sync.Mutex
	owners map[types.UID]map[string]note
}

type note struct {
	failure Failure
	// found says that an object of the user's was found, for this generation of the owner.
	found      bool
	generation int64
}

func (n *notes) found(k backoff.Key, generation int64) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	x := n.owners[k.Owner][k.Attempt]
	return x.found && x.generation == generation
}

func (n *notes) setFound(k backoff.Key, generation int64) {
	n.change(k, func(x *note) { x.found, x.generation = true, generation })
}

func (n *notes) failure(k backoff.Key) *Failure {
	n.mu.Lock()
	defer n.mu.Unlock()
	if f := n.owners[k.Owner][k.Attempt].failure; f.Message != "" {
		return &f
	}
	return nil
}

func (n *notes) setFailure(k backoff.Key, f Failure) {
	n.change(k, func(x *note) { x.failure = f })
}

func (n *notes) change(k backoff.Key, do func(*note)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.owners == nil {
		n.owners = map[types.UID]map[string]note{}
	}
	if n.owners[k.Owner] == nil {
		n.owners[k.Owner] = map[string]note{}
	}
	x := n.owners[k.Owner][k.Attempt]
	do(&x)
	n.owners[k.Owner][k.Attempt] = x
}

func (n *notes) forget(owner types.UID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.owners, owner)
}
