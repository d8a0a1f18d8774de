package simulation

import "testing"

// Shrink leaves steps out of a history for as long as the same invariant does not hold, and returns the shortest one that it finds, with its history. It
// returns r if the violation does not come again.
func Shrink(t *testing.T, r Result) Result {
	t.Helper()
	without := map[int]bool{}
	best := Run(t, r.Seed, Options{History: true})
	if best.Violation == nil {
		return r
	}
	for again := true; again; {
		again = false
		for i := range r.Plan {
			if without[i] {
				continue
			}
			without[i] = true
			next := Run(t, r.Seed, Options{Without: without, History: true})
			if next.Violation == nil || next.Violation.Invariant != r.Violation.Invariant {
				delete(without, i)
				continue
			}
			best, again = next, true
		}
	}
	var plan []string
	for i, step := range best.Plan {
		if !without[i] {
			plan = append(plan, step)
		}
	}
	best.Plan = plan
	return best
}
