package podexec

import (
	"context"
	"sync"
)

const (
	// FirstBatch is how many requests are risked before any has succeeded. It covers the Pods of a small cluster in one go, and is
	// what a quota that is used up costs per attempt.
	FirstBatch = 8
	// maxBatch bounds the requests that a run has in flight. It keeps an API server busy whose admission webhooks take their time.
	maxBatch = 32
	// maxRequests bounds those of a run: three batches. The requests of a run that takes longer hold up other clusters.
	maxRequests = FirstBatch + 2*FirstBatch + maxBatch
)

// batches calls do for the items from 0 to n-1, in parallel batches that double in size while all succeed and begin anew after one
// that did not; first is the size of the first. Items for which skip holds, asked between batches, are left out. It ends early when over holds.
func batches(ctx context.Context, n, first int, skip func(i int) bool, over func() bool, do func(ctx context.Context, i int) error) {
	size := first
	for next := 0; next < n && !over(); {
		var batch []int
		for ; next < n && len(batch) < size; next++ {
			if !skip(next) {
				batch = append(batch, next)
			}
		}
		if each(ctx, batch, do) {
			size = min(2*size, maxBatch)
		} else {
			size = FirstBatch
		}
	}
}

// each calls do for all items at once, and reports whether all succeeded.
func each(ctx context.Context, items []int, do func(ctx context.Context, i int) error) bool {
	var all sync.WaitGroup
	errs := make([]error, len(items))
	for at, i := range items {
		all.Go(func() { errs[at] = do(ctx, i) })
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return false
		}
	}
	return true
}
