package raycluster

import (
	"context"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/source"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/cert"
	"github.com/raygate/raygate/operator/internal/build/devicefacts"
	"github.com/raygate/raygate/operator/internal/build/pod"
	"github.com/raygate/raygate/operator/internal/ownerref"
	"github.com/raygate/raygate/operator/internal/podplan"
	"github.com/raygate/raygate/operator/internal/reconcile"
)

// cluster is the kind of the owner.
var cluster = rayv1.GroupVersion.WithKind("RayCluster").GroupKind()

// CacheByObject restricts the cache to objects of Ray clusters and drops unused fields: a large Kubernetes cluster has many times
// more Pods and Services.
func CacheByObject() map[client.Object]cache.ByObject {
	rayPods := ownerref.Selector(rayv1.LabelNodeType, selection.In,
		string(rayv1.HeadNode), string(rayv1.WorkerNode), string(rayv1.RedisCleanupNode))
	by := map[client.Object]cache.ByObject{
		&corev1.Pod{}:       {Label: rayPods, Transform: trimPod},
		&rayv1.RayCluster{}: {Transform: trimCluster},
	}
	for _, o := range childKinds(true) {
		by[o] = ownerref.Marked()
	}
	return by
}

// childKinds are the kinds of children that every API server has, except Pods. Those of budgets only if the operator may read them.
func childKinds(budgets bool) []client.Object {
	kinds := []client.Object{
		&corev1.Service{}, &corev1.ServiceAccount{}, &rbacv1.Role{}, &rbacv1.RoleBinding{}, &networkingv1.Ingress{},
		&networkingv1.NetworkPolicy{}, &corev1.Secret{}, &corev1.PersistentVolumeClaim{}, &batchv1.Job{},
	}
	if budgets {
		kinds = append(kinds, &policyv1.PodDisruptionBudget{})
	}
	return kinds
}

// indexed are the kinds that Reconcile lists by controller.
func indexed(budgets bool) []client.Object {
	kinds := []client.Object{&corev1.Pod{}, &networkingv1.NetworkPolicy{}}
	if budgets {
		kinds = append(kinds, &policyv1.PodDisruptionBudget{})
	}
	return kinds
}

// trimCluster drops the managed fields, except those that distinguish device facts of the operator from values of the user.
func trimCluster(o any) (any, error) {
	if rc, ok := o.(*rayv1.RayCluster); ok {
		devicefacts.KeepManagers(rc)
	}
	return o, nil
}

// trimPod drops the large parts of a Pod that no decision uses. A cached Pod must never be sent in an update, only patched or
// deleted.
func trimPod(o any) (any, error) {
	p, ok := o.(*corev1.Pod)
	if !ok {
		return o, nil
	}
	p.ManagedFields = nil
	p.Spec.Volumes, p.Spec.InitContainers, p.Spec.Affinity, p.Spec.Tolerations = nil, nil, nil, nil
	for i := range p.Spec.Containers {
		c := &p.Spec.Containers[i]
		var token []corev1.EnvVar // a copy, because a part of the list would keep all of it in memory
		for _, e := range c.Env {
			if e.Name == pod.EnvAuthToken {
				token = append(token, e)
			}
		}
		*c = corev1.Container{Name: c.Name, Image: c.Image, Resources: c.Resources, Env: token}
	}
	return p, nil
}

// addPollers runs the pollers, which wake clusters.
func (r *Reconciler) addPollers(mgr ctrl.Manager, b *builder.Builder) error {
	if r.drains != nil {
		b.WatchesRawSource(r.drains.waker.Source())
		if err := mgr.Add(r.drains.poller); err != nil {
			return err
		}
	}
	if r.activities != nil {
		b.WatchesRawSource(r.activities.waker.Source())
		return mgr.Add(r.activities.poller)
	}
	return nil
}

// indexChildren registers the indices, and returns the kinds of children to watch.
func (r *Reconciler) indexChildren(ctx context.Context, mgr ctrl.Manager) (kinds []client.Object, err error) {
	if r.budgets, err = mayReadBudgets(ctx, r.config.Live, r.config.Namespaces); err != nil {
		return nil, err
	}
	return childKinds(r.budgets), ownerref.Index(ctx, mgr.GetFieldIndexer(), indexed(r.budgets)...)
}

// SetupWithManager registers the reconciler, its indices and its watches.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, o controller.Options) error {
	kinds, err := r.indexChildren(ctx, mgr)
	if err != nil {
		return err
	}
	changed := predicate.Or[client.Object](
		ownerref.SpecChanged(),
		predicate.NewPredicateFuncs(func(o client.Object) bool {
			rc, ok := o.(*rayv1.RayCluster)
			return ok && devicefacts.Shared(rc)
		}))
	ours := predicate.NewPredicateFuncs(func(o client.Object) bool {
		rc, ok := o.(*rayv1.RayCluster)
		return ok && (rayv1.ManagedHere(rc.Spec.ManagedBy) || awaitsCleanUp(rc))
	})
	ofPods := ownerref.Handler{Kind: cluster, Schedule: r.sizes.schedule, Gone: r.executor.Gone}
	ofChildren := ownerref.Handler{Kind: cluster, Schedule: r.sizes.schedule, Gone: r.children.Gone}
	b := ctrl.NewControllerManagedBy(mgr).
		Named("raycluster").
		For(&rayv1.RayCluster{}, builder.WithPredicates(ours, changed)).
		Watches(&corev1.Pod{}, ofPods.Handle(), builder.WithPredicates(predicate.Funcs{UpdateFunc: matters})).
		WithOptions(reconcile.Limited(o))
	if err := r.addPollers(mgr, b); err != nil {
		return err
	}
	for _, kind := range kinds {
		opts := []builder.WatchesOption{builder.WithPredicates(ownerref.Changed())}
		switch kind.(type) {
		case *corev1.ServiceAccount, *corev1.Secret:
			opts = append(opts, builder.OnlyMetadata)
		}
		b = b.Watches(kind, ofChildren.Handle(), opts...)
	}
	if r.config.Archive != nil {
		b = b.Watches(&rayv1.RayCluster{}, r.config.Archive.Deleted())
	}
	c, err := b.Build(reconcile.Traced("raycluster", r))
	if err != nil {
		return err
	}
	r.claims.Watch(c, mgr.GetCache())
	r.keeper.Watch(c, ownerref.Handler{Kind: cluster, Schedule: r.sizes.schedule})
	r.optional.Start = func(kind schema.GroupVersionKind, informer cache.Informer) error {
		changed := ownerref.Changed()
		if kind == cert.CertificateKind { // another controller creates them
			changed.CreateFunc = nil
		}
		return c.Watch(&source.Informer{Informer: informer, Handler: ofChildren.Handle(), Predicates: []predicate.Predicate{changed}})
	}
	return nil
}

// mayReadBudgets reports whether the operator has the rights for PodDisruptionBudgets, which roles of older releases lack. Without them, a watch would
// hold up its start.
func mayReadBudgets(ctx context.Context, live client.Reader, namespaces []string) (bool, error) {
	if len(namespaces) == 0 {
		namespaces = []string{""}
	}
	for _, ns := range namespaces {
		err := live.List(ctx, &policyv1.PodDisruptionBudgetList{}, client.InNamespace(ns), client.Limit(1))
		switch {
		case apierrors.IsForbidden(err):
			return false, nil
		case err != nil:
			return false, fmt.Errorf("looking for the rights for PodDisruptionBudgets: %w", err)
		}
	}
	return true, nil
}

// matters drops updates of Pods that affect no decision and no status: heartbeats, scheduling, successful image pulls.
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
		head && !equality.Semantic.DeepEqual(before.Status, after.Status) // the head's status is copied to the cluster's
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

// troubled returns the reason why a Pod does not run, regardless of its duration.
func troubled(p *corev1.Pod) string {
	t, _ := podplan.TroubleOf(p, p.CreationTimestamp.Add(farLater))
	return t.Reason
}

// farLater is after any time in the life of a Pod.
const farLater = 100 * 365 * 24 * time.Hour
