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

	rayv1 "github.com/raygate/raygate/api/ray/v1"
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
	b = newBench(t, rc, slowly(&b, longestRun/20))
	result := b.mustReconcile()
	if got := len(b.pods()); got < 20 || got > 60 { // those in flight are not given up
		t.Errorf("%d Pods after the first run, want some 20", got)
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
	for range 10 {
		b.mustReconcile()
	}
	if got := len(b.pods()); got != 1+60 {
		t.Errorf("%d Pods after the size was changed in between, want 61", got)
	}
}

// A run that ended within a replica would look as if some of its hosts had been lost.
func TestALongRunEndsBetweenReplicas(t *testing.T) {
	for _, hosts := range []int32{3, 16} { // neither fits into the batches in which Pods are created
		t.Run(fmt.Sprint(hosts, " hosts"), func(t *testing.T) {
			const replicas = 10
			rc := raytest.RayCluster("ns/demo", raytest.Workers("tpu", replicas, raytest.Hosts(hosts)))
			var b *bench
			b = newBench(t, rc, slowly(&b, longestRun))
			want := 1 + replicas*int(hosts)
			runs := 0
			for ; len(b.pods()) < want && runs <= replicas; runs++ {
				b.mustReconcile()
				found := map[string]int{}
				for _, p := range b.pods() {
					if p.Labels[rayv1.LabelNodeType] == string(rayv1.WorkerNode) {
						found[p.Labels[rayv1.LabelWorkerGroupReplicaName]]++
					}
				}
				for name, n := range found {
					if n != int(hosts) {
						t.Errorf("replica %s has %d hosts after a run, want %d", name, n, hosts)
					}
				}
			}
			if got := len(b.pods()); got != want || runs < 2 {
				t.Errorf("%d Pods after %d runs, want %d after at least two", got, runs, want)
			}
		})
	}
}

func TestPaceKeepsBehindTheScheduler(t *testing.T) {
	c := fake.NewClientBuilder().WithScheme(envtest.Scheme(t)).Build()
	s := &scope{cluster: raytest.RayCluster("ns/demo")}
	for i := range maxUnplaced + 2 {
		w := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: fmt.Sprint("w", i)}}
		if err := c.Create(t.Context(), w); err != nil {
			t.Fatal(err)
		}
		s.pods = append(s.pods, w)
	}
	p := newPace(c, clocktesting.NewFakeClock(time.Unix(0, 0)), s)
	p.placing = time.Minute
	waited := make(chan struct{})
	go func() { p.wait(t.Context(), false); close(waited) }()
	select {
	case <-waited:
		t.Fatal("goes on while too many Pods wait for the scheduler")
	case <-time.After(3 * placingStep):
	}
	bound, refused := s.pods[0], s.pods[1]
	bound.Spec.NodeName = "node"
	refused.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse}}
	if err := errors.Join(c.Update(t.Context(), bound), c.Status().Update(t.Context(), refused)); err != nil {
		t.Fatal(err)
	}
	<-waited
	if len(p.unplaced) != maxUnplaced {
		t.Errorf("%d Pods are waited for after two were looked at, want %d", len(p.unplaced), maxUnplaced)
	}
}

func TestPaceWaitsLongerWhileTheClusterMakesRoom(t *testing.T) {
	p := newPace(fake.NewClientBuilder().WithScheme(envtest.Scheme(t)).Build(), clocktesting.NewFakeClock(time.Unix(0, 0)), &scope{})
	p.placing = time.Hour
	for i := range fewUnplaced + 1 {
		p.created(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: fmt.Sprint("w", i)}})
	}
	p.wait(t.Context(), false) // would last the hour
	ctx, cancel := context.WithTimeout(t.Context(), 3*placingStep)
	defer cancel()
	p.wait(ctx, true)
	if ctx.Err() == nil {
		t.Error("goes on while Pods wait for the scheduler and small clusters for room")
	}
}

func TestPaceDoesNotWaitForEver(t *testing.T) {
	p := newPace(fake.NewClientBuilder().WithScheme(envtest.Scheme(t)).Build(), clocktesting.NewFakeClock(time.Unix(0, 0)), &scope{})
	p.placing = placingStep
	for i := range maxUnplaced + 1 {
		p.created(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: fmt.Sprint("w", i)}})
	}
	p.wait(t.Context(), false)
	if len(p.unplaced) != maxUnplaced+1 {
		t.Errorf("%d Pods are waited for, want all of %d", len(p.unplaced), maxUnplaced+1)
	}
}

func TestARunEndsWhenTheClusterChanges(t *testing.T) {
	rc := raytest.RayCluster("ns/demo")
	c := fake.NewClientBuilder().WithScheme(envtest.Scheme(t)).WithObjects(rc).Build()
	p := newPace(c, clocktesting.NewFakeClock(time.Unix(0, 0)), &scope{cluster: rc.DeepCopy()})
	if p.over(t.Context()) {
		t.Error("over although nothing has changed")
	}
	rc.Generation++
	if err := c.Update(t.Context(), rc); err != nil {
		t.Fatal(err)
	}
	if !p.over(t.Context()) {
		t.Error("goes on although the spec has changed")
	}
	if err := c.Delete(t.Context(), rc); err != nil {
		t.Fatal(err)
	}
	if !p.over(t.Context()) {
		t.Error("goes on although the cluster is gone")
	}
}
