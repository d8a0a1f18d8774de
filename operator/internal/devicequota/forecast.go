package devicequota

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/raygate/raygate/pkg/devices/plan"
)

// Share is the demand of a set of equal Pods that do not exist yet.
type Share struct {
	// Group is their name in messages.
	Group string
	// Pods is their minimum number.
	Pods int64
	// Spec is the Pod spec to which scopes of quotas apply.
	Spec *corev1.PodSpec
	// Totals are the demand of each Pod, as in plan.Demand.
	Totals map[string]int64
}

// Forecast returns a line for each hard limit in the namespace that the shares exceed together, even without other Pods. It uses
// the quotas in the engine and sends no requests. Shares must have been planned with the program.
func (e *Engine) Forecast(program *plan.Program, namespace string, shares []Share) []string {
	shares = slices.DeleteFunc(slices.Clone(shares), func(s Share) bool { return s.Pods <= 0 || len(s.Totals) == 0 })
	if len(shares) == 0 {
		return nil
	}
	n := e.namespace(namespace)
	n.mu.Lock()
	quotas := maps.Clone(n.quotas) // the cache replaces objects and does not modify them
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

// product multiplies positive numbers; the result is at most endless.
func product(a, b int64) int64 {
	if a > endless/b {
		return endless
	}
	return a * b
}
