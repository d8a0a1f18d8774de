package raycluster

import (
	"context"
	"fmt"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/podplan"
)

// delete deletes Pods of the plan, which are all controlled by this cluster: all groups at once, so that one whose Pods
// cannot be deleted does not keep those of the others.
func (r *podsRun) delete(ctx context.Context, list []podplan.Deletion) {
	if len(list) == 0 {
		return
	}
	first := list[0]
	r.o.allDeleted = first.Reason == podplan.ReasonSuspended || first.Reason == podplan.ReasonRecreate && first.Group == rayv1.HeadGroupName
	var groups sync.WaitGroup
	for _, part := range byGroup(list) {
		group := part[0].Group
		if r.mustWait(deleting, group) {
			continue
		}
		r.mu.Lock()
		r.group(group) // so that groups are told of in the order of the spec
		r.mu.Unlock()
		groups.Go(func() { r.deleteGroup(ctx, group, part) })
	}
	groups.Wait()
}

// byGroup divides a list whose entries of one group stand together.
func byGroup(list []podplan.Deletion) [][]podplan.Deletion {
	var parts [][]podplan.Deletion
	for len(list) > 0 {
		n := slices.IndexFunc(list, func(d podplan.Deletion) bool { return d.Group != list[0].Group })
		if n < 0 {
			n = len(list)
		}
		parts, list = append(parts, list[:n]), list[n:]
	}
	return parts
}

// deleteGroup deletes Pods of one group, or the head. The UID goes along, so that a Pod that took the name in the meantime
// is safe.
func (r *podsRun) deleteGroup(ctx context.Context, group string, list []podplan.Deletion) {
	rc := r.s.cluster
	_, failed := burst{limit: r.slots, cluster: rc.UID, n: len(list)}.run(ctx, func(ctx context.Context, i int) error {
		victim := list[i].Pod
		err := r.client.Delete(ctx, &corev1.Pod{ObjectMeta: objectKey(victim)}, client.Preconditions{UID: &victim.UID})
		// A conflict means that the Pod with this UID is gone.
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return err
		}
		r.expectations.podDeleted(rc.UID, victim.UID)
		r.noteDeleted(list[i])
		return nil
	})
	var refusals []failure
	for i, err := range failed {
		if unreachable(err) {
			r.failUnreachable(fmt.Errorf("deleting Pods: %w", err))
			continue
		}
		refusals = append(refusals, r.deleteFailure(list[i], err))
	}
	r.settle(deleting, group, len(failed), refusals)
	if slices.ContainsFunc(list, func(d podplan.Deletion) bool { return d.Reason == podplan.ReasonUnhealthy }) {
		// What ends as soon as it starts is not to be replaced in a tight loop. However many Pods a group loses at once, it
		// counts once.
		r.retries.ended(rc, group)
	}
}

func (r *podsRun) deleteFailure(d podplan.Deletion, err error) failure {
	f := failure{message: fmt.Sprintf("deleting Pod %s: %v", d.Pod.Name, err)}
	switch {
	case r.o.allDeleted:
		f.reason = rayv1.ReasonFailedDeleteAllPods
	case d.Group == rayv1.HeadGroupName:
		f.reason = rayv1.ReasonFailedDeleteHeadPod
	default:
		f.reason = rayv1.ReasonFailedDeleteWorkerPod
		if d.Reason == podplan.ReasonGroupSuspended {
			f.event = "FailedToDeleteWorkerPodCollection"
		}
	}
	return f
}

func (r *podsRun) noteDeleted(d podplan.Deletion) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.o.deleted++
	if d.Group == rayv1.HeadGroupName {
		r.o.deletedHead = d.Pod.Name
	} else {
		g := r.group(d.Group)
		g.deleted = append(g.deleted, d.Pod.Name)
	}
	if !slices.Contains(r.o.deleteReasons, d.Message) {
		r.o.deleteReasons = append(r.o.deleteReasons, d.Message)
		slices.Sort(r.o.deleteReasons)
	}
}
