package raycluster

import (
	"context"
	"fmt"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/test/raytest"
)

// queue serves one request at a time, in the order in which they come: an API server without any fairness of its own. Time
// is the number of requests served.
type queue struct {
	mu                sync.Mutex
	turned            *sync.Cond
	tickets, serving  int
	workersOfBig      int
	whenBigHasWorkers func()
}

func newQueue() *queue {
	q := &queue{}
	q.turned = sync.NewCond(&q.mu)
	return q
}

func (q *queue) create(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
	q.mu.Lock()
	ticket := q.tickets
	q.tickets++
	for q.serving != ticket {
		q.turned.Wait()
	}
	q.mu.Unlock()
	err := ctx.Err()
	if err == nil {
		err = c.Create(ctx, o, opts...)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.serving++
	q.turned.Broadcast()
	if o.GetLabels()[rayv1.LabelCluster] == "big" {
		if q.workersOfBig++; q.workersOfBig == 100 && q.whenBigHasWorkers != nil {
			q.whenBigHasWorkers()
		}
	}
	return err
}

func (q *queue) now() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.serving
}

// TestABigClusterDoesNotStarveSmallOnes lets 20 small clusters come while one makes 2,000 workers, and counts how many
// requests the API server has served until the last small one has all its Pods. What is measured elsewhere in seconds is
// counted here, so that the speed of the machine does not matter.
func TestABigClusterDoesNotStarveSmallOnes(t *testing.T) {
	const small = 20
	serve := func(big int32) int {
		q := newQueue()
		rc := raytest.RayCluster("ns/big", raytest.Workers("cpu", big))
		var others []client.Object
		for i := range small {
			others = append(others, raytest.RayCluster(fmt.Sprintf("ns/small-%d", i), raytest.Workers("cpu", 3)))
		}
		b := newBench(t, rc, interceptor.Funcs{Create: q.create}, others...)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		reconcile := func(o client.Object) {
			_, _ = b.reconciler.Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(o)})
		}
		var all sync.WaitGroup
		begin := make(chan struct{})
		if big > 0 {
			q.whenBigHasWorkers = func() { close(begin) }
			all.Go(func() { reconcile(rc) })
			<-begin
		}
		from := q.now()
		var smalls sync.WaitGroup
		for _, o := range others {
			smalls.Go(func() { reconcile(o) })
		}
		smalls.Wait()
		served := q.now() - from
		cancel()
		all.Wait()
		var list corev1.PodList
		if err := b.client.List(t.Context(), &list, client.MatchingLabels{rayv1.LabelNodeType: string(rayv1.WorkerNode)}); err != nil {
			t.Fatal(err)
		}
		ofSmall := 0
		for _, p := range list.Items {
			if p.Labels[rayv1.LabelCluster] != "big" {
				ofSmall++
			}
		}
		if ofSmall != 3*small {
			t.Fatalf("the small clusters have %d workers, want %d", ofSmall, 3*small)
		}
		return served
	}
	alone := serve(0)
	together := serve(2000)
	t.Logf("requests served until %d small clusters had their Pods: %d alone, %d next to the big one", small, alone, together)
	if together > 2*alone {
		t.Errorf("served %d requests until the small clusters had their Pods, and %d without the big one; want at most twice as many", together, alone)
	}
}
