package raycluster

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/pod"
	"github.com/raygate/raygate/operator/internal/podplan"
)

// pods carries out the plan for the Pods. What it is refused for one group does not keep it from the others.
type pods struct {
	client       client.Client
	live         client.Reader
	clock        clock.PassiveClock
	expectations *expectations
	memory       *memory
	retries      *retries
	slots        *fairSlots
	gangs        *gangs
	random       func() string

	options  pod.Options
	replicas bool
	shrink   bool
}

// podsOutcome is what one run did, for events and conditions.
type podsOutcome struct {
	createdHead, deletedHead string
	madeService              string         // head Service made along with the head
	groups                   []groupOutcome // in order of the spec, groups no longer in it last
	deleted                  int            // Pods
	deleteReasons            []string       // sorted, without repeats
	allDeleted               bool           // the plan was to delete all Pods
	failures                 []failure
	waiting                  []failure     // of earlier runs, which it is too early to try again
	written                  []*corev1.Pod // created Pods as the server has them
	lookAgain                time.Duration
	unreachable              error // the API server did not answer, or has too much to do
}

type groupOutcome struct {
	name             string
	created, deleted []string
}

// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch;create;delete;patch

// Run implements step.
func (p *pods) Run(ctx context.Context, s *scope) (outcome, error) {
	plan := podplan.For(p.input(s))
	s.headRestartDisabled = plan.HeadRestartDisabled
	if plan.AwaitSuspending {
		return outcome{lookAgain: cacheLag}, nil // the status is saved right after the steps
	}
	if plan.Empty() {
		return outcome{}, nil
	}
	r := &podsRun{pods: p, s: s, pace: newPace(p.client, p.clock, s)}
	r.adopt(ctx, plan.AdoptHead)
	r.delete(ctx, plan.Delete) // first, so that what a quota gives back can be used below
	if creates(plan) && len(s.holds) == 0 && r.head(ctx, plan.CreateHead) {
		r.workers(ctx, plan.CreateWorkers)
	}
	o := r.o
	s.pods = append(slices.Clone(s.pods), o.written...)
	s.failures = append(s.failures, slices.Concat(o.failures, o.waiting)...)
	if o.createdHead != "" {
		o.madeService, s.madeService = s.madeService, "" // one event is enough for a new cluster
	}
	s.events = append(s.events, eventsForPods(o)...)
	if len(o.written)+o.deleted+len(o.failures) > 0 {
		ctrllog.FromContext(ctx).Info("Changed Pods", "created", len(o.written), "deleted", o.deleted, "refused", len(o.failures))
	}
	return outcome{lookAgain: o.lookAgain}, o.unreachable
}

func (p *pods) input(s *scope) podplan.Input {
	in := podplan.Input{
		Cluster:              s.cluster,
		Pods:                 s.pods,
		ShrinkWithAutoscaler: p.shrink,
		Replicas:             p.replicas,
		Refused:              func(group string) bool { return p.retries.refusedLately(s.cluster, group) },
		Version:              p.options.OperatorVersion,
	}
	if podplan.Recreates(s.cluster) {
		in.Hash = pod.SpecHash(&s.cluster.Spec) // not for nothing: it encodes the whole spec
	}
	return in
}

func creates(plan podplan.Plan) bool { return plan.CreateHead || len(plan.CreateWorkers) > 0 }

// podsRun is one run of the step. Its outcome is shared by parallel requests.
type podsRun struct {
	*pods
	s    *scope
	pace *pace

	mu sync.Mutex
	o  podsOutcome
}

// adopt puts our hash in the place of that of another version of the operator, so that later changes of the spec are
// noticed. Cached Pods are not complete, so this is a patch.
func (r *podsRun) adopt(ctx context.Context, head *corev1.Pod) {
	if head == nil || r.memory.adopted(r.s.cluster) == head.UID {
		return // the cache does not show it yet
	}
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": head.UID, // a head that took the name in the meantime is refused
		"annotations": map[string]string{
			rayv1.AnnotationUpgradeStrategyRecreateHash: pod.SpecHash(&r.s.cluster.Spec),
			rayv1.AnnotationKubeRayVersion:              r.options.OperatorVersion,
		},
	}})
	if err == nil {
		err = r.client.Patch(ctx, &corev1.Pod{ObjectMeta: objectKey(head)}, client.RawPatch(types.MergePatchType, body))
	}
	if err != nil {
		// Nothing but the next change of the spec depends on it.
		ctrllog.FromContext(ctx).Error(err, "Adopting the head Pod of another operator version", "pod", head.Name)
		r.again(lastRetry)
		return
	}
	r.memory.update(r.s.cluster, func(m *remembered) { m.adopted = head.UID })
	r.s.events = append(r.s.events, eventAdopted(r.s.cluster, head.Name, r.s.cluster.Status.ObservedGeneration))
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

// settle notes how an attempt ended of which so many requests failed, some of them because they were refused.
func (r *podsRun) settle(a act, group string, failed int, refusals []failure) {
	switch {
	case len(refusals) > 0:
		r.refused(a, group, refusals...)
	case failed > 0:
		r.notOver(a, group) // nobody was there to say otherwise
	default:
		r.retries.accepted(r.s.cluster, a, group)
	}
}

// failUnreachable notes an error that says nothing about the request. The work queue tries again. One of them stands for
// all: they differ in nothing but the port of the connection.
func (r *podsRun) failUnreachable(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.o.unreachable == nil {
		r.o.unreachable = err
	}
}

// mustWait reports whether it is too early to create or delete Pods of the group, and sees to it that the time is not missed.
func (r *podsRun) mustWait(a act, group string) bool {
	wait := r.retries.wait(r.s.cluster, a, group)
	if wait == 0 {
		return false
	}
	r.again(wait)
	r.notOver(a, group)
	return true
}

// notOver keeps what the API server last refused in the status.
func (r *podsRun) notOver(a act, group string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.o.waiting = append(r.o.waiting, r.retries.answer(r.s.cluster, a, group)...)
}

// refused notes what the API server refused, and asks for another try later.
func (r *podsRun) refused(a act, group string, failures ...failure) {
	r.again(r.retries.refused(r.s.cluster, a, group, failures))
	r.mu.Lock()
	defer r.mu.Unlock()
	r.o.failures = append(r.o.failures, failures...)
}

func (r *podsRun) again(after time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.o.lookAgain = soonest(r.o.lookAgain, after)
}
