package devicequota

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
)

// The permission to watch ResourceQuotas is in operator/config/components/device-admission.

// Watch feeds the engine from a cache whose Pods are transformed by Slim. The caller starts the cache. Call Watch before the first
// Check.
func (e *Engine) Watch(ctx context.Context, c cache.Cache) error {
	pods, err := c.GetInformer(ctx, &corev1.Pod{}, cache.BlockUntilSynced(false))
	if err != nil {
		return fmt.Errorf("watching Pods: %w", err)
	}
	quotas, err := c.GetInformer(ctx, &corev1.ResourceQuota{}, cache.BlockUntilSynced(false))
	if err != nil {
		return fmt.Errorf("watching ResourceQuotas: %w", err)
	}
	p, err := pods.AddEventHandler(handler(e.SetPod, e.DeletePod))
	if err != nil {
		return fmt.Errorf("watching Pods: %w", err)
	}
	q, err := quotas.AddEventHandler(handler(e.SetQuota, e.DeleteQuota))
	if err != nil {
		return fmt.Errorf("watching ResourceQuotas: %w", err)
	}
	e.synced = func() bool { return p.HasSynced() && q.HasSynced() }
	return nil
}

func handler[T any](set, remove func(T)) toolscache.ResourceEventHandlerFuncs {
	pass := func(to func(T), obj any) {
		if o, ok := obj.(T); ok {
			to(o)
		}
	}
	return toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { pass(set, obj) },
		UpdateFunc: func(_, obj any) { pass(set, obj) },
		DeleteFunc: func(obj any) {
			if last, ok := obj.(toolscache.DeletedFinalStateUnknown); ok {
				obj = last.Obj
			}
			pass(remove, obj)
		},
	}
}

// Slim is the transform of the cache. It keeps the fields that the sums need, and only the identity of Pods without devices.
func Slim(obj any) (any, error) {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return obj, nil
	}
	out := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, ResourceVersion: pod.ResourceVersion,
	}}
	if !asksForDevices(pod) {
		return out, nil
	}
	out.Annotations, out.Labels = pod.Annotations, pod.Labels
	out.Status.Phase = pod.Status.Phase
	out.Spec = corev1.PodSpec{
		InitContainers: slimContainers(pod.Spec.InitContainers), Containers: slimContainers(pod.Spec.Containers), Resources: pod.Spec.Resources,
		Affinity: pod.Spec.Affinity, PriorityClassName: pod.Spec.PriorityClassName, ActiveDeadlineSeconds: pod.Spec.ActiveDeadlineSeconds,
	}
	return out, nil
}

func slimContainers(list []corev1.Container) []corev1.Container {
	out := make([]corev1.Container, len(list))
	for i := range list {
		out[i] = corev1.Container{Name: list[i].Name, Resources: list[i].Resources, RestartPolicy: list[i].RestartPolicy}
		if s := list[i].SecurityContext; s != nil && s.Privileged != nil {
			out[i].SecurityContext = &corev1.SecurityContext{Privileged: s.Privileged}
		}
	}
	return out
}
