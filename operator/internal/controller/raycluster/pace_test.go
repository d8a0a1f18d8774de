package raycluster

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	rayv1 "github.com/raygate/raygate/operator/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/pod"
	"github.com/raygate/raygate/test/envtest"
	"github.com/raygate/raygate/test/raytest"
)

// slowly lets every create take as long as step says on the clock of the bench.
func slowly(b **bench, step time.Duration) interceptor.Funcs {
	return interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			(*b).clock.Step(step)
			if p, ok := o.(*corev1.Pod); ok {
				p.Spec.NodeName = "node"
			}
			return c.Create(ctx, o, opts...)
		},
	}
}

func TestALongRunLooksAtTheClusterAgain(t *testing.T) {
	rc := raytest.RayCluster("ns/demo", raytest.Workers("cpu", 100))
	var b *bench
	b = newBench(t, rc, slowly(&b, turn/20))
	result := b.mustReconcile()
	// A head, a batch of 8, and one of 16, after which the turn is over.
	if got := len(b.pods()); got != 1+8+16 {
		t.Errorf("%d Pods after the first turn, want 25", got)
	}
	if result.RequeueAfter == 0 || result.RequeueAfter > 2*cacheLag {
		t.Errorf("looks again after %s, want at once", result.RequeueAfter)
	}
	b.mustReconcile()
	if got := b.status().DesiredWorkerReplicas; got != 100 {
		t.Errorf("the status says that %d workers are desired, want 100", got)
	}
	changed := &rayv1.RayCluster{}
	if err := b.client.Get(t.Context(), key(rc), changed); err != nil {
		t.Fatal(err)
	}
	changed.Spec.WorkerGroupSpecs[0].Replicas = new(int32(60))
	if err := b.client.Update(t.Context(), changed); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		b.mustReconcile()
	}
	if got := len(b.pods()); got != 1+60 {
		t.Errorf("%d Pods after the size was changed in between, want 61", got)
	}
}

// A turn that ended within a replica would look as if some of its hosts had been lost.
func TestATurnEndsBetweenReplicas(t *testing.T) {
	rc := raytest.RayCluster("ns/demo", raytest.Workers("tpu", 30, raytest.Hosts(3)))
	var b *bench
	b = newBench(t, rc, slowly(&b, turn))
	for range 5 {
		b.mustReconcile()
		hosts := map[string]int{}
		for _, p := range b.pods() {
			if name := p.Labels[rayv1.LabelWorkerGroupReplicaName]; name != "" {
				hosts[name]++
			}
		}
		for name, n := range hosts {
			if n != 3 {
				t.Errorf("replica %s has %d hosts after a turn, want 3", name, n)
			}
		}
	}
	if got := len(b.pods()); got != 1+30*3 {
		t.Errorf("%d Pods, want 91", got)
	}
}

func TestPaceKeepsBehindTheScheduler(t *testing.T) {
	c := fake.NewClientBuilder().WithScheme(envtest.Scheme(t)).Build()
	p := &pace{cache: c, clock: clocktesting.NewFakeClock(time.Unix(0, 0)), begun: time.Unix(0, 0), places: make([]*pod.Replica, 1000)}
	worker := func(i int) *corev1.Pod {
		w := &corev1.Pod{}
		w.Namespace, w.Name = "ns", fmt.Sprint("w", i)
		return w
	}
	for i := range maxUnplaced + 2 {
		if err := c.Create(t.Context(), worker(i)); err != nil {
			t.Fatal(err)
		}
		p.created(worker(i))
	}
	went := make(chan bool)
	go func() { went <- p.goOn(t.Context(), 1) }()
	select {
	case <-went:
		t.Fatal("goes on while too many Pods wait for the scheduler")
	case <-time.After(3 * placingStep):
	}
	placed, refused := worker(0), worker(1)
	placed.Spec.NodeName = "node"
	refused.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse}}
	if err := errors.Join(c.Update(t.Context(), placed), c.Status().Update(t.Context(), refused)); err != nil {
		t.Fatal(err)
	}
	if !<-went || p.gang || len(p.unplaced) != maxUnplaced {
		t.Errorf("with two Pods looked at %d are waited for, given up %t", len(p.unplaced), p.gang)
	}
}

// A scheduler of gangs waits for all Pods: waiting for it would be waiting for ever.
func TestPaceGivesUpOnASchedulerThatWaitsForAll(t *testing.T) {
	c := fake.NewClientBuilder().WithScheme(envtest.Scheme(t)).Build()
	p := &pace{cache: c, clock: clocktesting.NewFakeClock(time.Unix(0, 0)), begun: time.Unix(0, 0), places: make([]*pod.Replica, 1000)}
	for i := range maxUnplaced + 1 {
		p.created(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: fmt.Sprint("w", i)}})
	}
	if !p.goOn(t.Context(), 1) || !p.gang {
		t.Errorf("given up: %t, want that it goes on and waits no more", p.gang)
	}
}
