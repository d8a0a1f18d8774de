package rayservice

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/source"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/ownerref"
	"github.com/raygate/raygate/operator/internal/podplan"
	"github.com/raygate/raygate/operator/internal/reconcile"
)

const (
	// gather is how long changes of children are collected before a reconcile.
	gather = 20 * time.Millisecond
	// indexCluster finds Pods by the cluster in their label, and indexService EndpointSlices by their Service.
	indexCluster = "metadata.labels.cluster"
	indexService = "metadata.labels.service"
)

// kind is the kind of the owner.
var kind = rayv1.GroupVersion.WithKind("RayService").GroupKind()

// CacheByObject restricts the cache to EndpointSlices of serve Services, which have the labels of the Service.
func CacheByObject() map[client.Object]cache.ByObject {
	return map[client.Object]cache.ByObject{
		&discoveryv1.EndpointSlice{}: {Label: ownerref.Selector(rayv1.LabelServe, selection.Exists), Transform: cache.TransformStripManagedFields()},
	}
}

func byLabel(key string) client.IndexerFunc {
	return func(o client.Object) []string {
		if value := o.GetLabels()[key]; value != "" {
			return []string{value}
		}
		return nil
	}
}

// SetupWithManager registers the reconciler, its pollers, its indices and its watches. The cache must contain at least the objects
// of raycluster.CacheByObject and CacheByObject.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, o controller.Options) error {
	indexer := mgr.GetFieldIndexer()
	for _, add := range []func() error{
		func() error { return ownerref.Index(ctx, indexer, &rayv1.RayCluster{}, &corev1.Service{}) },
		func() error { return indexer.IndexField(ctx, &corev1.Pod{}, indexCluster, byLabel(rayv1.LabelCluster)) },
		func() error {
			return indexer.IndexField(ctx, &discoveryv1.EndpointSlice{}, indexService, byLabel(discoveryv1.LabelServiceName))
		},
		func() error { return mgr.Add(r.tracker) },
	} {
		if err := add(); err != nil {
			return err
		}
	}
	ours := predicate.NewPredicateFuncs(func(o client.Object) bool {
		rs, ok := o.(*rayv1.RayService)
		return ok && rayv1.ManagedHere(rs.Spec.ManagedBy)
	})
	children := ownerref.Handler{
		Kind: kind, Gone: r.children.Gone, Schedule: func(types.NamespacedName) (time.Duration, int) { return gather, 0 },
	}
	b := ctrl.NewControllerManagedBy(mgr).
		Named("rayservice").
		For(&rayv1.RayService{}, builder.WithPredicates(ours, ownerref.SpecChanged())).
		Watches(&rayv1.RayCluster{}, children.Handle(), builder.WithPredicates(predicate.ResourceVersionChangedPredicate{})).
		Watches(&corev1.Service{}, children.Handle(), builder.WithPredicates(predicate.ResourceVersionChangedPredicate{})).
		Watches(&corev1.Service{}, handler.EnqueueRequestsFromMapFunc(r.ofCluster), builder.WithPredicates(onlyHeads)).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(r.ofCluster), builder.WithPredicates(predicate.Funcs{UpdateFunc: podChanged})).
		Watches(&discoveryv1.EndpointSlice{}, handler.EnqueueRequestsFromMapFunc(r.ofSlice)).
		WatchesRawSource(r.waker.Source()).
		WithOptions(reconcile.Limited(o))
	if r.config.Archive != nil {
		b = b.Watches(&rayv1.RayService{}, r.config.Archive.Deleted())
	}
	c, err := b.Build(reconcile.Traced("rayservice", r))
	if err != nil {
		return err
	}
	r.optional.Start = func(_ schema.GroupVersionKind, informer cache.Informer) error {
		return c.Watch(&source.Informer{Informer: informer, Handler: children.Handle(), Predicates: []predicate.Predicate{predicate.ResourceVersionChangedPredicate{}}})
	}
	return nil
}

// onlyHeads passes creations of head Services of clusters, through which the dashboard is reached.
var onlyHeads = predicate.Funcs{
	CreateFunc: func(e event.CreateEvent) bool {
		return e.Object.GetLabels()[rayv1.LabelNodeType] == string(rayv1.HeadNode)
	},
	UpdateFunc: func(event.UpdateEvent) bool { return false },
	DeleteFunc: func(event.DeleteEvent) bool { return false },
}

// ofCluster returns the RayService of the cluster in the label of an object.
func (r *Reconciler) ofCluster(ctx context.Context, o client.Object) []ctrl.Request {
	cluster := client.ObjectKey{Namespace: o.GetNamespace(), Name: o.GetLabels()[rayv1.LabelCluster]}
	return ownerref.ThroughCluster(ctx, r.config.Client, kind, cluster, nil)
}

// ofSlice returns the RayService of a serve Service, which may belong to the service or to one of its clusters.
func (r *Reconciler) ofSlice(ctx context.Context, o client.Object) []ctrl.Request {
	if o.GetLabels()[rayv1.LabelOriginatedFromCRD] != "RayService" {
		return nil
	}
	service := types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetLabels()[rayv1.LabelOriginatedFromCRName]}
	if list := ownerref.ThroughCluster(ctx, r.config.Client, kind, service, nil); list != nil {
		return list
	}
	return []ctrl.Request{{NamespacedName: service}}
}

// podChanged drops updates of Pods that do not affect which Pods serve requests.
func podChanged(e event.UpdateEvent) bool {
	before, ok1 := e.ObjectOld.(*corev1.Pod)
	after, ok2 := e.ObjectNew.(*corev1.Pod)
	if !ok1 || !ok2 {
		return true
	}
	return podplan.Ready(before) != podplan.Ready(after) || before.Status.PodIP != after.Status.PodIP ||
		before.Labels[rayv1.LabelServe] != after.Labels[rayv1.LabelServe] || (before.DeletionTimestamp == nil) != (after.DeletionTimestamp == nil)
}
