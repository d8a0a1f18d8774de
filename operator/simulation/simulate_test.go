package simulation

import (
	"flag"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

var (
	seeds = flag.Int("seeds", 300, "how many seeds to run")
	from  = flag.Uint64("from", 1, "the first seed")
	most  = flag.Int("violations", 3, "how many violations to shrink before the run ends")
	trace = flag.Bool("history", false, "print the history of each seed")
)

// TestSimulate runs seeds, on all cores.
func TestSimulate(t *testing.T) {
	begin := time.Now()
	var mu sync.Mutex
	var next, steps, requests, failed atomic.Int64
	counts := map[string]int{}
	t.Run("seeds", func(t *testing.T) {
		for worker := range runtime.GOMAXPROCS(0) {
			t.Run(fmt.Sprint(worker), func(t *testing.T) {
				t.Parallel()
				for failed.Load() < int64(*most) {
					i := next.Add(1) - 1
					if i >= int64(*seeds) {
						return
					}
					r := Run(t, *from+uint64(i), Options{History: *trace}) //nolint:gosec // not negative
					steps.Add(int64(r.Steps))
					requests.Add(int64(r.Requests))
					mu.Lock()
					counts[r.Topic]++
					for _, step := range r.Plan {
						counts["step: "+kindOfStep(step)]++
					}
					mu.Unlock()
					if *trace {
						t.Log(report(r))
					}
					if r.Violation != nil {
						failed.Add(1)
						t.Error(report(Shrink(t, r)))
					}
				}
			})
		}
	})
	elapsed := time.Since(begin)
	n := min(next.Load(), int64(*seeds))
	t.Logf("%d seeds from %d in %s, %.0f a minute; %d steps, %d requests; %d violations", n, *from, elapsed.Truncate(time.Millisecond),
		float64(n)/elapsed.Minutes(), steps.Load(), requests.Load(), failed.Load())
	for _, key := range slices.Sorted(maps.Keys(counts)) {
		t.Logf("%6d  %s", counts[key], key)
	}
}

// kindOfStep is a step without its time and its numbers.
func kindOfStep(step string) string {
	_, what, _ := strings.Cut(step, "s  ")
	what, _, _ = strings.Cut(what, " (")
	what, _, _ = strings.Cut(what, " for ")
	return strings.TrimRight(what, "0123456789")
}

func report(r Result) string {
	out := fmt.Sprintf("seed %d, %s", r.Seed, r.Topic)
	if v := r.Violation; v != nil {
		out += fmt.Sprintf("\n%s: %s\nafter %s: %s", v.Invariant, Invariants[v.Invariant], v.At.Truncate(time.Millisecond), v.Text)
	}
	out += "\nsteps:\n  " + strings.Join(r.Plan, "\n  ")
	if len(r.History) > 0 {
		out += "\nhistory:\n  " + strings.Join(r.History, "\n  ")
	}
	return out + fmt.Sprintf("\nto replay: make simulate SEEDS=1 FROM=%d", r.Seed)
}
