package podexec

import (
	"context"
	"fmt"

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

// batches makes the requests of attempts in parallel batches. The size doubles while all requests succeed and is reset after a failure.
// It stops an attempt after the batch with its first failure, and all attempts if the API server is unreachable.
func (r *run) batches(ctx context.Context, n int, of func(i int) attempt, do func(ctx context.Context, i int) error) {
	size := firstBatch
	for next := 0; next < n && r.result.Err == nil; {
		var batch []int
		for ; next < n && len(batch) < size; next++ {
			if len(r.failed[of(next)]) == 0 {
				batch = append(batch, next)
			}
		}
		var all errgroup.Group
		for _, i := range batch {
			all.Go(func() error { return r.record(of(i), do(ctx, i)) })
		}
		if all.Wait() == nil {
			size = min(2*size, maxBatch)
		} else {
			size = firstBatch
		}
	}
}

// record records the error of a request, if there is one, and returns it.
func (r *run) record(a attempt, err error) error {
	if err == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed[a] = append(r.failed[a], err)
	if unreachable(err) && r.result.Err == nil {
		// The first error is enough: they differ only in the port of the connection.
		r.result.Err = fmt.Errorf("%s Pods of group %s: %w", a.operation, a.group, err)
	}
	return err
}
