package rayservice

import (
	"context"
	"fmt"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/names"
	"github.com/raygate/raygate/operator/internal/reconcile"
)

// +kubebuilder:rbac:groups="",resources=services,verbs=get;list;watch
// +kubebuilder:rbac:groups=discovery.k8s.io,resources=endpointslices,verbs=list;watch

// observeServices reads the clusters that the Services select and counts the ready Pods behind them.
func (r *Reconciler) observeServices(ctx context.Context, s *scope) (reconcile.Outcome, error) {
	if s.suspending() {
		return reconcile.Outcome{}, r.left(ctx, s)
	}
	var err error
	if s.in.HeadService, err = r.leadsTo(ctx, s, names.CurrentHeadService(s.service.Name)); err != nil {
		return reconcile.Outcome{}, err
	}
	if s.in.ServeService, err = r.leadsTo(ctx, s, names.ServiceServeService(s.service)); err != nil {
		return reconcile.Outcome{}, err
	}
	return reconcile.Outcome{}, r.endpoints(ctx, s)
}

// leadsTo returns the cluster that a Service selects; empty for none. A Service of KubeRay lacks the label for the cache until it
// is repaired, so a missing one is read from the API server.
func (r *Reconciler) leadsTo(ctx context.Context, s *scope, name string) (string, error) {
	svc := &corev1.Service{}
	key := client.ObjectKey{Namespace: s.service.Namespace, Name: name}
	err := r.config.Client.Get(ctx, key, svc)
	if apierrors.IsNotFound(err) && s.service.Status.ActiveServiceStatus.RayClusterName != "" {
		err = r.config.Live.Get(ctx, key, svc)
	}
	switch {
	case apierrors.IsNotFound(err):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("reading Service %s: %w", name, err)
	case !metav1.IsControlledBy(svc, s.service), svc.DeletionTimestamp != nil:
		return "", nil
	}
	return svc.Spec.Selector[rayv1.LabelCluster], nil
}

// endpoints counts the Pods behind the serve Services, each Pod once.
func (r *Reconciler) endpoints(ctx context.Context, s *scope) error {
	services := []string{names.ServiceServeService(s.service)}
	if s.in.Strategy.Steps && s.service.Status.ActiveServiceStatus.RayClusterName != "" { // these Services may have the same Pods
		for _, cluster := range s.used() {
			services = append(services, names.ServeService(cluster))
		}
	}
	seen := map[types.UID]struct{}{}
	for _, name := range services {
		var list discoveryv1.EndpointSliceList
		err := r.config.Client.List(ctx, &list, client.InNamespace(s.service.Namespace), client.MatchingFields{indexService: name}, client.UnsafeDisableDeepCopy)
		if err != nil {
			return fmt.Errorf("listing EndpointSlices of %s: %w", name, err)
		}
		for i := range list.Items {
			for _, e := range list.Items[i].Endpoints {
				if e.Conditions.Ready != nil && *e.Conditions.Ready && e.TargetRef != nil && e.TargetRef.UID != "" {
					seen[e.TargetRef.UID] = struct{}{}
				}
			}
		}
	}
	s.in.Endpoints = int32(min(len(seen), math.MaxInt32)) //nolint:gosec // it fits
	return nil
}

// left reads the remaining Services during a suspension. It reads from the API server, because the result is used for an
// irreversible step.
func (r *Reconciler) left(ctx context.Context, s *scope) error {
	var list corev1.ServiceList
	err := r.config.Live.List(ctx, &list, client.InNamespace(s.service.Namespace), client.MatchingLabels{
		rayv1.LabelOriginatedFromCRName: s.service.Name, rayv1.LabelOriginatedFromCRD: "RayService",
	})
	if err != nil {
		return fmt.Errorf("listing Services: %w", err)
	}
	s.services = slices.DeleteFunc(list.Items, func(svc corev1.Service) bool { return !metav1.IsControlledBy(&svc, s.service) })
	s.in.Children += len(s.services)
	return nil
}
