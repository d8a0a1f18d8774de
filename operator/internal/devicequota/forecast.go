package devicequota

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/raygate/raygate/pkg/devices/plan"
)

// Share is what some Pods will take that are alike. There are none of them yet.
type Share struct {
	// Group is their name in texts.
	Group string
	// Pods is how many there will be at least.
	Pods int64
	// Spec is that of each, by which scopes of quotas choose.
	Spec *corev1.PodSpec
	// Totals are what each takes, as in plan.Demand.
	Totals map[string]int64
}

// Forecast has a line for each hard limit in the namespace that the shares exceed together, even if nobody else takes anything. Limits are those that the
// engine has seen: it asks nobody. Shares must have been planned with the program.
func (e *Engine) Forecast(program *plan.Program, namespace string, shares []Share) []string {
	shares = slices.DeleteFunc(slices.Clone(shares), func(s Share) bool { return s.Pods <= 0 || len(s.Totals) == 0 })
	if len(shares) == 0 {
		return nil
	}
	n := e.namespace(namespace)
	n.mu.Lock()
	quotas := maps.Clone(n.quotas) // the objects are those of the cache, which replaces them and does not change them
	n.mu.Unlock()
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(quotas)) {
		lines = append(lines, forecast(program, quotas[name], shares)...)
	}
	return lines
}

func forecast(program *plan.Program, q *corev1.ResourceQuota, shares []Share) []string {
	matching := slices.DeleteFunc(slices.Clone(shares), func(s Share) bool {
		f := factsOf(&corev1.Pod{Spec: *s.Spec})
		return !f.match(q)
	})
	var lines []string
	for _, l := range limits(program, q) {
		unit := program.Unit(l.resource)
		var sum int64
		var groups []string
		for i := range matching {
			s := &matching[i]
			each := s.Totals[l.resource]
			if each <= 0 {
				continue
			}
			sum = min(endless, sum+product(s.Pods, each))
			groups = append(groups, fmt.Sprintf("%s (%d × %d)", s.Group, s.Pods, each))
		}
		if sum > l.hard {
			lines = append(lines, fmt.Sprintf("quota %q: %s: at least %d%s for %s, but hard is %d%s: Pods that do not fit will be refused", q.Name, l.resource, sum, unit, strings.Join(groups, ", "), l.hard, unit))
		}
	}
	return lines
}

// product of positive numbers is endless at most.
func product(a, b int64) int64 {
	if a > endless/b {
		return endless
	}
	return a * b
}
