package children

import (
	"context"
	"fmt"

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

// Missing reports whether a user-provided object is missing. It asks the API server, since the object is not watched: less and less often,
// and no longer once it was found for this generation of the owner. In the result, After and Err count.
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

// found reports whether an object of the user's was found for this generation of the owner.
func (w *Writer) found(k backoff.Key, generation int64) bool {
	last, ok := w.sights.Get(k.Owner, k.Attempt)
	return ok && last == generation
}
