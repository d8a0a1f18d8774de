package raycluster

import (
	"context"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
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
	"github.com/raygate/raygate/operator/internal/build/cert"
	"github.com/raygate/raygate/operator/internal/build/pod"
	"github.com/raygate/raygate/operator/internal/gang"
	"github.com/raygate/raygate/operator/internal/gang/keeper"
	"github.com/raygate/raygate/operator/internal/podplan"
)

// indexController finds Pods and Services by the UID of the RayCluster that controls them.
const indexController = "metadata.ownerReferences.controller.uid"

// CacheByObject restricts the cache to what belongs to Ray clusters, and drops what is never read: in a large Kubernetes
// cluster all Pods and Services would be many times more.
func CacheByObject() map[client.Object]cache.ByObject {
	rayPods := requirement(rayv1.LabelNodeType, selection.In,
		string(rayv1.HeadNode), string(rayv1.WorkerNode), string(rayv1.RedisCleanupNode))
	by := map[client.Object]cache.ByObject{
		&corev1.Pod{}:       {Label: rayPods, Transform: trimPod},
		&rayv1.RayCluster{}: {Transform: cache.TransformStripManagedFields()},
	}
	for _, o := range append(childKinds(), &corev1.Service{}) {
		by[o] = cache.ByObject{Label: requirement(rayv1.LabelCluster, selection.Exists), Transform: cache.TransformStripManagedFields()}
	}
	return by
}

// childKinds are the kinds of children that always exist, besides Pods and Services.
func childKinds() []client.Object {
	return []client.Object{
		&corev1.ServiceAccount{}, &rbacv1.Role{}, &rbacv1.RoleBinding{}, &networkingv1.Ingress{}, &corev1.Secret{},
		&corev1.PersistentVolumeClaim{}, &batchv1.Job{},
	}
}

func requirement(key string, op selection.Operator, values ...string) labels.Selector {
	r, err := labels.NewRequirement(key, op, values)
	if err != nil {
		panic(err) // the arguments are constants of this file
	}
	return labels.NewSelector().Add(*r)
}

// trimPod drops the large parts of a Pod that no decision looks at. A cached Pod must therefore never be sent back in an
// update, only be patched or deleted.
func trimPod(o any) (any, error) {
	p, ok := o.(*corev1.Pod)
	if !ok {
		return o, nil
	}
	p.ManagedFields = nil
	p.Spec.Volumes, p.Spec.InitContainers, p.Spec.Affinity, p.Spec.Tolerations = nil, nil, nil, nil
	for i := range p.Spec.Containers {
		c := &p.Spec.Containers[i]
		var token []corev1.EnvVar // not a part of the whole list, which would keep all of it in memory
		for _, e := range c.Env {
			if e.Name == pod.EnvAuthToken {
				token = append(token, e)
			}
		}
		*c = corev1.Container{Name: c.Name, Image: c.Image, Resources: c.Resources, Env: token}
	}
	return p, nil
}

// IndexFields adds the indices that Reconcile lists by.
func IndexFields(ctx context.Context, i client.FieldIndexer) error {
	if err := i.IndexField(ctx, &corev1.Pod{}, indexController, controllerUID); err != nil {
		return err
	}
	return i.IndexField(ctx, &corev1.Service{}, indexController, controllerUID)
}

// SetupWithManager registers the reconciler, its indices and its watches.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, o controller.Options) error {
	if err := IndexFields(ctx, mgr.GetFieldIndexer()); err != nil {
		return err
	}
	if o.RateLimiter == nil {
		// The default waits for up to a quarter of an hour. After an outage of the API server that is too long.
		o.RateLimiter = workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](cacheLag, lastRetry)
	}
	changed := predicate.Or[client.Object](
		predicate.GenerationChangedPredicate{}, predicate.LabelChangedPredicate{}, predicate.AnnotationChangedPredicate{})
	ours := predicate.NewPredicateFuncs(func(o client.Object) bool {
		rc, ok := o.(*rayv1.RayCluster)
		return ok && (managed(rc) || guarded(rc))
	})
	b := ctrl.NewControllerManagedBy(mgr).
		Named("raycluster").
		For(&rayv1.RayCluster{}, builder.WithPredicates(ours, changed)).
		Watches(&corev1.Pod{}, r.ofCluster(), builder.WithPredicates(predicate.Funcs{UpdateFunc: matters})).
		Watches(&corev1.Service{}, r.ofCluster(), builder.WithPredicates(predicate.ResourceVersionChangedPredicate{})).
		WatchesRawSource(r.told(func(look func(types.NamespacedName)) {
			r.gangs.keeper.OnChange(func(o keeper.Owner) {
				if o.Kind == gang.KindRayCluster {
					look(types.NamespacedName{Namespace: o.Namespace, Name: o.Name})
				}
			})
			if r.policies != nil {
				r.policies.OnChange(look)
			}
		})).
		WithOptions(o)
	for _, kind := range childKinds() {
		opts := []builder.WatchesOption{builder.WithPredicates(byOthers)}
		switch kind.(type) {
		case *corev1.ServiceAccount, *corev1.Secret:
			opts = append(opts, builder.OnlyMetadata)
		}
		b = b.Watches(kind, r.ofCluster(), opts...)
	}
	c, err := b.Build(r)
	if err != nil {
		return err
	}
	r.children.served.Start = func(kind schema.GroupVersionKind, informer cache.Informer) error {
		changed := byOthers
		if kind == cert.CertificateKind { // which another controller creates
			changed.CreateFunc = nil
		}
		return c.Watch(&source.Informer{Informer: informer, Handler: r.ofCluster(), Predicates: []predicate.Predicate{changed}})
	}
	return nil
}

// told is an event source without events of its own: it lends its queue to those that find out by themselves when a cluster is
// to be looked at.
func (r *Reconciler) told(lend func(look func(types.NamespacedName))) source.Source {
	return source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		lend(func(cluster types.NamespacedName) {
			queue.AddAfter(reconcile.Request{NamespacedName: cluster}, r.memory.patience(cluster))
		})
		return nil
	})
}

// byOthers drops what a child is told of that changes no decision. That one was created is known: we did it.
var byOthers = predicate.Funcs{
	CreateFunc: func(event.CreateEvent) bool { return false },
	UpdateFunc: func(e event.UpdateEvent) bool {
		before, after := e.ObjectOld, e.ObjectNew
		switch before.(type) {
		case *networkingv1.Ingress, *corev1.PersistentVolumeClaim: // their status says nothing to us
			return before.GetUID() != after.GetUID() ||
				before.GetGeneration() != after.GetGeneration() ||
				(before.GetDeletionTimestamp() == nil) != (after.GetDeletionTimestamp() == nil) ||
				!equality.Semantic.DeepEqual(before.GetLabels(), after.GetLabels()) ||
				!equality.Semantic.DeepEqual(before.GetAnnotations(), after.GetAnnotations()) ||
				!equality.Semantic.DeepEqual(before.GetOwnerReferences(), after.GetOwnerReferences())
		default:
			return before.GetResourceVersion() != after.GetResourceVersion()
		}
	},
}

// matters drops updates of Pods that change no decision and no status: heartbeats, being scheduled, image pulls that work.
func matters(e event.UpdateEvent) bool {
	before, ok1 := e.ObjectOld.(*corev1.Pod)
	after, ok2 := e.ObjectNew.(*corev1.Pod)
	if !ok1 || !ok2 {
		return true
	}
	head := rayv1.RayNodeType(after.Labels[rayv1.LabelNodeType]) == rayv1.HeadNode
	return before.UID != after.UID ||
		before.Status.Phase != after.Status.Phase ||
		podReady(before) != podReady(after) ||
		(before.DeletionTimestamp == nil) != (after.DeletionTimestamp == nil) ||
		terminations(before) != terminations(after) ||
		troubled(before) != troubled(after) ||
		!equality.Semantic.DeepEqual(before.Labels, after.Labels) ||
		!equality.Semantic.DeepEqual(before.OwnerReferences, after.OwnerReferences) ||
		head && !equality.Semantic.DeepEqual(before.Status, after.Status) // the head's status is copied to ours
}

func terminations(p *corev1.Pod) int {
	n := 0
	for _, c := range p.Status.ContainerStatuses {
		if c.State.Terminated != nil {
			n++
		}
	}
	return n
}

// troubled is what keeps a Pod from running, however long it has been so.
func troubled(p *corev1.Pod) string {
	t, _ := podplan.TroubleOf(p, p.CreationTimestamp.Add(farLater))
	return t.Reason
}

// farLater is after any time in the life of a Pod.
const farLater = 100 * 365 * 24 * time.Hour

// ofCluster maps children to the cluster that controls them, a little later, so that a burst of changes costs one look.
func (r *Reconciler) ofCluster() handler.EventHandler {
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	enqueue := func(q queue, o client.Object) {
		if c := rayClusterOf(o); c != nil {
			q.AddAfter(reconcile.Request{NamespacedName: c.NamespacedName}, r.memory.patience(c.NamespacedName))
		}
	}
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q queue) { enqueue(q, e.Object) },
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue) {
			if !equality.Semantic.DeepEqual(metav1.GetControllerOf(e.ObjectOld), metav1.GetControllerOf(e.ObjectNew)) {
				enqueue(q, e.ObjectOld) // it has lost a Pod
			}
			enqueue(q, e.ObjectNew)
		},
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q queue) {
			if c := rayClusterOf(e.Object); c != nil {
				r.expectations.observeGone(c.UID, e.Object.GetUID())
				r.children.memory.gone(c.UID, e.Object.GetUID())
			}
			enqueue(q, e.Object)
		},
	}
}
