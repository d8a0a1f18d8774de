package podexec

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/backoff"
	"github.com/raygate/raygate/operator/internal/podplan"
	"github.com/raygate/raygate/operator/internal/reconcile"
)

// Run does the work, up to the limit of one run. A failure in one group does not affect the others.
func (x *Executor) Run(ctx context.Context, w Work) Result {
	r := &run{Executor: x, cluster: w.Cluster, work: w, failed: map[attempt][]error{}}
	r.settle()
	r.delete(ctx) // first, so that the quota it frees can be used below
	if !w.Hold && r.head(ctx) {
		r.workers(ctx)
	}
	return r.result
}

// run is one call of Run. mu guards the fields that parallel requests write.
type run struct {
	*Executor
	cluster *rayv1.RayCluster
	work    Work

	mu     sync.Mutex
	result Result
	failed map[attempt][]error // of this run
}

// delete deletes Pods.
func (r *run) delete(ctx context.Context) {
	list := slices.DeleteFunc(slices.Clone(r.work.Delete), func(d podplan.Deletion) bool { return r.tooEarly(attempt{deleting, d.Group}) })
	if len(list) == 0 {
		return
	}
	first := r.work.Delete[0]
	r.result.DeletedAll = first.Reason == podplan.ReasonSuspended || first.Reason == podplan.ReasonRecreate && first.Group == rayv1.HeadGroupName
	n := min(len(list), maxRequests)
	r.result.More = n < len(list)
	of := func(i int) attempt { return attempt{deleting, list[i].Group} }
	r.batches(ctx, n, of, func(ctx context.Context, i int) error {
		victim := list[i].Pod
		err := r.remove(ctx, list[i])
		if held(err) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.result.Held = true
			r.again(HeldRetry)
			return nil
		}
		// On a conflict the Pod with this UID is gone.
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return fmt.Errorf("deleting Pod %s: %w", victim.Name, err)
		}
		r.written.Deleted(r.cluster.GetUID(), victim.UID)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.result.Deleted = append(r.result.Deleted, list[i])
		return nil
	})
	for i, d := range list[:n] {
		group := func(other podplan.Deletion) bool { return other.Group == d.Group }
		if slices.ContainsFunc(list[:i], group) {
			continue
		}
		r.end(of(i), func(err error) Failure { return r.deleteFailure(d, err) })
		if slices.ContainsFunc(list[:n], func(d podplan.Deletion) bool { return group(d) && d.Reason == podplan.ReasonUnhealthy }) {
			// Back off when Pods fail immediately after they start. Several Pods of a group that fail at once count as one failure.
			r.ended.Failed(attempt{creating, d.Group}.key(r.cluster), 0, struct{}{})
		}
	}
}

// remove deletes or evicts a Pod. The UID precondition protects a newer Pod of the same name.
func (r *run) remove(ctx context.Context, d podplan.Deletion) error {
	if r.work.Evict && d.Reason == podplan.ReasonRollingUpdate {
		return r.evict(ctx, d.Pod)
	}
	target := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: d.Pod.Namespace, Name: d.Pod.Name}}
	return r.client.Delete(ctx, target, client.Preconditions{UID: &d.Pod.UID})
}

// end records the result of an attempt and reports whether all its requests succeeded. Unreachable errors are left to the work
// queue, which retries.
func (r *run) end(a attempt, describe func(error) Failure) bool {
	errs, ok := r.failed[a]
	switch {
	case ok:
	case r.result.Err != nil && a.operation == creating: // some requests may not have been made
		r.refused.Unknown(a.key(r.cluster), r.cluster.Generation)
		return false
	default:
		r.refused.Succeeded(a.key(r.cluster))
		return true
	}
	var failures []Failure
	for _, err := range errs {
		if !unreachable(err) {
			failures = append(failures, describe(err))
		}
	}
	if len(failures) == 0 {
		r.result.Earlier = append(r.result.Earlier, r.last(a)...) // the API server gave no newer answer
		r.refused.Unknown(a.key(r.cluster), r.cluster.Generation)
		return false
	}
	r.again(r.refused.Failed(a.key(r.cluster), r.cluster.Generation, failures))
	r.result.Failures = append(r.result.Failures, failures...)
	return false
}

// tooEarly reports whether the attempt has to wait for its back-off, and schedules a run after it.
func (r *run) tooEarly(a attempt) bool {
	wait := r.refused.Wait(a.key(r.cluster), r.cluster.GetGeneration())
	if a.operation == creating {
		wait = max(wait, r.ended.Wait(a.key(r.cluster), 0))
	}
	if wait == 0 {
		return false
	}
	r.again(wait)
	for _, f := range r.last(a) {
		if !slices.Contains(r.result.Earlier, f) {
			r.result.Earlier = append(r.result.Earlier, f)
		}
	}
	return true
}

func (r *run) again(after time.Duration) { r.result.After = reconcile.Sooner(r.result.After, after) }

// attempt is an operation on the Pods of a group.
type attempt struct{ operation, group string }

const (
	creating = "create"
	deleting = "delete"
)

func (a attempt) key(cluster metav1.Object) backoff.Key {
	return backoff.Key{Owner: cluster.GetUID(), Attempt: a.operation + "/" + a.group}
}

// last returns the failures of the last attempt for this generation of the cluster.
func (r *run) last(a attempt) []Failure {
	failures, _ := r.refused.Last(a.key(r.cluster), r.cluster.Generation)
	return failures
}

// settle clears failed creations of groups that lack no Pods: a request that timed out may have succeeded.
func (r *run) settle() {
	lacking := map[string]bool{rayv1.HeadGroupName: r.work.Head != nil}
	for _, g := range r.work.Groups {
		lacking[g.Name] = true
	}
	for name := range r.refused.Attempts(r.cluster.UID) {
		if group, create := strings.CutPrefix(name, creating+"/"); create && !lacking[group] {
			r.refused.Succeeded(attempt{creating, group}.key(r.cluster))
		}
	}
}
