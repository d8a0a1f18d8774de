package raycluster

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/operator/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/podplan"
)

// delete deletes Pods of the plan, which are all controlled by this cluster. The UID goes along, so that a Pod that took
// the name in the meantime is safe.
func (r *podsRun) delete(ctx context.Context, list []podplan.Deletion) {
	if len(list) == 0 {
		return
	}
	rc := r.s.cluster
	first := list[0]
	r.o.allDeleted = first.Reason == podplan.ReasonSuspended || first.Reason == podplan.ReasonRecreate && first.Group == rayv1.HeadGroupName
	failed := slowStart(ctx, r.slots, rc.UID, len(list), func(ctx context.Context, i int) error {
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
	for i, err := range failed {
		if unreachable(err) {
			r.failUnreachable(fmt.Errorf("deleting Pods: %w", err))
			continue
		}
		r.fail(failure{reason: r.deleteFailure(list[i]), message: fmt.Sprintf("deleting Pod %s: %v", list[i].Pod.Name, err)})
		r.again(firstRetry)
	}
	r.slowDown(list)
}

func (r *podsRun) deleteFailure(d podplan.Deletion) string {
	switch {
	case r.o.allDeleted:
		return rayv1.ReasonFailedDeleteAllPods
	case d.Group == rayv1.HeadGroupName:
		return rayv1.ReasonFailedDeleteHeadPod
	default:
		return rayv1.ReasonFailedDeleteWorkerPod
	}
}

func (r *podsRun) noteDeleted(d podplan.Deletion) {
	r.mu.Lock()
	defer r.mu.Unlock()
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

// slowDown makes groups wait that lose Pods by themselves: what ends as soon as it starts is not to be replaced in a tight
// loop. However many Pods a group loses at once, it counts once.
func (r *podsRun) slowDown(list []podplan.Deletion) {
	known := map[string]bool{}
	for _, d := range list {
		if d.Reason == podplan.ReasonUnhealthy && !known[d.Group] {
			known[d.Group] = true
			r.retries.ended(r.s.cluster, d.Group)
		}
	}
}
