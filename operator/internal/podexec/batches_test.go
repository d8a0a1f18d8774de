package podexec

import (
	"context"
	"errors"
	"strconv"
	"sync/atomic"
	"testing"
)

func TestBatches(t *testing.T) {
	cases := map[string]struct {
		n         int
		refuse    func(i int) bool
		skips     bool // after the first failure all is skipped: one attempt
		wantTried int32
		wantBad   int32
	}{
		"none":                            {},
		"all succeed":                     {n: 300, wantTried: 300},
		"one of few fails, others do not": {n: 5, refuse: func(i int) bool { return i == 2 }, skips: true, wantTried: 5, wantBad: 1},
		"a wall ends it at once":          {n: 1000, refuse: func(int) bool { return true }, skips: true, wantTried: firstBatch, wantBad: firstBatch},
		"a wall later on":                 {n: 1000, refuse: func(i int) bool { return i >= 20 }, skips: true, wantTried: 8 + 16, wantBad: 4},
		"a failure among others":          {n: 100, refuse: func(i int) bool { return i == 2 }, wantTried: 100, wantBad: 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var tried, bad, inFlight, most atomic.Int32
			r := &run{failed: map[attempt][]error{}}
			of := func(i int) attempt { return attempt{creating, strconv.Itoa(i)} }
			if tc.skips {
				of = func(int) attempt { return attempt{creating, "g"} }
			}
			r.batches(t.Context(), tc.n, of, func(_ context.Context, i int) error {
				tried.Add(1)
				now := inFlight.Add(1)
				defer inFlight.Add(-1)
				for m := most.Load(); now > m && !most.CompareAndSwap(m, now); m = most.Load() {
				}
				if tc.refuse != nil && tc.refuse(i) {
					bad.Add(1)
					return errors.New("no")
				}
				return nil
			})
			if tried.Load() != tc.wantTried || bad.Load() != tc.wantBad {
				t.Errorf("tried %d, %d failed; want %d and %d", tried.Load(), bad.Load(), tc.wantTried, tc.wantBad)
			}
			if most.Load() > maxBatch {
				t.Errorf("%d requests at once", most.Load())
			}
		})
	}
}

func TestBatchesEndWhenNothingCanBeAsked(t *testing.T) {
	var tried atomic.Int32
	r := &run{failed: map[attempt][]error{}}
	r.batches(t.Context(), 100, func(i int) attempt { return attempt{creating, strconv.Itoa(i)} }, func(context.Context, int) error {
		tried.Add(1)
		return context.DeadlineExceeded
	})
	if got := tried.Load(); got != firstBatch {
		t.Errorf("tried %d, want one batch of %d", got, firstBatch)
	}
}
