package children

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/raygate/raygate/operator/internal/backoff"
)

// Look searches for a user-provided object.
type Look struct {
	// ID identifies the object among those of the same owner.
	ID string
	// Find queries the API server.
	Find func(context.Context) (found bool, err error)
	// Eager repeats the query in every reconcile until the object is found. It suits owners that are reconciled when the object may
	// have appeared.
	Eager bool
}

// Missing reports whether a user-provided object is missing. It queries the API server because the object is not watched. The
// interval between queries grows, and queries stop once the object was found for this generation of the owner. Only After and Err
// of the result are set.
func (w *Writer) Missing(ctx context.Context, owner client.Object, look Look) (bool, Result) {
	k := backoff.Key{Owner: owner.GetUID(), Attempt: "user-provided " + look.ID}
	generation := owner.GetGeneration()
	if w.found(k, generation) {
		return false, Result{}
	}
	if wait := w.refused.Wait(k, generation); wait > 0 && !look.Eager {
		return true, Result{After: wait}
	}
	found, err := look.Find(ctx)
	switch {
	case err != nil:
		_, missing := w.refused.Last(k, generation)
		return missing, Result{Err: fmt.Errorf("looking for %s: %w", look.ID, err)}
	case !found && look.Eager:
		return true, Result{After: RetryAfter}
	case !found:
		return true, Result{After: w.refused.Failed(k, generation, nil)}
	}
	w.refused.Succeeded(k)
	w.sights.Set(k.Owner, k.Attempt, generation)
	return false, Result{}
}

// Exists returns a Look.Find that reads the metadata of o.
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

// found reports whether the user-provided object was found for this generation of the owner.
func (w *Writer) found(k backoff.Key, generation int64) bool {
	last, ok := w.sights.Get(k.Owner, k.Attempt)
	return ok && last == generation
}
