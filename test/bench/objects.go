package main

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/raytest"
)

// cluster returns a RayCluster of one head and a group of workers, as a user would send it.
func cluster(namespace, name string, workers int32) *rayv1.RayCluster {
	rc := raytest.RayCluster(namespace+"/"+name, raytest.Workers("cpu", workers))
	rc.UID, rc.Generation = "", 0
	return rc
}

// create creates the objects with at most --parallel requests in flight, and updates them to the stored versions.
func (s *session) create(ctx context.Context, objects []client.Object) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(s.opts.Parallel)
	for _, obj := range objects {
		g.Go(func() error {
			if err := s.client.Create(ctx, obj); err != nil {
				return fmt.Errorf("creating %T: %w", obj, err)
			}
			return nil
		})
	}
	return g.Wait()
}

// whenReady starts to watch before it returns. The returned function waits until exactly want objects of the namespace exist and all are
// ready, or until ctx is over.
func (s *session) whenReady(ctx context.Context, list client.ObjectList, namespace string, want int, ready func(client.Object) bool) (func() error, error) {
	watching, err := s.watch(ctx, list, namespace)
	if err != nil {
		return nil, err
	}
	result := make(chan error, 1)
	go func() { result <- watching.until(ctx, want, ready) }()
	return func() error { return <-result }, nil
}

// createAndWait creates objects, waits for what is to follow, and returns the seconds that this took.
func (s *session) createAndWait(ctx context.Context, objects []client.Object, wait func() error) (float64, error) {
	begin := time.Now()
	if err := s.create(ctx, objects); err != nil {
		return 0, err
	}
	if err := wait(); err != nil {
		return 0, err
	}
	return time.Since(begin).Seconds(), nil
}

// watching is the state of a watch that starts with the existing objects.
type watching struct {
	session   *session
	list      client.ObjectList
	namespace string
	objects   map[types.UID]client.Object
	events    watch.Interface
}

func (s *session) watch(ctx context.Context, list client.ObjectList, namespace string) (*watching, error) {
	w := &watching{session: s, list: list, namespace: namespace}
	return w, w.start(ctx)
}

func (w *watching) start(ctx context.Context) error {
	if err := w.session.client.List(ctx, w.list, client.InNamespace(w.namespace)); err != nil {
		return fmt.Errorf("listing %T: %w", w.list, err)
	}
	items, err := meta.ExtractList(w.list)
	if err != nil {
		return fmt.Errorf("listing %T: %w", w.list, err)
	}
	w.objects = map[types.UID]client.Object{}
	for _, item := range items {
		obj := item.(client.Object)
		w.objects[obj.GetUID()] = obj
	}
	from := &client.ListOptions{Namespace: w.namespace, Raw: &metav1.ListOptions{ResourceVersion: w.list.GetResourceVersion()}}
	if w.events, err = w.session.client.Watch(ctx, w.list, from); err != nil {
		return fmt.Errorf("watching %T: %w", w.list, err)
	}
	return nil
}

// until returns when exactly want objects exist and all of them are ready.
func (w *watching) until(ctx context.Context, want int, ready func(client.Object) bool) error {
	defer func() { w.events.Stop() }()
	notReady := map[types.UID]bool{}
	note := func(obj client.Object) {
		if ready(obj) {
			delete(notReady, obj.GetUID())
		} else {
			notReady[obj.GetUID()] = true
		}
	}
	noteAll := func() {
		clear(notReady)
		for _, obj := range w.objects {
			note(obj)
		}
	}
	noteAll()
	for len(notReady) > 0 || len(w.objects) != want {
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %d of %T: %d are there, %d of them not ready: %w", want, w.list, len(w.objects), len(notReady), ctx.Err())
		case event, open := <-w.events.ResultChan():
			obj, ok := event.Object.(client.Object)
			switch {
			case !open || event.Type == watch.Error || !ok:
				// The API server cuts off watchers that fall behind.
				w.events.Stop()
				if err := w.start(ctx); err != nil {
					return err
				}
				noteAll()
			case event.Type == watch.Deleted:
				delete(w.objects, obj.GetUID())
				delete(notReady, obj.GetUID())
			default:
				w.objects[obj.GetUID()] = obj
				note(obj)
			}
		}
	}
	return nil
}

func clusterReady(obj client.Object) bool {
	rc, ok := obj.(*rayv1.RayCluster)
	return ok && rc.Status.State == rayv1.ClusterStateReady
}

func podReady(obj client.Object) bool {
	pod, ok := obj.(*corev1.Pod)
	if !ok || pod.DeletionTimestamp != nil {
		return false
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// clear deletes all RayClusters, Pods and Services of the namespace, waits until they are gone, and then a moment for the controllers to
// settle.
func (s *session) clear(ctx context.Context, namespace string) error {
	for _, obj := range []client.Object{&rayv1.RayCluster{}, &corev1.Service{}, &corev1.Pod{}} {
		// Without a grace period: the next measurement must not run next to Pods that take their time to end.
		if err := s.deleteAll(ctx, obj, client.InNamespace(namespace), client.GracePeriodSeconds(0)); err != nil {
			return err
		}
	}
	if err := s.gone(ctx, namespace, 2*time.Minute, &rayv1.RayClusterList{}, &corev1.PodList{}, &corev1.ServiceList{}); err != nil {
		return err
	}
	return pause(ctx, 2*time.Second)
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
