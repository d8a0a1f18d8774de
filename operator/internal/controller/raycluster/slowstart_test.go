package raycluster

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"k8s.io/utils/clock"
)

func TestSlowStart(t *testing.T) {
	cases := map[string]struct {
		n         int
		refuse    func(i int) bool
		wantTried int32
		wantBad   int
	}{
		"none":                            {},
		"all succeed":                     {n: 300, wantTried: 300},
		"one of few fails, others do not": {n: 5, refuse: func(i int) bool { return i == 2 }, wantTried: 5, wantBad: 1},
		"a wall ends it at once":          {n: 1000, refuse: func(int) bool { return true }, wantTried: firstBatch, wantBad: firstBatch},
		"a wall later on":                 {n: 1000, refuse: func(i int) bool { return i >= 20 }, wantTried: 8 + 16, wantBad: 4},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var tried, inFlight, most atomic.Int32
			b := burst{limit: newFairSlots(clock.RealClock{}, maxInFlight, maxParallel), cluster: "a", n: tc.n}
			_, failed := b.run(t.Context(), func(_ context.Context, i int) error {
				tried.Add(1)
				now := inFlight.Add(1)
				defer inFlight.Add(-1)
				for m := most.Load(); now > m && !most.CompareAndSwap(m, now); m = most.Load() {
				}
				if tc.refuse != nil && tc.refuse(i) {
					return errors.New("no")
				}
				return nil
			})
			if tried.Load() != tc.wantTried || len(failed) != tc.wantBad {
				t.Errorf("tried %d, %d failed; want %d and %d", tried.Load(), len(failed), tc.wantTried, tc.wantBad)
			}
			if most.Load() > maxParallel {
				t.Errorf("%d requests at once", most.Load())
			}
		})
	}
}
