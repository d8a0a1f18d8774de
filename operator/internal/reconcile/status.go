package reconcile

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// SaveStatus writes the status of after, which was computed from before, and reports whether the API server has it. If somebody changed
// the object meanwhile, or it is gone, nothing of theirs is overwritten, and the watch brings the next reconcile. Other errors are
// those of the API server.
func (v *Versions) SaveStatus(ctx context.Context, c client.Client, before, after client.Object) (saved bool, err error) {
	switch err := c.Status().Update(ctx, after); {
	case err == nil:
		if after.GetResourceVersion() != before.GetResourceVersion() {
			v.Replaced(before)
		}
		return true, nil
	case apierrors.IsConflict(err):
		v.Replaced(before)
		return false, nil
	case apierrors.IsNotFound(err):
		return false, nil
	default:
		return false, fmt.Errorf("saving status: %w", err)
	}
}
