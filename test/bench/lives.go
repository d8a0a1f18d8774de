package main

import (
	"context"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// life is a kind of object that is created, becomes what users wait for, and is deleted.
type life struct {
	what string
	list func() client.ObjectList
	make func(namespace string, i int) client.Object
	done func(client.Object) bool
}

func clustersOf(workers int32) life {
	return life{
		what: fmt.Sprintf("RayCluster of 1+%d", workers), list: func() client.ObjectList { return &rayv1.RayClusterList{} },
		make: func(namespace string, i int) client.Object { return cluster(namespace, clusterName(0, i), workers) },
		done: hasReadyWorkers(workers),
	}
}

// jobsIn are RayJobs of one head in a submission mode.
func jobsIn(mode rayv1.JobSubmissionMode) life {
	return life{
		what: "RayJob of one head, " + string(mode), list: func() client.ObjectList { return &rayv1.RayJobList{} },
		make: func(namespace string, i int) client.Object {
			j := benchJob(namespace, i, false)
			j.Spec.SubmissionMode, j.Spec.Entrypoint = mode, "true"
			return j
		},
		done: jobEnded,
	}
}

func servicesOf(workers int32) life {
	return life{
		what: fmt.Sprintf("RayService of 1+%d", workers), list: func() client.ObjectList { return &rayv1.RayServiceList{} },
		make: func(namespace string, i int) client.Object {
			return benchService(namespace, fmt.Sprintf("service-%d", i), workers)
		},
		done: served,
	}
}

func served(obj client.Object) bool {
	rs, ok := obj.(*rayv1.RayService)
	return ok && serving(rs) && rs.Status.ActiveServiceStatus.Applications[shop].Status == rayv1.ApplicationRunning
}

// leftovers are lists of all kinds that a Ray object brings.
func leftovers() []client.ObjectList {
	return []client.ObjectList{
		&rayv1.RayJobList{}, &rayv1.RayServiceList{}, &rayv1.RayClusterList{}, &batchv1.JobList{}, &corev1.PodList{}, &corev1.ServiceList{},
	}
}

// live creates n objects, waits until all are done, and returns the seconds that this took.
func (s *session) live(ctx context.Context, namespace string, l life, n int) (float64, error) {
	var objects []client.Object
	for i := range n {
		objects = append(objects, l.make(namespace, i))
	}
	wait, err := s.whenReady(ctx, l.list(), namespace, n, l.done)
	if err != nil {
		return 0, err
	}
	return s.createAndWait(ctx, objects, wait)
}

// die deletes the objects, and waits until they and all that belongs to them are gone.
func (s *session) die(ctx context.Context, namespace string, l life) error {
	if err := s.deleteAll(ctx, l.make(namespace, 0), client.InNamespace(namespace)); err != nil {
		return err
	}
	return s.gone(ctx, namespace, 2*time.Minute, leftovers()...)
}

// deleteAll deletes all objects of the type of o. The API server breaks off after half a minute, with some of many objects left.
func (s *session) deleteAll(ctx context.Context, o client.Object, opts ...client.DeleteAllOfOption) error {
	return s.eventually(ctx, fmt.Sprintf("the deletion of all %T", o), 5*time.Minute, func(ctx context.Context) error {
		return s.client.DeleteAllOf(ctx, o, opts...)
	})
}

// gone waits until the namespace has no object of these kinds, for at most limit for each of them.
func (s *session) gone(ctx context.Context, namespace string, limit time.Duration, lists ...client.ObjectList) error {
	for _, list := range lists {
		err := s.eventually(ctx, "the end of what was deleted", limit, func(ctx context.Context) error {
			if err := s.client.List(ctx, list, client.InNamespace(namespace), client.Limit(1)); err != nil {
				return err
			}
			if n := meta.LenList(list); n > 0 {
				return fmt.Errorf("there are still %T", list)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
