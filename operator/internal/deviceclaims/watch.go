package deviceclaims

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	ctrlreconcile "sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// Watch lets the controller reconcile the RayClusters, which it reads from clusters, when an object appears that they name, or a class
// changes. It must be called before Read.
func (r *Reader) Watch(c controller.Controller, clusters client.Reader) {
	r.watches.Start = func(kind schema.GroupVersionKind, informer cache.Informer) error {
		// The specs of templates and claims cannot change, and the status of claims changes often.
		changed := predicate.Funcs{UpdateFunc: func(event.UpdateEvent) bool { return kind == ClassKind }}
		users := handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) []ctrlreconcile.Request {
			return usersOf(ctx, clusters, kind, o)
		})
		return c.Watch(&source.Informer{Informer: informer, Handler: users, Predicates: []predicate.Predicate{changed}})
	}
}

// usersOf returns the clusters whose Pods name the object. Only claims name classes, so a class concerns all clusters with claims.
func usersOf(ctx context.Context, clusters client.Reader, kind schema.GroupVersionKind, o client.Object) []ctrlreconcile.Request {
	var list rayv1.RayClusterList
	if err := clusters.List(ctx, &list, client.InNamespace(o.GetNamespace()), client.UnsafeDisableDeepCopy); err != nil {
		ctrllog.FromContext(ctx).Error(err, "Listing the RayClusters with ResourceClaims")
		return nil
	}
	var out []ctrlreconcile.Request
	for i := range list.Items {
		if rc := &list.Items[i]; uses(rc, kind, o.GetName()) {
			out = append(out, ctrlreconcile.Request{NamespacedName: client.ObjectKeyFromObject(rc)})
		}
	}
	return out
}

func uses(rc *rayv1.RayCluster, kind schema.GroupVersionKind, name string) bool {
	for _, spec := range templates(rc) {
		for i := range spec.ResourceClaims {
			if kind == ClassKind || names(&spec.ResourceClaims[i], kind, name) {
				return true
			}
		}
	}
	return false
}

func names(c *corev1.PodResourceClaim, kind schema.GroupVersionKind, name string) bool {
	of := c.ResourceClaimTemplateName
	if kind == ClaimKind {
		of = c.ResourceClaimName
	}
	return of != nil && *of == name
}
