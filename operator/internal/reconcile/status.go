package reconcile

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

// SaveStatus writes the status of after, which was computed from before, and reports whether the API server has it. On a conflict
// or a deleted object it overwrites nothing. After a conflict it returns the delay before the next reconcile. The conflicting
// version may be an own status whose response was lost, for which the watch triggers no reconcile. Errors are those of the API
// server.
func (v *Versions) SaveStatus(ctx context.Context, c client.Client, before, after client.Object) (saved bool, again time.Duration, err error) {
	sent := after.GetResourceVersion() // later than that of before if the finalizer was set in between
	switch err := c.Status().Update(ctx, after); {
	case err == nil:
		if after.GetResourceVersion() != sent {
			v.replaced(before, sent)
		}
		return true, 0, nil
	case apierrors.IsConflict(err):
		v.replaced(before, sent)
		return false, Soon, nil
	case apierrors.IsNotFound(err):
		return false, 0, nil
	default:
		return false, 0, fmt.Errorf("saving status: %w", err)
	}
}

// SetFinalizer adds or removes a finalizer of o. It returns false if o has changed since it was read, or is gone; the caller
// should then reconcile again soon. o gets the metadata of the API server. Its other fields stay, since a reconcile may have
// changed them.
func (v *Versions) SetFinalizer(ctx context.Context, c client.Client, o client.Object, finalizer string, want bool) (saved bool, err error) {
	before, after := o.DeepCopyObject().(client.Object), o.DeepCopyObject().(client.Object)
	if want {
		controllerutil.AddFinalizer(after, finalizer)
	} else {
		controllerutil.RemoveFinalizer(after, finalizer)
	}
	switch err := c.Patch(ctx, after, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); {
	case apierrors.IsConflict(err):
		v.Replaced(o)
		return false, nil
	case apierrors.IsNotFound(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("setting the finalizer %s: %w", finalizer, err)
	}
	v.Replaced(before)
	o.SetFinalizers(after.GetFinalizers())
	o.SetResourceVersion(after.GetResourceVersion())
	return true, nil
}
