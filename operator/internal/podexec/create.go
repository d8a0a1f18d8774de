package podexec

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/pod"
	"github.com/raygate/raygate/operator/internal/conditions"
)

// head creates the head Pod if the plan contains one, and reports whether workers can be created.
func (r *run) head(ctx context.Context) bool {
	desired := r.work.Head
	if desired == nil {
		return true
	}
	a := attempt{creating, rayv1.HeadGroupName}
	if r.tooEarly(a) {
		return false
	}
	of := func(int) attempt { return a }
	r.batches(ctx, 1, of, func(ctx context.Context, _ int) error {
		err := r.client.Create(ctx, desired)
		if apierrors.IsAlreadyExists(err) {
			desired, err = r.headInTheWay(ctx, desired)
		}
		return err
	})
	prefix := r.work.Head.GenerateName
	describe := func(err error) Failure {
		return Failure{Reason: rayv1.ReasonFailedCreateHeadPod, Message: "creating the head Pod: " + steady(err, prefix), Refusal: conditions.Refusal(err)}
	}
	if !r.end(a, describe) {
		return false
	}
	if desired == nil {
		r.again(FirstRetry)
		return false
	}
	r.written.Written(r.cluster.GetUID(), desired)
	r.result.Created = append(r.result.Created, desired)
	return true
}

// headInTheWay reads the Pod that has the name of the head. It returns the cluster's own head if the cache did not show it, nil if
// that is being deleted, and an error for a Pod of another owner.
func (r *run) headInTheWay(ctx context.Context, desired *corev1.Pod) (*corev1.Pod, error) {
	found := &corev1.Pod{}
	switch err := r.live.Get(ctx, client.ObjectKeyFromObject(desired), found); {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return desired, err
	}
	if ref := metav1.GetControllerOf(found); ref != nil && ref.Kind == "RayCluster" && ref.Name == r.cluster.Name && ref.UID != r.cluster.UID {
		return nil, nil // of a deleted cluster of the same name; the garbage collector removes it soon
	}
	if !r.cluster.Owns(found) {
		return desired, fmt.Errorf("a Pod named %s exists and does not belong to this cluster; delete it", found.Name)
	}
	if found.DeletionTimestamp != nil {
		return nil, nil
	}
	return found, nil
}

// worker is one Pod to create.
type worker struct {
	group *Group
	place *pod.Replica
}

// workers creates the workers of all groups.
func (r *run) workers(ctx context.Context) {
	list := r.due()
	limit := maxRequests
	if r.work.Room != nil {
		limit = min(limit, max(0, *r.work.Room))
	}
	n := cut(list, limit)
	r.result.More = r.result.More || n < len(list)
	of := func(i int) attempt { return attempt{creating, list[i].group.Name} }
	r.batches(ctx, n, of, func(ctx context.Context, i int) error {
		p := list[i].group.Model.DeepCopy()
		if list[i].place != nil {
			list[i].place.Label(p)
		}
		if err := r.client.Create(ctx, p); err != nil {
			return err
		}
		r.written.Written(r.cluster.GetUID(), p)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.result.Created = append(r.result.Created, p)
		return nil
	})
	var last *Group
	for _, w := range list[:n] {
		if w.group == last {
			continue
		}
		last = w.group
		r.end(attempt{creating, last.Name}, func(err error) Failure {
			return Failure{
				Reason:  rayv1.ReasonFailedCreateWorkerPod,
				Message: fmt.Sprintf("creating workers of group %s: %s", last.Name, steady(err, last.Model.GenerateName)),
				Refusal: conditions.Refusal(err),
			}
		})
	}
}

// due returns the workers that may be created now, group by group.
func (r *run) due() []worker {
	var list []worker
	for i := range r.work.Groups {
		g := &r.work.Groups[i]
		if r.tooEarly(attempt{creating, g.Name}) {
			continue
		}
		for _, place := range g.Places {
			list = append(list, worker{group: g, place: place})
		}
	}
	return list
}

// cut returns how many workers of the list one run creates: about limit, plus the rest of the replica at the end, whose hosts
// would otherwise run alone.
func cut(list []worker, limit int) int {
	if limit == 0 {
		return 0
	}
	for n := limit; n < len(list); n++ {
		last, next := list[n-1], list[n]
		same := last.group == next.group && last.place != nil && next.place != nil && next.place.Name != "" && last.place.Name == next.place.Name
		if !same {
			return n
		}
	}
	return len(list)
}
