package raycluster

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// firstBatch is how many requests are risked before any has succeeded. It covers the groups of a small cluster in one
// go, and is what a quota that is used up costs per attempt.
const firstBatch = 8

// burst is a number of requests of a cluster, made in parallel batches that double in size while all succeed.
type burst struct {
	limit   *fairSlots
	cluster types.UID
	n       int
	// wait is called before each batch but the first, and while the cluster makes room for small ones before each request but
	// the first; nil waits for nothing.
	wait func(ctx context.Context, makesRoom bool)
	// ends reports whether the burst ends before the i-th request, which is not the first; nil is never.
	ends func(ctx context.Context, i int) bool
}

// run calls do(0) to do(n-1). It stops after the first batch with an error: the rest would most likely meet the same refusal.
// It returns how many were done, and the errors by index.
func (b burst) run(ctx context.Context, do func(ctx context.Context, i int) error) (done int, failed map[int]error) {
	failed = map[int]error{}
	var mu sync.Mutex
	fail := func(i int, err error) {
		mu.Lock()
		defer mu.Unlock()
		failed[i] = err
	}
	n := b.n
	for size := firstBatch; done < n && len(failed) == 0; size = min(2*size, maxParallel) {
		begin, end := done, min(done+size, n)
		var batch sync.WaitGroup
		for ; done < end; done++ {
			if done > 0 && b.ends != nil && b.ends(ctx, done) {
				n = done
				break
			}
			if done > 0 && b.wait != nil {
				if makesRoom := b.limit.makesRoom(b.cluster); makesRoom || done == begin {
					b.wait(ctx, makesRoom)
				}
			}
			if err := b.limit.acquire(ctx, b.cluster); err != nil {
				fail(done, err)
				break
			}
			i := done
			batch.Go(func() {
				defer b.limit.release(b.cluster)
				if err := do(ctx, i); err != nil {
					fail(i, err)
				}
			})
		}
		batch.Wait()
	}
	return done, failed
}
