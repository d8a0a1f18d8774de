package raycluster

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	rayv1 "github.com/raygate/raygate/operator/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/pod"
	"github.com/raygate/raygate/operator/internal/podplan"
)

// pods carries out the plan for the Pods. What it is refused for one group does not keep it from the others.
type pods struct {
	client       client.Client
	live         client.Reader
	clock        clock.PassiveClock
	expectations *expectations
	retries      *flowcontrol.Backoff

	options        pod.Options
	replicaIndices bool
	shrink         bool
}

// podsOutcome is what one run did, for events and conditions.
type podsOutcome struct {
	createdHead, deletedHead string
	groups                   []groupOutcome // in order of the spec, groups no longer in it last
	deleteReasons            []string       // sorted, without repeats
	suspending               bool
	failures                 []failure
	written                  []*corev1.Pod // created Pods as the server has them
	lookAgain                time.Duration
	retrying                 bool
}

type groupOutcome struct {
	name             string
	created, deleted []string
}

// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch;create;delete

// Run implements step.
func (p *pods) Run(ctx context.Context, s *scope) (outcome, error) {
	plan := podplan.For(podplan.Input{Cluster: s.cluster, Pods: s.pods, ShrinkWithAutoscaler: p.shrink})
	if plan.Empty() {
		return outcome{}, nil
	}
	r := &podsRun{pods: p, s: s, limit: newSlots()}
	r.o.suspending = len(plan.Delete) > 0 && plan.Delete[0].Reason == podplan.ReasonSuspended
	r.delete(ctx, plan.Delete) // first, so that what a quota gives back can be used below
	if r.head(ctx, plan.CreateHead) {
		r.workers(ctx, plan.CreateWorkers)
	}
	o := r.o
	s.pods = append(slices.Clone(s.pods), o.written...)
	s.failure = joinFailures(o.failures)
	s.retrying = o.retrying
	s.events = append(s.events, eventsForPods(o)...)
	if len(o.written)+len(plan.Delete)+len(o.failures) > 0 {
		ctrllog.FromContext(ctx).Info("Changed Pods", "created", len(o.written), "deleted", len(plan.Delete), "refused", len(o.failures))
	}
	return outcome{lookAgain: o.lookAgain}, nil
}

// podsRun is one run of the step. Its outcome is shared by parallel requests.
type podsRun struct {
	*pods
	s     *scope
	limit slots

	mu sync.Mutex
	o  podsOutcome
}

// delete deletes Pods of the plan, which are all controlled by this cluster. The UID goes along, so that a Pod that took
// the name in the meantime is safe.
func (r *podsRun) delete(ctx context.Context, list []podplan.Deletion) {
	rc := r.s.cluster
	failed := slowStart(ctx, r.limit, len(list), func(ctx context.Context, i int) error {
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
		reason := rayv1.ReasonFailedDeleteWorkerPod
		switch {
		case r.o.suspending:
			reason = rayv1.ReasonFailedDeleteAllPods
		case list[i].Group == rayv1.HeadGroupName:
			reason = rayv1.ReasonFailedDeleteHeadPod
		}
		r.fail(failure{reason: reason, message: fmt.Sprintf("deleting Pod %s: %v", list[i].Pod.Name, err)})
	}
	if len(failed) > 0 {
		r.again(firstRetry)
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
	if d.Reason == podplan.ReasonUnhealthy {
		// What ends as soon as it starts is not to be replaced in a tight loop.
		r.retries.Next(r.endedID(d.Group), r.clock.Now())
	}
}

// head creates the head Pod if the plan says so, and reports whether workers make sense: if there is no head and none can
// be had, workers would only use up what the head needs.
func (r *podsRun) head(ctx context.Context, create bool) bool {
	if !create {
		return true
	}
	if r.mustWait(rayv1.HeadGroupName) {
		return false
	}
	rc := r.s.cluster
	desired := pod.Head(rc, r.options)
	nameHead(desired, rc)
	err := r.client.Create(ctx, desired)
	if apierrors.IsAlreadyExists(err) {
		desired, err = r.headInTheWay(ctx, desired)
		if desired == nil && err == nil {
			r.again(firstRetry)
			return false
		}
	}
	if err != nil {
		r.refused(rayv1.HeadGroupName)
		r.fail(failure{reason: rayv1.ReasonFailedCreateHeadPod, message: fmt.Sprintf("creating the head Pod: %v", err)})
		return false
	}
	r.retries.DeleteEntry(r.refusedID(rayv1.HeadGroupName))
	r.expectations.podCreated(rc.UID, desired)
	r.o.createdHead = desired.Name
	r.o.written = append(r.o.written, desired)
	return true
}

// headInTheWay looks at the Pod that has the name of the head. It returns our own head that the cache did not show, or
// nothing if that is on its way out; another owner's Pod is an error.
func (r *podsRun) headInTheWay(ctx context.Context, desired *corev1.Pod) (*corev1.Pod, error) {
	found := &corev1.Pod{}
	if err := r.live.Get(ctx, client.ObjectKeyFromObject(desired), found); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	if !podplan.Owned(r.s.cluster, found) {
		return nil, fmt.Errorf("a Pod named %s exists and does not belong to this cluster; delete it", found.Name)
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
		if r.mustWait(g.GroupName) {
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
	model := pod.Worker(rc, g, r.options) // built once: building is dearer than copying
	failed := slowStart(ctx, r.limit, c.Count, func(ctx context.Context, i int) error {
		worker := model.DeepCopy()
		if r.replicaIndices && i < len(c.ReplicaIndices) {
			pod.Replica{Index: c.ReplicaIndices[i]}.Label(worker)
		}
		if err := r.client.Create(ctx, worker); err != nil {
			return err
		}
		r.expectations.podCreated(rc.UID, worker)
		r.mu.Lock()
		defer r.mu.Unlock()
		o := r.group(g.GroupName)
		o.created = append(o.created, worker.Name)
		r.o.written = append(r.o.written, worker)
		return nil
	})
	if len(failed) == 0 {
		r.retries.DeleteEntry(r.refusedID(g.GroupName))
		return
	}
	for _, err := range failed {
		message := fmt.Sprintf("creating workers of group %s: %s", g.GroupName, steady(err, model.GenerateName))
		r.fail(failure{reason: rayv1.ReasonFailedCreateWorkerPod, message: message})
	}
	r.refused(g.GroupName)
}

// group returns the outcome of a group; the caller holds the lock.
func (r *podsRun) group(name string) *groupOutcome {
	for i := range r.o.groups {
		if r.o.groups[i].name == name {
			return &r.o.groups[i]
		}
	}
	r.o.groups = append(r.o.groups, groupOutcome{name: name})
	return &r.o.groups[len(r.o.groups)-1]
}

func (r *podsRun) fail(f failure) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.o.failures = append(r.o.failures, f)
}

func (r *podsRun) again(after time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.o.lookAgain = soonest(r.o.lookAgain, after)
}

// endedID and refusedID name the two reasons to wait before creating Pods of a group. A changed spec is tried at once.
func (r *podsRun) endedID(group string) string {
	return fmt.Sprintf("%s/ended/%s", r.s.cluster.UID, group)
}

func (r *podsRun) refusedID(group string) string {
	return fmt.Sprintf("%s/refused/%d/%s", r.s.cluster.UID, r.s.cluster.Generation, group)
}

// refused notes that a create was refused and asks for another try later.
func (r *podsRun) refused(group string) {
	id := r.refusedID(group)
	r.retries.Next(id, r.clock.Now())
	r.again(r.retries.Get(id))
}

// mustWait reports whether it is too early to create Pods of the group, and sees to it that the time is not missed.
func (r *podsRun) mustWait(group string) bool {
	now := r.clock.Now()
	wait := false
	for _, id := range []string{r.endedID(group), r.refusedID(group)} {
		if r.retries.IsInBackOffSinceUpdate(id, now) {
			r.again(r.retries.Get(id))
			wait = true
			r.mu.Lock()
			r.o.retrying = r.o.retrying || id == r.refusedID(group)
			r.mu.Unlock()
		}
	}
	return wait
}
