package raycluster

import (
	"cmp"
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/names"
	"github.com/raygate/raygate/operator/internal/build/pod"
	"github.com/raygate/raygate/operator/internal/podplan"
)

// head creates the head Pod if the plan says so, and reports whether workers make sense: if there is no head and none can
// be had, workers would only use up what the head needs.
func (r *podsRun) head(ctx context.Context, create bool) bool {
	if !create {
		return true
	}
	if r.mustWait(creating, rayv1.HeadGroupName) {
		return false
	}
	rc := r.s.cluster
	desired := pod.Head(rc, r.options)
	nameHead(desired, rc)
	r.gangs.decorate(r.s, rayv1.HeadGroupName, desired)
	err := r.createHead(ctx, desired)
	if apierrors.IsAlreadyExists(err) {
		desired, err = r.headInTheWay(ctx, desired)
		if desired == nil && err == nil {
			r.again(firstRetry)
			return false
		}
	}
	switch {
	case err == nil:
	case unreachable(err):
		r.failUnreachable(fmt.Errorf("creating the head Pod: %w", err))
		r.notOver(creating, rayv1.HeadGroupName)
		return false
	default:
		r.refused(creating, rayv1.HeadGroupName, failure{
			reason: rayv1.ReasonFailedCreateHeadPod, message: "creating the head Pod: " + steady(err, desired.GenerateName),
		})
		return false
	}
	r.retries.accepted(rc, creating, rayv1.HeadGroupName)
	r.expectations.podCreated(rc.UID, desired)
	r.o.createdHead = desired.Name
	r.o.written = append(r.o.written, desired)
	return true
}

func (r *podsRun) createHead(ctx context.Context, desired *corev1.Pod) error {
	if err := r.slots.acquire(ctx, r.s.cluster.UID); err != nil {
		return err
	}
	defer r.slots.release(r.s.cluster.UID)
	return r.client.Create(ctx, desired)
}

// headInTheWay looks at the Pod that has the name of the head. It returns our own head that the cache did not show, or
// nothing if that is on its way out; another owner's Pod is an error.
func (r *podsRun) headInTheWay(ctx context.Context, desired *corev1.Pod) (*corev1.Pod, error) {
	found := &corev1.Pod{}
	switch err := r.live.Get(ctx, client.ObjectKeyFromObject(desired), found); {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return desired, err
	}
	if !podplan.Owned(r.s.cluster, found) {
		return desired, fmt.Errorf("a Pod named %s exists and does not belong to this cluster; delete it", found.Name)
	}
	if found.DeletionTimestamp != nil {
		return nil, nil
	}
	return found, nil
}

// workers creates the workers of all groups at once.
func (r *podsRun) workers(ctx context.Context, list []podplan.Create) {
	var groups sync.WaitGroup
	for _, c := range list {
		g := &r.s.cluster.Spec.WorkerGroupSpecs[c.Group]
		if r.mustWait(creating, g.GroupName) {
			continue
		}
		r.mu.Lock()
		r.group(g.GroupName) // so that groups are told of in the order of the spec
		r.mu.Unlock()
		groups.Go(func() { r.workersOf(ctx, g, c) })
	}
	groups.Wait()
}

func (r *podsRun) workersOf(ctx context.Context, g *rayv1.WorkerGroupSpec, c podplan.Create) {
	rc := r.s.cluster
	model := r.workerModel(g)
	places := r.places(g, c)
	b := burst{
		limit: r.slots, cluster: rc.UID, n: len(places),
		ends: func(ctx context.Context, i int) bool { return between(places, i) && r.pace.over(ctx) },
	}
	paced := r.s.workload == nil && inOrder(&model.Spec)
	if paced {
		b.wait = r.pace.wait
	}
	done, failed := b.run(ctx, func(ctx context.Context, i int) error {
		worker := model.DeepCopy()
		if places[i] != nil {
			places[i].Label(worker)
		}
		if err := r.client.Create(ctx, worker); err != nil {
			return err
		}
		r.expectations.podCreated(rc.UID, worker)
		if paced {
			r.pace.created(worker)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		o := r.group(g.GroupName)
		o.created = append(o.created, worker.Name)
		r.o.written = append(r.o.written, worker)
		return nil
	})
	var refusals []failure
	for _, err := range failed {
		if unreachable(err) {
			r.failUnreachable(fmt.Errorf("creating workers of group %s: %w", g.GroupName, err))
			r.retries.interrupted(rc, g.GroupName)
			continue
		}
		refusals = append(refusals, failure{
			reason:  rayv1.ReasonFailedCreateWorkerPod,
			message: podplan.RefusedWorkers(g.GroupName) + steady(err, model.GenerateName),
		})
	}
	r.settle(creating, g.GroupName, len(failed), refusals)
	if done < len(places) && len(failed) == 0 {
		r.again(cacheLag)
	}
}

// workerModel is what all workers of the group are copies of: building is dearer than copying. Where a changed spec
// recreates Pods, workers tell like the head what they were made from, because they can outlive it.
func (r *podsRun) workerModel(g *rayv1.WorkerGroupSpec) *corev1.Pod {
	model := pod.Worker(r.s.cluster, g, r.options)
	if podplan.Recreates(r.s.cluster) {
		if model.Annotations == nil {
			model.Annotations = map[string]string{}
		}
		model.Annotations[rayv1.AnnotationUpgradeStrategyRecreateHash] = pod.SpecHash(&r.s.cluster.Spec)
		model.Annotations[rayv1.AnnotationKubeRayVersion] = r.options.OperatorVersion
	}
	r.gangs.decorate(r.s, g.GroupName, model)
	return model
}

// places are the places of the Pods to create, replica by replica, so that a refusal leaves few of them unfinished. Nil is
// a Pod without one.
func (r *podsRun) places(g *rayv1.WorkerGroupSpec, c podplan.Create) []*pod.Replica {
	list := make([]*pod.Replica, c.Plain, c.Pods())
	for _, replica := range c.Replicas {
		if replica.Hosts == nil {
			list = append(list, &pod.Replica{Index: replica.Index})
			continue
		}
		name := cmp.Or(replica.Name, names.LabelValue(g.GroupName+"-"+r.random()))
		for _, host := range replica.Hosts {
			list = append(list, &pod.Replica{Index: replica.Index, Name: name, Host: host})
		}
	}
	return list
}
