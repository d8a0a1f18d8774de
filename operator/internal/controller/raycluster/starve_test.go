package raycluster

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/source"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/raytest"
	"github.com/raygate/raygate/internal/testing/suite"
	"github.com/raygate/raygate/operator/internal/owned"
)

// queue serves one request at a time, in the order in which they come: an API server without any fairness of its own. Time
// is the number of requests served.
type queue struct {
	mu                sync.Mutex
	turned            *sync.Cond
	tickets, serving  int
	workersOfBig      int
	whenBigHasWorkers func()
	created           func(client.Object) // called with the lock held
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
	if q.created != nil && err == nil {
		q.created(o)
	}
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

// TestABigClusterDoesNotStarveSmallOnes lets 20 small clusters come while one makes 2,000 workers, through the queue that the
// controller has, and counts how many requests the API server has served until the last small one has all its Pods. What is
// measured elsewhere in seconds is counted here, so that the speed of the machine does not matter.
func TestABigClusterDoesNotStarveSmallOnes(t *testing.T) {
	suite.All(t, "the bench scenario starve has it, too")
	const small = 20
	serve := func(big int32) int {
		q := newQueue()
		rc := raytest.RayCluster("ns/big", raytest.Workers("cpu", big))
		var others []client.Object
		for i := range small {
			others = append(others, raytest.RayCluster(fmt.Sprintf("ns/small-%d", i), raytest.Workers("cpu", 3)))
		}
		left := int32(3 * small)
		served := make(chan int, 1)
		q.created = func(o client.Object) {
			if o.GetLabels()[rayv1.LabelGroup] == "cpu" && o.GetLabels()[rayv1.LabelCluster] != "big" {
				if left--; left == 0 {
					served <- q.serving
				}
			}
		}
		b := newBench(t, rc, interceptor.Funcs{Create: q.create}, others...)
		ctx, cancel := context.WithCancel(t.Context())
		c, err := controller.NewUnmanaged("raycluster", controller.Options{Reconciler: b.reconciler, MaxConcurrentReconciles: 1, SkipNameValidation: new(true)})
		if err != nil {
			t.Fatal(err)
		}
		work := make(chan owned.Queue, 1)
		if err := c.Watch(source.Func(func(_ context.Context, queue owned.Queue) error {
			work <- queue
			return nil
		})); err != nil {
			t.Fatal(err)
		}
		var running sync.WaitGroup
		running.Go(func() {
			if err := c.Start(ctx); err != nil {
				t.Error(err)
			}
		})
		defer running.Wait()
		defer cancel()
		queue := <-work
		enqueue := func(o client.Object) { queue.Add(ctrl.Request{NamespacedName: client.ObjectKeyFromObject(o)}) }
		if big > 0 {
			begin := make(chan struct{})
			q.whenBigHasWorkers = func() { close(begin) }
			enqueue(rc)
			<-begin
		}
		from := q.now()
		for _, o := range others {
			enqueue(o)
		}
		select {
		case until := <-served:
			return until - from
		case <-time.After(time.Minute):
			t.Fatal("the small clusters have not got their Pods")
			return 0
		}
	}
	alone := serve(0)
	together := serve(2000)
	t.Logf("requests served until %d small clusters had their Pods: %d alone, %d next to the big one", small, alone, together)
	if together > 2*alone {
		t.Errorf("served %d requests until the small clusters had their Pods, and %d without the big one; want at most twice as many", together, alone)
	}
}
