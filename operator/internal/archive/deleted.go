package archive

import (
	"cmp"
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/ownerref"
	"github.com/raygate/raygate/pkg/history"
)

// tries is the number of attempts to write the record of a deleted object: nothing waits for it, and no reconcile tries again.
const tries = 5

// Deleted returns a handler that records RayClusters and RayServices once they are deleted. It enqueues nothing.
func (a *Archive) Deleted() handler.EventHandler {
	return handler.Funcs{DeleteFunc: func(ctx context.Context, e event.DeleteEvent, _ ownerref.Queue) {
		usage := a.meter.take(e.Object.GetUID())
		details := a.takeServe(ctx, e.Object)
		if s, ok := deletedSubject(e.Object, a.config.Clock.Now()); ok {
			s.Usage, s.Serve = usage, details
			a.keepDeleted(s, tries)
		}
	}}
}

// deletedSubject returns the subject of a deleted object; false for an object of another operator or kind.
func deletedSubject(o client.Object, now time.Time) (s Subject, ok bool) {
	s = Subject{Object: o, Summary: history.Summary{Ended: now.UTC()}}
	switch o := o.(type) {
	case *rayv1.RayCluster:
		s.Key, s.Cluster, s.Clusters = KeyOf("RayCluster", o), o.Name, []string{o.Name}
		s.Result, s.Reason, ok = string(o.Status.State), o.Status.Reason, rayv1.ManagedHere(o.Spec.ManagedBy)
	case *rayv1.RayService:
		s.Key, ok = KeyOf("RayService", o), rayv1.ManagedHere(o.Spec.ManagedBy)
		s.Result, s.Cluster = string(o.Status.ServiceStatus), o.Status.ActiveServiceStatus.RayClusterName
	default:
		return s, false
	}
	s.Result, s.Queue, s.Owner = cmp.Or(s.Result, "unknown"), o.GetLabels()[rayv1.LabelKueueQueue], ownerOf(o)
	if at := o.GetDeletionTimestamp(); at != nil {
		s.Ended = at.UTC()
	}
	return s, ok
}

// keepDeleted stores a record, again after a failure.
func (a *Archive) keepDeleted(s Subject, left int) {
	a.Keep(s, func() {
		o := a.Outcome(s.Key)
		if o.Failure == "" || left <= 1 {
			if o.Failure != "" {
				ctrllog.Log.Info("Lost the history of an object", "kind", s.Kind, "namespace", s.Namespace, "name", s.Name, "reason", o.Failure)
			}
			a.Forget(types.UID(s.UID))
			return
		}
		a.config.Clock.AfterFunc(o.Retry, func() { a.keepDeleted(s, left-1) })
	})
}
