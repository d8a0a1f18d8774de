package raycluster

import (
	"context"
	"sync"
)

const (
	// firstBatch is how many requests are risked before any has succeeded. It covers the groups of a small cluster in one
	// go, and is what a quota that is used up costs per attempt.
	firstBatch = 8
	// maxParallel bounds the requests that one reconcile has in flight, all groups together, so that a large cluster
	// leaves room in the API server's queues for the others.
	maxParallel = 64
)

// slots bounds parallel requests.
type slots chan struct{}

func newSlots() slots { return make(slots, maxParallel) }

// slowStart calls do(0) to do(n-1) in parallel batches that double in size while all succeed, and stops after the first
// batch with an error: the rest would most likely meet the same refusal. It returns the errors by index.
func slowStart(ctx context.Context, limit slots, n int, do func(ctx context.Context, i int) error) map[int]error {
	failed := map[int]error{}
	var mu sync.Mutex
	for start, size := 0, firstBatch; start < n && len(failed) == 0 && ctx.Err() == nil; size = min(2*size, maxParallel) {
		end := min(start+size, n)
		var batch sync.WaitGroup
		for i := start; i < end; i++ {
			limit <- struct{}{}
			batch.Go(func() {
				defer func() { <-limit }()
				if err := do(ctx, i); err != nil {
					mu.Lock()
					failed[i] = err
					mu.Unlock()
				}
			})
		}
		batch.Wait()
		start = end
	}
	return failed
}
