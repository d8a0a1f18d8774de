package raycluster

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// firstBatch is how many requests are risked before any has succeeded. It covers the groups of a small cluster in one
// go, and is what a quota that is used up costs per attempt.
const firstBatch = 8

// slowStart calls do(0) to do(n-1) for the cluster in parallel batches that double in size while all succeed, and stops
// after the first batch with an error: the rest would most likely meet the same refusal. Before each further batch it asks
// goOn with the index of the first, and stops if that says no; nil always says yes. It returns the errors by index.
func slowStart(
	ctx context.Context, limit *fairSlots, cluster types.UID, n int, goOn func(ctx context.Context, next int) bool, do func(ctx context.Context, i int) error,
) map[int]error {
	failed := map[int]error{}
	var mu sync.Mutex
	fail := func(i int, err error) {
		mu.Lock()
		defer mu.Unlock()
		failed[i] = err
	}
	for start, size := 0, firstBatch; start < n && len(failed) == 0; size = min(2*size, maxParallel) {
		if start > 0 && goOn != nil && !goOn(ctx, start) {
			break
		}
		end := min(start+size, n)
		var batch sync.WaitGroup
		for i := start; i < end; i++ {
			if err := limit.acquire(ctx, cluster); err != nil {
				fail(i, err)
				break
			}
			batch.Go(func() {
				defer limit.release(cluster)
				if err := do(ctx, i); err != nil {
					fail(i, err)
				}
			})
		}
		batch.Wait()
		start = end
	}
	return failed
}
