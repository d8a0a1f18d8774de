package raycluster

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// observe reads what belongs to the cluster. It is found by the UID of its controller and not by labels: a Pod that
// merely carries our labels, or is left from an earlier cluster of the name, is not ours.
func (r *Reconciler) observe(ctx context.Context, rc *rayv1.RayCluster) (*scope, error) {
	ours := []client.ListOption{
		client.InNamespace(rc.Namespace),
		client.MatchingFields{indexController: string(rc.UID)},
		client.UnsafeDisableDeepCopy, // a thousand Pods are read often and changed never
	}
	var podList corev1.PodList
	if err := r.client.List(ctx, &podList, ours...); err != nil {
		return nil, fmt.Errorf("listing Pods: %w", err)
	}
	var serviceList corev1.ServiceList
	if err := r.client.List(ctx, &serviceList, ours...); err != nil {
		return nil, fmt.Errorf("listing Services: %w", err)
	}
	s := &scope{
		cluster:  rc.DeepCopy(),
		now:      r.clock.Now(),
		pods:     r.expectations.viewPods(rc.UID, pointers(podList.Items)),
		services: r.expectations.viewServices(rc.UID, pointers(serviceList.Items)),
	}
	r.memory.update(rc, func(m *remembered) { m.pods = len(s.pods) })
	return s, nil
}

func pointers[T any](items []T) []*T {
	list := make([]*T, len(items))
	for i := range items {
		list[i] = &items[i]
	}
	return list
}

// controllerUID is the index function behind indexController.
func controllerUID(o client.Object) []string {
	if owner := rayClusterOf(o); owner != nil {
		return []string{string(owner.UID)}
	}
	return nil
}

// owner names the RayCluster that controls an object.
type owner struct {
	types.NamespacedName
	UID types.UID
}

func rayClusterOf(o client.Object) *owner {
	for _, ref := range o.GetOwnerReferences() {
		if ref.Controller != nil && *ref.Controller && ref.Kind == "RayCluster" && ref.APIVersion == rayv1.GroupVersion.String() {
			return &owner{NamespacedName: types.NamespacedName{Namespace: o.GetNamespace(), Name: ref.Name}, UID: ref.UID}
		}
	}
	return nil
}
