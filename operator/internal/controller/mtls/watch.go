package mtls

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/source"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/ownerref"
	"github.com/raygate/raygate/operator/internal/reconcile"
)

// gather is how long IPs of new Pods are collected before a certificate with all of them is requested. Workers share one
// certificate, and each change creates a new key pair.
const gather = 2 * time.Second

// SetupWithManager registers the reconciler and its watches. Those for cert-manager's kinds start when the kinds are served.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, o controller.Options) error {
	kind := rayv1.GroupVersion.WithKind("RayCluster").GroupKind()
	ofPods := ownerref.Handler{Kind: kind, Schedule: func(types.NamespacedName) (time.Duration, int) { return gather, 0 }}
	ofChildren := ownerref.Handler{Kind: kind, Gone: func(owner, object types.UID) {
		r.children.Gone(owner, object)
		r.said.Forget(object)
	}}
	c, err := ctrl.NewControllerManagedBy(mgr).
		Named("raycluster-mtls").
		For(&rayv1.RayCluster{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&corev1.Pod{}, ofPods.Handle(), builder.WithPredicates(addressChanged)).
		WithOptions(reconcile.Limited(o)).
		Build(reconcile.Traced("raycluster-mtls", r))
	if err != nil {
		return err
	}
	r.optional.Start = func(_ schema.GroupVersionKind, informer cache.Informer) error {
		return c.Watch(&source.Informer{Informer: informer, Handler: ofChildren.Handle(), Predicates: []predicate.Predicate{ownerref.Changed()}})
	}
	return nil
}

// addressChanged passes Pods that have got an IP, and deleted Pods.
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
