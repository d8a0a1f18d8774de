package raycluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/raytest"
	"github.com/raygate/raygate/operator/internal/podexec"
	"github.com/raygate/raygate/operator/internal/reconcile"
)

// refusals refuses writes of Pods while it holds their group.
type refusals struct {
	mu    sync.Mutex
	of    map[string]bool
	tries map[string]int
}

func refusing(groups ...string) *refusals {
	r := &refusals{of: map[string]bool{}, tries: map[string]int{}}
	for _, g := range groups {
		r.of[g] = true
	}
	return r
}

func (r *refusals) try(o client.Object, group string) error {
	if _, ok := o.(*corev1.Pod); !ok {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tries[group]++
	if r.of[group] {
		return apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, o.GetName(), errors.New("policy says no"))
	}
	return nil
}

// creates makes it refuse creations.
func (r *refusals) creates() interceptor.Funcs {
	return interceptor.Funcs{Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
		if err := r.try(o, o.GetLabels()[rayv1.LabelGroup]); err != nil {
			return err
		}
		return c.Create(ctx, o, opts...)
	}}
}

// deletes makes it refuse deletions. A Pod's group is the part of its name before the dash.
func (r *refusals) deletes() interceptor.Funcs {
	return interceptor.Funcs{Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
		group, _, _ := strings.Cut(o.GetName(), "-")
		if err := r.try(o, group); err != nil {
			return err
		}
		return c.Delete(ctx, o, opts...)
	}}
}

func (b *bench) replicaFailure() metav1.Condition {
	if c := meta.FindStatusCondition(b.status().Conditions, rayv1.RayClusterReplicaFailure); c != nil {
		return *c
	}
	return metav1.Condition{}
}

// reasons are type and reason of each event since the last call.
func (b *bench) reasons() []string {
	var all []string
	for _, e := range b.events() {
		words := strings.Fields(e)
		all = append(all, words[0]+" "+words[1])
	}
	return all
}

func TestRefusalsAreReported(t *testing.T) {
	suspending := raytest.Condition(rayv1.RayClusterSuspending, metav1.ConditionTrue)
	cases := map[string]struct {
		cluster   []raytest.ClusterOption
		head      []raytest.PodOption // nil for no head
		worker    []raytest.PodOption // nil for no worker
		refuse    func(*refusals) interceptor.Funcs
		wantCause string // reason of the condition ReplicaFailure
		wantEvent string // besides those of what is not refused
	}{
		"creating the head": {refuse: (*refusals).creates, wantCause: "FailedCreateHeadPod", wantEvent: "FailedToCreateHeadPod"},
		"creating a worker": {
			head:   []raytest.PodOption{},
			refuse: (*refusals).creates, wantCause: "FailedCreateWorkerPod", wantEvent: "FailedToCreateWorkerPod",
		},
		"deleting a head that ended": {
			head: []raytest.PodOption{raytest.Phase(corev1.PodFailed)}, worker: []raytest.PodOption{},
			refuse: (*refusals).deletes, wantCause: "FailedDeleteHeadPod", wantEvent: "FailedToDeleteHeadPod",
		},
		"deleting a worker too many": {
			cluster: []raytest.ClusterOption{raytest.Workers("g", 0)},
			head:    []raytest.PodOption{}, worker: []raytest.PodOption{},
			refuse: (*refusals).deletes, wantCause: "FailedDeleteWorkerPod", wantEvent: "FailedToDeleteWorkerPod",
		},
		"deleting the workers of a suspended group": {
			cluster: []raytest.ClusterOption{raytest.Workers("g", 1, raytest.SuspendGroup())},
			head:    []raytest.PodOption{}, worker: []raytest.PodOption{},
			refuse: (*refusals).deletes, wantCause: "FailedDeleteWorkerPod", wantEvent: "FailedToDeleteWorkerPodCollection",
		},
		"deleting all Pods of a suspended cluster": {
			cluster: []raytest.ClusterOption{raytest.Suspend(true), suspending},
			head:    []raytest.PodOption{}, worker: []raytest.PodOption{},
			refuse: (*refusals).deletes, wantCause: "FailedDeleteAllPods", wantEvent: "FailedToDeletePodCollection",
		},
		"deleting all Pods of a changed spec": {
			cluster: []raytest.ClusterOption{raytest.Recreate()},
			head:    []raytest.PodOption{func(p *corev1.Pod) { annotated(p, "old", "v1") }}, worker: []raytest.PodOption{},
			refuse: (*refusals).deletes, wantCause: "FailedDeleteAllPods", wantEvent: "FailedToDeletePodCollection",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			rc := raytest.RayCluster("ns/demo", append([]raytest.ClusterOption{raytest.Workers("g", 1)}, tc.cluster...)...)
			if len(rc.Spec.WorkerGroupSpecs) > 1 {
				rc.Spec.WorkerGroupSpecs = rc.Spec.WorkerGroupSpecs[1:]
			}
			var objects []client.Object
			if tc.head != nil {
				objects = append(objects, raytest.HeadPod(rc, "headgroup-1", tc.head...))
			}
			if tc.worker != nil {
				objects = append(objects, raytest.WorkerPod(rc, "g", "g-1", tc.worker...))
			}
			b := newBench(t, rc, tc.refuse(refusing("headgroup", "g")), objects...)
			b.mustReconcile()
			c := b.replicaFailure()
			if c.Reason != tc.wantCause || !strings.Contains(c.Message, "policy says no") {
				t.Errorf("condition %+v, want the reason %s and the words of the server", c, tc.wantCause)
			}
			if diff := cmp.Diff([]string{"Warning " + tc.wantEvent}, b.reasons()); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
			if stalled := meta.FindStatusCondition(b.status().Conditions, rayv1.RayClusterStalled); stalled == nil || stalled.Reason != rayv1.ReasonRequestRefused {
				t.Errorf("condition Stalled %+v", stalled)
			}
			b.mustReconcile() // too early
			b.clock.Step(2 * reconcile.LastRetry)
			b.mustReconcile() // again in vain
			if got := b.reasons(); len(got) > 0 || b.replicaFailure().Message != c.Message {
				t.Errorf("reported again: %v, condition %+v", got, b.replicaFailure())
			}
		})
	}
}

// firstBatch is how many requests package podexec risks before any has succeeded.
const firstBatch = 8

func TestAGroupWhosePodsCannotBeDeletedKeepsNoOther(t *testing.T) {
	rc := raytest.RayCluster("ns/demo", raytest.Workers("bad", 0), raytest.Workers("good", 0))
	objects := []client.Object{raytest.HeadPod(rc, "h")}
	for i := range 3 * firstBatch {
		objects = append(objects, raytest.WorkerPod(rc, "bad", fmt.Sprintf("bad-%d", i)), raytest.WorkerPod(rc, "good", fmt.Sprintf("good-%d", i)))
	}
	r := refusing("bad")
	b := newBench(t, rc, r.deletes(), objects...)
	b.mustReconcile()
	if got, want := len(b.pods()), 1+3*firstBatch; got != want {
		t.Errorf("%d Pods, want %d: those of the other group gone", got, want)
	}
	// Rejected requests are retried at growing intervals.
	if got := r.tries["bad"]; got != firstBatch {
		t.Errorf("%d attempts, want no more than %d before one has succeeded", got, firstBatch)
	}
	for range 60 {
		b.clock.Step(podexec.FirstRetry)
		b.mustReconcile()
	}
	if got := r.tries["bad"] / firstBatch; got < 4 || got > 7 {
		t.Errorf("%d rounds of attempts in a minute", got)
	}
	r.of["bad"] = false
	b.clock.Step(reconcile.LastRetry)
	b.mustReconcile()
	if got := len(b.pods()); got != 1 || b.replicaFailure().Reason != "" {
		t.Errorf("%d Pods and condition %+v, want the head and none", got, b.replicaFailure())
	}
}

// TestRefusalsOutOfStep: of two groups that are refused and not tried at the same moments, both are reported all the time.
func TestRefusalsOutOfStep(t *testing.T) {
	r := refusing("a")
	b := newBench(t, raytest.RayCluster("ns/demo", raytest.Workers("a", 1), raytest.Workers("b", 1)), r.creates())
	b.mustReconcile()
	b.clock.Step(podexec.FirstRetry / 2)
	r.of["b"] = true
	for _, p := range b.pods() {
		if p.Labels[rayv1.LabelGroup] == "b" {
			if err := b.client.Delete(t.Context(), &p); err != nil {
				t.Fatal(err)
			}
			b.reconciler.executor.Gone(b.rc.UID, p.UID)
		}
	}
	b.mustReconcile()
	both := b.replicaFailure().Message
	if !strings.Contains(both, "group a") || !strings.Contains(both, "group b") {
		t.Fatalf("message %q, want one about both groups", both)
	}
	b.events()
	for range 100 {
		b.clock.Step(podexec.FirstRetry / 2)
		b.mustReconcile()
		if got := b.replicaFailure().Message; got != both {
			t.Fatalf("message %q, was %q", got, both)
		}
	}
	if got := b.events(); len(got) > 0 {
		t.Errorf("reported again: %q", got)
	}
	r.of["a"] = false
	b.clock.Step(reconcile.LastRetry)
	b.mustReconcile()
	if got := b.replicaFailure().Message; strings.Contains(got, "group a") || !strings.Contains(got, "group b") {
		t.Errorf("message %q, want one about group b alone", got)
	}
}
