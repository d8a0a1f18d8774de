package simnode

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/cache"

	"github.com/raygate/raygate/localcluster/internal/podrun"
)

// Labels of the Pods of a cluster, and of Ray heads.
const (
	labelNodeType = "ray.io/node-type"
	labelCluster  = "ray.io/cluster"
)

// strip keeps of a Pod what this package reads; a Pod of Ray is some 20 KB whole.
func strip(obj any) (any, error) {
	if d, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		inner, err := strip(d.Obj)
		d.Obj = inner
		return d, err
	}
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return nil, fmt.Errorf("expecting a Pod, got %T", obj)
	}
	out := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:                  pod.Namespace,
			Name:                       pod.Name,
			UID:                        pod.UID,
			ResourceVersion:            pod.ResourceVersion,
			Generation:                 pod.Generation,
			DeletionTimestamp:          pod.DeletionTimestamp,
			DeletionGracePeriodSeconds: pod.DeletionGracePeriodSeconds,
			Finalizers:                 pod.Finalizers,
		},
		Spec: corev1.PodSpec{
			NodeName:       pod.Spec.NodeName,
			RestartPolicy:  pod.Spec.RestartPolicy,
			HostNetwork:    pod.Spec.HostNetwork,
			ReadinessGates: pod.Spec.ReadinessGates,
			InitContainers: stripContainers(pod.Spec.InitContainers),
			Containers:     stripContainers(pod.Spec.Containers),
		},
		Status: corev1.PodStatus{
			Phase:     pod.Status.Phase,
			PodIP:     pod.Status.PodIP,
			StartTime: pod.Status.StartTime,
		},
	}
	for _, key := range []string{labelNodeType, labelCluster} {
		if v, ok := pod.Labels[key]; ok {
			out.Labels = labels.Merge(out.Labels, labels.Set{key: v})
		}
	}
	for _, key := range []string{annotationStayPending, annotationExitCode} {
		if v, ok := pod.Annotations[key]; ok {
			metav1.SetMetaDataAnnotation(&out.ObjectMeta, key, v)
		}
	}
	if hasReal(out) {
		out.Status = pod.Status // what its processes do is compared with it
		return out, nil
	}
	for _, c := range pod.Status.Conditions {
		out.Status.Conditions = append(out.Status.Conditions, corev1.PodCondition{Type: c.Type, Status: c.Status})
	}
	return out, nil
}

func stripContainers(in []corev1.Container) []corev1.Container {
	var out []corev1.Container
	for _, c := range in {
		stripped := corev1.Container{Name: c.Name, Image: c.Image, RestartPolicy: c.RestartPolicy}
		if podrun.IsReal(c) {
			stripped.Command, stripped.Args = c.Command, c.Args // by which it is known
		}
		if podrun.HookTime(c) > 0 {
			stripped.Lifecycle = &corev1.Lifecycle{PreStop: c.Lifecycle.PreStop}
		}
		if podrun.ProbesServe(c) {
			stripped.ReadinessProbe = c.ReadinessProbe
		}
		if i := slices.IndexFunc(c.Ports, podrun.IsServePort); i >= 0 {
			stripped.Ports = c.Ports[i : i+1]
		}
		out = append(out, stripped)
	}
	return out
}
