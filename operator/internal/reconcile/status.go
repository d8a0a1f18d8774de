package reconcile

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Saved says what became of a status.
type Saved string

const (
	// SavedStatus says that the API server has it.
	SavedStatus Saved = "Saved"
	// SavedNothing says that somebody changed the object meanwhile, or that it is gone. Nothing of theirs is overwritten; the watch
	// brings the next reconcile.
	SavedNothing Saved = "Nothing"
)

// SaveStatus writes the status of after, which was computed from before. Errors are those of the API server but for conflicts and
// objects that are gone.
func (v *Versions) SaveStatus(ctx context.Context, c client.Client, before, after client.Object) (Saved, error) {
	err := c.Status().Update(ctx, after)
	switch {
	case err == nil:
		if after.GetResourceVersion() != before.GetResourceVersion() {
			v.Replaced(before)
		}
		return SavedStatus, nil
	case apierrors.IsConflict(err):
		v.Replaced(before)
		return SavedNothing, nil
	case apierrors.IsNotFound(err):
		return SavedNothing, nil
	}
	return SavedNothing, fmt.Errorf("saving status: %w", err)
}
