package podexec

import (
	"context"

	"golang.org/x/sync/errgroup"
)

const (
	// firstBatch is the number of requests before any has succeeded. It covers the Pods of a small cluster at once, and limits the
	// failed requests per attempt under an exhausted quota.
	firstBatch = 8
	// maxBatch limits the requests in flight of a run. It is enough for an API server with slow admission webhooks.
	maxBatch = 32
	// maxRequests limits the requests of a run to three batches. A longer run would delay other clusters.
	maxRequests = firstBatch + 2*firstBatch + maxBatch
)

// batches calls do for the items 0 to n-1 in parallel batches. The size doubles while all requests succeed and is reset after a
// failure. It skips items for which skip returns true, which is checked between batches. It ends early when over returns true.
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
