package podexec

import (
	"context"

	"golang.org/x/sync/errgroup"
)

const (
	// firstBatch is how many requests are risked before any has succeeded. It covers the Pods of a small cluster in one go, and is
	// what a quota that is used up costs per attempt.
	firstBatch = 8
	// maxBatch bounds the requests that a run has in flight. It keeps an API server busy whose admission webhooks take their time.
	maxBatch = 32
	// maxRequests bounds those of a run: three batches. The requests of a run that takes longer hold up other clusters.
	maxRequests = firstBatch + 2*firstBatch + maxBatch
)

// batches calls do for the items from 0 to n-1, in parallel batches that double in size while all succeed and begin anew after one
// that did not. Items for which skip holds, asked between batches, are left out. It ends early when over holds.
func batches(ctx context.Context, n int, skip func(i int) bool, over func() bool, do func(ctx context.Context, i int) error) {
	size := firstBatch
	for next := 0; next < n && !over(); {
		var batch []int
		for ; next < n && len(batch) < size; next++ {
			if !skip(next) {
				batch = append(batch, next)
			}
		}
		var all errgroup.Group
		for _, i := range batch {
			all.Go(func() error { return do(ctx, i) })
		}
		if all.Wait() == nil {
			size = min(2*size, maxBatch)
		} else {
			size = firstBatch
		}
	}
}
