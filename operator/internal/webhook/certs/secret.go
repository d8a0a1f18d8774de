package certs

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// ensure creates an empty Secret if there is none. The rotator only fills an existing one: without a Secret it ends the process at
// start, and later does nothing.
func (k *keeper) ensure(ctx context.Context) error {
	err := k.live.Get(ctx, k.key, &corev1.Secret{})
	if err == nil {
		return nil
	}
	if !apierrors.IsNotFound(err) {
		return fmt.Errorf("reading the Secret of the webhook certificate: %w", err)
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: k.key.Namespace, Name: k.key.Name}, Type: corev1.SecretTypeOpaque}
	if err := k.Create(ctx, secret, client.FieldOwner(fieldOwner)); err != nil {
		if apierrors.IsAlreadyExists(err) {
			return nil // another replica was faster
		}
		return fmt.Errorf("creating the Secret of the webhook certificate: %w", err)
	}
	klog.FromContext(ctx).Info("Created the Secret of the webhook certificate", "Secret", klog.KObj(secret))
	return nil
}

// Reconcile implements reconcile.Reconciler.
func (k *keeper) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	return reconcile.Result{}, k.ensure(ctx)
}

// watch calls Reconcile when the Secret is deleted. It watches only this Secret, regardless of the manager's cache.
func (k *keeper) watch(mgr ctrl.Manager) error {
	one := cache.ByObject{Namespaces: map[string]cache.Config{
		k.key.Namespace: {FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, k.key.Name)},
	}}
	secrets, err := cache.New(mgr.GetConfig(), cache.Options{
		HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(),
		ByObject: map[client.Object]cache.ByObject{&corev1.Secret{}: one},
	})
	if err != nil {
		return fmt.Errorf("making a cache of the Secret of the webhook certificate: %w", err)
	}
	if err := mgr.Add(everyReplica{secrets}); err != nil {
		return fmt.Errorf("adding the cache of the Secret of the webhook certificate: %w", err)
	}
	onDelete := handler.TypedFuncs[*corev1.Secret, reconcile.Request]{
		DeleteFunc: func(_ context.Context, _ event.TypedDeleteEvent[*corev1.Secret], q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			q.Add(reconcile.Request{NamespacedName: k.key})
		},
	}
	return ctrl.NewControllerManagedBy(mgr).Named("webhook-certificate-secret").
		WithOptions(controller.Options{NeedLeaderElection: new(false)}).
		WatchesRawSource(source.Kind(secrets, &corev1.Secret{}, onDelete)).
		Complete(k)
}

// everyReplica is a cache that starts without leader election.
type everyReplica struct{ cache.Cache }

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (everyReplica) NeedLeaderElection() bool { return false }
