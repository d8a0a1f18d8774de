package mtls

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/owned"
)

// gather is how long addresses of new Pods are gathered before a certificate is asked for with all of them. Workers share one
// certificate, and each change of it is a new key pair.
const gather = 2 * time.Second

// SetupWithManager registers the reconciler and its watches; those on cert-manager's kinds start when it is there.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, o controller.Options) error {
	o.MaxConcurrentReconciles = 1
	c, err := ctrl.NewControllerManagedBy(mgr).
		Named("raycluster-mtls").
		For(&rayv1.RayCluster{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&corev1.Pod{}, later(), builder.WithPredicates(addressChanged)).
		WithOptions(o).
		Build(r)
	if err != nil {
		return err
	}
	r.optional.Start = func(_ schema.GroupVersionKind, informer cache.Informer) error {
		ofChildren := owned.Handler{
			Kind: rayv1.GroupVersion.WithKind("RayCluster").GroupKind(),
			Gone: func(owner, object types.UID) {
				r.children.Gone(owner, object)
				r.said.Forget(object)
			},
		}
		return c.Watch(&source.Informer{Informer: informer, Handler: ofChildren.Handle(), Predicates: []predicate.Predicate{owned.Changed()}})
	}
	return nil
}

// later maps a Pod to its cluster, after a while.
func later() handler.EventHandler {
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	enqueue := func(q queue, o client.Object) {
		if name := o.GetLabels()[rayv1.LabelCluster]; name != "" {
			q.AddAfter(reconcile.Request{NamespacedName: types.NamespacedName{Namespace: o.GetNamespace(), Name: name}}, gather)
		}
	}
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q queue) { enqueue(q, e.Object) },
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue) { enqueue(q, e.ObjectNew) },
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q queue) { enqueue(q, e.Object) },
	}
}

// addressChanged lets Pods pass that have an address of their own now, and those that are gone.
var addressChanged = predicate.Funcs{
	CreateFunc: func(e event.CreateEvent) bool {
		p, ok := e.Object.(*corev1.Pod)
		return ok && p.Status.PodIP != ""
	},
	UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok1 := e.ObjectOld.(*corev1.Pod)
		after, ok2 := e.ObjectNew.(*corev1.Pod)
		return ok1 && ok2 && (before.Status.PodIP != after.Status.PodIP || !slices.Equal(before.Status.PodIPs, after.Status.PodIPs))
	},
}
