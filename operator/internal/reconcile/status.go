package reconcile

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// SaveStatus writes the status of after, which was computed from before, and reports whether the API server has it. If somebody changed
// the object meanwhile, or it is gone, nothing of theirs is overwritten, and again is the time after which to look again, at what they made:
// it may be a status of ours whose answer was lost, and the watch starts no reconcile for one. Errors are those of the API server.
func (v *Versions) SaveStatus(ctx context.Context, c client.Client, before, after client.Object) (saved bool, again time.Duration, err error) {
	switch err := c.Status().Update(ctx, after); {
	case err == nil:
		if after.GetResourceVersion() != before.GetResourceVersion() {
			v.Replaced(before)
		}
		return true, 0, nil
	case apierrors.IsConflict(err):
		v.Replaced(before)
		return false, Soon, nil
	case apierrors.IsNotFound(err):
		return false, 0, nil
	default:
		return false, 0, fmt.Errorf("saving status: %w", err)
	}
}
