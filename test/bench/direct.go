package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// children are the Pods and the Service of a small cluster, as the operator created them, without additions of the control plane: what a
// direct creation must create, too.
type children struct {
	head, worker corev1.Pod
	service      corev1.Service
}

const readyLimit = 3 * time.Minute

// learnChildren lets the operator make a cluster with one worker, copies its Pods and its Service as templates, and deletes everything
// again. It stops the operator.
func (s *session) learnChildren(ctx context.Context, namespace string) (children, error) {
	operator, err := s.startOperator(ctx, s.kubeconfig)
	if err != nil {
		return children{}, err
	}
	if err := s.warmUp(ctx, namespace); err != nil {
		return children{}, err
	}
	var pods corev1.PodList
	var services corev1.ServiceList
	for _, list := range []client.ObjectList{&pods, &services} {
		if err := s.client.List(ctx, list, client.InNamespace(namespace)); err != nil {
			return children{}, fmt.Errorf("listing %T: %w", list, err)
		}
	}
	c, err := templatesOf(pods.Items, services.Items)
	if err != nil {
		return c, err
	}
	s.stop(operator)
	return c, s.clear(ctx, namespace)
}

// templatesOf strips the Pods and Services of one cluster of all that the control plane has added.
func templatesOf(pods []corev1.Pod, services []corev1.Service) (children, error) {
	var c children
	if len(pods) != 2 || len(services) != 1 {
		return c, fmt.Errorf("a cluster of 1+1 Pods has %d Pods and %d Services, want 2 and 1", len(pods), len(services))
	}
	for _, pod := range pods {
		stripped := corev1.Pod{ObjectMeta: strip(pod.ObjectMeta), Spec: pod.Spec}
		stripped.Spec.NodeName = ""
		if pod.Labels[rayv1.LabelNodeType] == string(rayv1.HeadNode) {
			c.head = stripped
		} else {
			c.worker = stripped
		}
	}
	if len(c.head.Spec.Containers) == 0 || len(c.worker.Spec.Containers) == 0 {
		return c, errors.New("a cluster of 1+1 Pods has not one head and one worker, by their labels")
	}
	service := services[0]
	c.service = corev1.Service{ObjectMeta: strip(service.ObjectMeta), Spec: service.Spec}
	if service.Spec.ClusterIP != corev1.ClusterIPNone {
		c.service.Spec.ClusterIP, c.service.Spec.ClusterIPs = "", nil
	}
	for i := range c.service.Spec.Ports {
		c.service.Spec.Ports[i].NodePort = 0
	}
	return c, nil
}

// warmUp lets the running operator make one small cluster ready, and keeps the cluster.
func (s *session) warmUp(ctx context.Context, namespace string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	wait, err := s.whenReady(ctx, &rayv1.RayClusterList{}, namespace, 1, hasReadyWorkers(1))
	if err != nil {
		return err
	}
	if err := s.create(ctx, []client.Object{cluster(namespace, "warm-up", 1)}); err != nil {
		return err
	}
	return wait()
}

func strip(m metav1.ObjectMeta) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: m.Namespace, Labels: m.Labels, Annotations: m.Annotations}
}

// of returns the children of a cluster of this name, ready to be created in the namespace of the templates.
func (c children) of(name string, workers int) []client.Object {
	service := c.service.DeepCopy()
	service.Name = name + "-head-svc"
	rename(service.Labels, name)
	rename(service.Spec.Selector, name)
	objects := []client.Object{service, named(c.head, name, "head")}
	for range workers {
		objects = append(objects, named(c.worker, name, "cpu-worker"))
	}
	return objects
}

func named(template corev1.Pod, cluster, kind string) *corev1.Pod {
	pod := template.DeepCopy()
	pod.GenerateName = cluster + "-" + kind + "-"
	rename(pod.Labels, cluster)
	return pod
}

// rename moves an object to another cluster, so that each Service only selects the Pods of its own cluster.
func rename(labels map[string]string, cluster string) {
	if _, ok := labels[rayv1.LabelCluster]; ok {
		labels[rayv1.LabelCluster] = cluster
	}
}

// createDirectly measures the seconds from the first create until all Pods are ready; no operator may be running.
func (s *session) createDirectly(ctx context.Context, namespace string, objects []client.Object) (float64, error) {
	ctx, cancel := context.WithTimeout(ctx, readyLimit)
	defer cancel()
	pods := 0
	for _, obj := range objects {
		if _, ok := obj.(*corev1.Pod); ok {
			pods++
		}
	}
	wait, err := s.whenReady(ctx, &corev1.PodList{}, namespace, pods, podReady)
	if err != nil {
		return 0, err
	}
	return s.createAndWait(ctx, objects, wait)
}

// checkChildren counts the children of ready clusters: the figures of a run with too few or too many are worthless.
func (s *session) checkChildren(ctx context.Context, namespace string, wantPods, wantServices int) error {
	var pods corev1.PodList
	var services corev1.ServiceList
	for _, list := range []client.ObjectList{&pods, &services} {
		if err := s.client.List(ctx, list, client.InNamespace(namespace)); err != nil {
			return fmt.Errorf("listing %T: %w", list, err)
		}
	}
	ready := 0
	for i := range pods.Items {
		if podReady(&pods.Items[i]) {
			ready++
		}
	}
	if len(pods.Items) != wantPods || ready != wantPods || len(services.Items) != wantServices {
		return fmt.Errorf("there are %d Pods, %d of them ready, and %d Services; want %d Pods, all ready, and %d Services",
			len(pods.Items), ready, len(services.Items), wantPods, wantServices)
	}
	return nil
}
